// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
)

// stdinName names the standard input.
const stdinName = "-"

// readRows reads the file of rows called name.
func (a *app) readRows(ctx context.Context, name string, o rowfile.Options) (*rowfile.Contents, error) {
	in, closeFile, err := a.openRows(ctx, name)
	if err != nil {
		return nil, err
	}
	defer closeFile()
	return rowfile.Read(ctx, in, name, o)
}

// tell prints notes about the reading of a file.
func (a *app) tell(got *rowfile.Contents) {
	for _, err := range got.Bad {
		a.note("left out: %v", err)
	}
	if n := got.Skipped - len(got.Bad); n > 0 {
		a.note("left out: %d more lines", n)
	}
	if len(got.Unknown) > 0 {
		a.note("members that are no columns were not read: %s", strings.Join(slices.Sorted(maps.Keys(got.Unknown)), ", "))
	}
	if got.Unnamed > 0 {
		a.note("%s without event_id: named by what they hold, so that reading them again finds them", count(got.Unnamed, "row", "rows"))
	}
}

func (a *app) openRows(ctx context.Context, name string) (io.Reader, func(), error) {
	if name == stdinName {
		// Nothing ends a read of a terminal or of a pipe, so it is left to itself.
		in, given := io.Pipe()
		go func() {
			_, err := io.Copy(given, cmp.Or[io.Reader](a.stdin, os.Stdin))
			given.CloseWithError(err)
		}()
		stop := context.AfterFunc(ctx, func() { given.CloseWithError(context.Cause(ctx)) })
		return in, func() { stop(); _ = in.Close() }, nil // it always is nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close() // nothing was read
		return nil, nil, fmt.Errorf("%s is a directory: name a file of rows in it", name)
	}
	return f, func() { _ = f.Close() }, nil // only read
}
