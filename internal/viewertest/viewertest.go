// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package viewertest reads and changes the data that a page holds, for tests.
package viewertest

import (
	"compress/gzip"
	"encoding/ascii85"
	"errors"
	"io"
	"strings"
	"testing"
)

const (
	before = `id="cg-data">`
	behind = `</script>`
)

// Read returns the JSON that a page holds.
func Read(page string) ([]byte, error) {
	_, text, _, err := cut(page)
	if err != nil {
		return nil, err
	}
	digits := strings.NewReplacer("v", "<", "w", ">", "x", "&").Replace(text)
	zip, err := gzip.NewReader(ascii85.NewDecoder(strings.NewReader(digits)))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zip)
}

// Data is Read for a test, which fails where there is none.
func Data(tb testing.TB, page string) []byte {
	tb.Helper()
	data, err := Read(page)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// WithData returns a page with other data, which is JSON.
func WithData(tb testing.TB, page string, data []byte) string {
	tb.Helper()
	head, _, tail, missing := cut(page)
	var text strings.Builder
	digits := ascii85.NewEncoder(&text)
	zip := gzip.NewWriter(digits)
	_, err := zip.Write(data)
	if err := errors.Join(missing, err, zip.Close(), digits.Close()); err != nil {
		tb.Fatal(err)
	}
	return head + strings.NewReplacer("<", "v", ">", "w", "&", "x").Replace(text.String()) + tail
}

// cut returns the data of a page as it stands there, with the page around it.
func cut(page string) (head, data, tail string, err error) {
	head, rest, ok := strings.Cut(page, before)
	data, tail, end := strings.Cut(rest, behind)
	if !ok || !end {
		return "", "", "", errors.New("the page has no data")
	}
	return head + before, data, behind + tail, nil
}
