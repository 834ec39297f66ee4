// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package viewertest reads and changes the data that a page holds, for tests.
package viewertest

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
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
	zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(zip)
	if err != nil {
		return nil, err
	}
	return Decode(data)
}

// Decode returns the JSON of data as a page holds it, or gets it of its server.
func Decode(data []byte) ([]byte, error) {
	list, rest, _ := strings.Cut(string(data), "\n")
	var texts []json.RawMessage
	if err := json.Unmarshal([]byte(list), &texts); err != nil {
		return nil, err
	}
	return shared.ReplaceAllFunc([]byte(rest), func(ref []byte) []byte {
		n, err := strconv.Atoi(string(ref[3 : len(ref)-1]))
		if err != nil {
			panic(err) // they are digits
		}
		return append([]byte{ref[0]}, texts[n]...)
	}), nil
}

// shared is what stands in the place of a text that comes more than once, with the sign before it.
var shared = regexp.MustCompile(`[\[{,:]"~\d+"`)

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
	digits := base64.NewEncoder(base64.StdEncoding, &text)
	zip := gzip.NewWriter(digits)
	_, err := fmt.Fprintf(zip, "[]\n%s", data)
	if err := errors.Join(missing, err, zip.Close(), digits.Close()); err != nil {
		tb.Fatal(err)
	}
	return head + text.String() + tail
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
