// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// parseDocument returns the top node of the one document in data, or nil when it
// is empty or was reported.
func parseDocument(p *problems, data []byte) *yaml.Node {
	fail := func(line int, problem, remedy string) *yaml.Node {
		p.errs = append(p.errs, &Error{File: p.file, Line: line, Problem: problem, Remedy: remedy})
		// Nothing of the file was read: other faults are not known.
		p.reported[""] = true
		return nil
	}
	if len(data) > maxFileSize {
		return fail(1, "the file is larger than 1 MiB", "name a configuration file")
	}
	if !utf8.Valid(data) {
		return fail(lineOf(data, invalidUTF8(data)), "the text is not UTF-8", "save the file as UTF-8")
	}
	documents := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := documents.Decode(&doc); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		if line := tabbed(data); line > 0 {
			return fail(line, "a tab indents this line, and YAML takes spaces only", "replace each tab by spaces")
		}
		line, problem := syntaxError(data, err)
		return fail(line, "not valid YAML: "+problem, "check indentation, quotes and brackets near this line")
	}
	if err := documents.Decode(&second); err == nil {
		return fail(second.Line, "a second document begins here", "keep one document and remove the --- line")
	} else if !errors.Is(err, io.EOF) {
		line, problem := syntaxError(data, err)
		return fail(line, "not valid YAML: "+problem, "keep one document in the file")
	}
	return doc.Content[0]
}

var (
	yamlLine   = regexp.MustCompile(`^line (\d+): `)
	yamlAnchor = regexp.MustCompile(`^unknown anchor '([^']*)'`)
)

// syntaxError returns the line and the text of an error of the YAML parser.
func syntaxError(data []byte, err error) (line int, problem string) {
	problem = strings.TrimPrefix(err.Error(), "yaml: ")
	line = 1 // which the parser leaves out
	if m := yamlLine.FindStringSubmatch(problem); m != nil {
		line, _ = strconv.Atoi(m[1])
		problem = problem[len(m[0]):]
	} else if m := yamlAnchor.FindStringSubmatch(problem); m != nil {
		line = lineOf(data, bytes.Index(data, []byte("*"+m[1])))
	}
	// The parser counts these from 0, other errors from 1.
	if strings.HasPrefix(problem, "did not find expected") {
		line++
	}
	return min(line, lineOf(data, len(data))), problem
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// lineOf returns the line, from 1, of the byte at offset.
func lineOf(data []byte, offset int) int {
	return 1 + bytes.Count(data[:max(offset, 0)], []byte("\n"))
}

// tabbed returns the number of the first line with a tab in its indentation, 0 for none. The parser
// names the line before it in most cases.
func tabbed(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		indentation := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if bytes.ContainsRune(indentation, '\t') && len(bytes.TrimSpace(line)) > 0 {
			return n
		}
	}
	return 0
}
