// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Bounds of a file of rows. A row is about a million bytes at most where this plugin
// recorded it, and BigQuery takes ten million.
const (
	maxRowBytes  = 32 << 20
	maxFileBytes = 1 << 30
	maxBadLines  = 20 // named one by one
)

// stdinName names the standard input.
const stdinName = "-"

// rowsOptions say how a file of rows is read.
type rowsOptions struct {
	// app is the application of rows that do not name theirs; needApp makes a row an error
	// that has none then.
	app     string
	needApp bool
	// skipBad leaves lines out that hold no row.
	skipBad bool
}

// rowsRead is what a file held.
type rowsRead struct {
	rows []record.Event
	// bad are the first of the lines left out, skipped is how many there are.
	bad     []error
	skipped int
	// unknown are the names of members that are no columns.
	unknown map[string]int
	// unnamed counts the rows that came without an event id.
	unnamed int
}

// readRows reads a file of rows, one JSON object a line. Without skipBad one bad line makes
// an error of the whole file.
func (a *app) readRows(ctx context.Context, name string, o rowsOptions) (*rowsRead, error) {
	in, closeFile, err := a.openRows(ctx, name)
	if err != nil {
		return nil, err
	}
	defer closeFile()
	got := &rowsRead{unknown: make(map[string]int)}
	d := newRowDecoder(o, got)
	total := 0
	err = eachLine(in, func(number int, line []byte, tooLong bool) error {
		if number%1000 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if total += len(line); total > maxFileBytes {
			return fmt.Errorf("%s holds more than %d MiB of rows: split it by lines, such as with split -l", name, maxFileBytes>>20)
		}
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		line = bytes.TrimSpace(line)
		var err error
		switch {
		case tooLong:
			err = fmt.Errorf("it is longer than %d MiB: a row is not that large", maxRowBytes>>20)
		case len(line) == 0:
			return nil
		case number == 1 && line[0] == '[':
			return fmt.Errorf("%s is a JSON array: write one row a line, such as with jq -c '.[]'", name)
		default:
			err = d.row(line)
		}
		if err != nil {
			got.skipped++
			if len(got.bad) < maxBadLines {
				got.bad = append(got.bad, fmt.Errorf("%s:%d: %w", name, number, err))
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case got.skipped > 0 && !o.skipBad:
		return nil, fmt.Errorf("%s holds %d lines that are no rows, so nothing was read:\n%w%s", name, got.skipped, errors.Join(got.bad...), more(got))
	}
	return got, nil
}

func more(got *rowsRead) string {
	if n := got.skipped - len(got.bad); n > 0 {
		return fmt.Sprintf("\nand %d more", n)
	}
	return ""
}

// tell says what is to be known about how a file was read.
func (a *app) tell(got *rowsRead) {
	for _, err := range got.bad {
		a.note("left out: %v", err)
	}
	if n := got.skipped - len(got.bad); n > 0 {
		a.note("left out: %d more lines", n)
	}
	if len(got.unknown) > 0 {
		a.note("members that are no columns were not read: %s", strings.Join(slices.Sorted(maps.Keys(got.unknown)), ", "))
	}
	if got.unnamed > 0 {
		a.note("%s without event_id: named by what they hold, so that reading them again finds them", count(got.unnamed, "row", "rows"))
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

// eachLine calls use for each line, from 1 on. Of one that is too long it gives nothing.
func eachLine(in io.Reader, use func(number int, line []byte, tooLong bool) error) error {
	r := bufio.NewReaderSize(in, 1<<16)
	var line []byte
	for number := 1; ; number++ {
		line = line[:0]
		tooLong := false
		var err error
		for {
			var part []byte
			part, err = r.ReadSlice('\n')
			if tooLong = tooLong || len(line)+len(part) > maxRowBytes; tooLong {
				line = line[:0]
			} else {
				line = append(line, part...)
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(line) > 0 || tooLong {
			if useErr := use(number, line, tooLong); useErr != nil {
				return useErr
			}
		}
		if err != nil {
			return nil
		}
	}
}
