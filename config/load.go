// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxFileSize bounds a configuration file, in bytes.
const maxFileSize = 1 << 20

// Load reads the configuration file at path and puts the environment of the process over it; see
// [Parse]. The error for a file that cannot be read wraps the error of package os.
func Load(path string, checks ...Check) (Config, error) {
	var data []byte
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, maxFileSize+1))
	}
	if err != nil {
		return Config{}, fmt.Errorf("contextgraph: configuration: %w; name a readable YAML file", err)
	}
	return Parse(path, data, os.Environ(), checks...)
}

// Parse reads a configuration file from data. Errors contain the name.
//
// The file is one YAML document without anchors, aliases and tags. A key that is not known, is
// there twice or has a value of another type is an error. An empty file gives the zero Config.
//
// The variables of environ, in the form of [os.Environ], take the place of keys. Each single value
// outside of lists and maps has one: CONTEXTGRAPH_GUARD_MODE is guard.mode. The maps guard.tools
// and guard.inputs have one too, with commas between the names: it adds names to those of the file,
// and takes none away. Any other variable with a name that begins with CONTEXTGRAPH_ is an error.
// The exceptions are a variable that a header of the file names, and CONTEXTGRAPH_TOKEN and
// CONTEXTGRAPH_AGENT, which are for the commands "contextgraph serve" and "contextgraph approve".
//
// A value that neither sets is zero and means the default. The checks of this package come before
// the given ones; see [Config.Check]. The error joins one [*Error] for each fault; with it comes
// the zero Config.
func Parse(name string, data []byte, environ []string, checks ...Check) (Config, error) {
	r := &reader{
		report:   newReport(cmp.Or(name, "configuration"), nil),
		environ:  environment(environ),
		used:     make(map[string]bool),
		operands: make(map[string]any),
	}
	c := r.read(data)
	c.check(r.report, checks)
	if err := r.err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// Check reports every fault of c, joined as one [*Error] each. It makes the checks of this package,
// and then the given ones. Open of package contextgraph gives the checks of all packages that use
// c.
func (c Config) Check(checks ...Check) error {
	r := newReport("", reflect.TypeFor[Config]())
	c.check(r, checks)
	if err := r.err(); err != nil {
		return fmt.Errorf("contextgraph: configuration:\n%w", err)
	}
	return nil
}

// check makes the checks of this package and the given ones.
func (c *Config) check(r *report, checks []Check) {
	var p problems
	c.checkStorage(&p)
	c.Guard.check(&p)
	c.checkExtract(&p)
	c.checkCheckers(&p)
	c.BigQuery.check(&p)
	r.add(p...)
	for _, check := range checks {
		r.add(check(c)...)
	}
}

// document returns the top node of the one document in data. If there is no such document, it reports
// that and returns an empty mapping.
func (r *reader) document(data []byte) *yaml.Node {
	fail := func(line int, problem, remedy string) *yaml.Node {
		r.addAt(place{line: line}, Problem{"", problem, remedy})
		r.failed[""] = true // nothing was read: other faults are not known
		return &yaml.Node{Kind: yaml.MappingNode}
	}
	if len(data) > maxFileSize {
		return fail(1, "the file is larger than 1 MiB", "name a configuration file")
	}
	if !utf8.Valid(data) {
		return fail(lineOf(data, bytes.IndexRune(data, utf8.RuneError)), "the text is not UTF-8", "save the file as UTF-8")
	}
	documents := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := documents.Decode(&doc); errors.Is(err, io.EOF) {
		return &yaml.Node{Kind: yaml.MappingNode}
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
