// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// accepted is a mutant that may survive, and why.
type accepted struct {
	file, fn, mutation, argument string
	line                         int
}

type key struct{ file, fn, mutation string }

func (a accepted) key() key { return key{a.file, a.fn, a.mutation} }
func (m *mutant) key() key  { return key{m.file, m.fn, m.mutation()} }

// readSurvivors reads the list of mutants that may survive. It has one paragraph each,
// with the fields file, func, mutation and argument; an argument may go on in lines that
// begin with a space. Lines that begin with # are comments. No file is an empty list.
func readSurvivors(path string) ([]accepted, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()

	var list []accepted
	var a accepted
	end := func() error {
		switch {
		case a == accepted{}:
			return nil
		case a.file == "" || a.mutation == "" || a.argument == "":
			return fmt.Errorf("%s:%d: an entry has file, func, mutation and argument", path, a.line)
		}
		list, a = append(list, a), accepted{}
		return nil
	}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case strings.TrimSpace(line) == "":
			if err := end(); err != nil {
				return nil, err
			}
			continue
		case strings.HasPrefix(line, " ") && a.argument != "":
			a.argument += " " + strings.TrimSpace(line)
			continue
		}
		a.line = n
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "file":
			a.file = value
		case "func":
			a.fn = value
		case "mutation":
			a.mutation = value
		case "argument":
			a.argument = value
		default:
			return nil, fmt.Errorf("%s:%d: %q is no field: use file, func, mutation or argument", path, n, name)
		}
	}
	return list, errors.Join(lines.Err(), end())
}
