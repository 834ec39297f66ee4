// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package rowfile

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Bounds of a file of rows. A row is about a million bytes at most where this plugin
// recorded it, and BigQuery takes ten million.
const (
	maxRowBytes  = 32 << 20
	maxFileBytes = 1 << 30
	maxBadLines  = 20 // named one by one
)

// sqliteHeader begins each SQLite file.
const sqliteHeader = "SQLite format 3\x00"

// Options say how a file of rows is read.
type Options struct {
	// App is the application of rows that do not name theirs.
	App string
	// NeedApp makes a row an error that has no application then. It says how to name one and
	// ends the error.
	NeedApp string
	// SkipBad leaves lines out that hold no row. Without it one such line makes an error of the
	// whole file.
	SkipBad bool
}

// Contents is what a file held.
type Contents struct {
	// Rows are the rows in their order.
	Rows []record.Event
	// Bad has the faults of the first lines that were left out. Skipped is the number of these
	// lines.
	Bad     []error
	Skipped int
	// Unknown counts the members that are no columns, by name.
	Unknown map[string]int
	// Unnamed counts the rows that came without an event id.
	Unnamed int
}

// Read reads the file called name from in until its end. Its errors name the file and the line; the
// error for a canceled ctx is its cause.
func Read(ctx context.Context, in io.Reader, name string, o Options) (*Contents, error) {
	got := &Contents{Unknown: make(map[string]int)}
	d := &decoder{o: o, got: got, seen: make(map[[sha256.Size]byte]int)}
	total := 0
	start := bufio.NewReader(in)
	if head, _ := start.Peek(len(sqliteHeader)); string(head) == sqliteHeader {
		return nil, fmt.Errorf("%s is a SQLite file, as a journal is, and holds no lines of rows: give it with --journal", name)
	}
	err := eachLine(start, func(number int, line []byte, tooLong bool) error {
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
			got.Skipped++
			if len(got.Bad) < maxBadLines {
				got.Bad = append(got.Bad, fmt.Errorf("%s:%d: %w", name, number, err))
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case got.Skipped > 0 && !o.SkipBad:
		if n := got.Skipped - len(got.Bad); n > 0 {
			got.Bad = append(got.Bad, fmt.Errorf("and %d more", n))
		}
		return nil, fmt.Errorf("%s holds %d lines that are no rows, so nothing was read:\n%w", name, got.Skipped, errors.Join(got.Bad...))
	}
	return got, nil
}

// eachLine calls use for each line, from 1 on. Of one that is too long it gives nothing.
func eachLine(in io.Reader, use func(number int, line []byte, tooLong bool) error) error {
	r := bufio.NewReaderSize(in, 1<<16)
	var line []byte
	for number := 1; ; number++ {
		line = line[:0]
		size := 0
		for more := true; more; {
			part, rest, err := r.ReadLine()
			if err == io.EOF && size == 0 {
				return nil
			}
			if err != nil && err != io.EOF {
				return err
			}
			more = rest && err == nil
			if size += len(part); size <= maxRowBytes {
				line = append(line, part...)
			}
		}
		if err := use(number, line, size > maxRowBytes); err != nil {
			return err
		}
	}
}
