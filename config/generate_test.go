// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
)

const documentFile = "../docs/configuration.md"

// TestGenerated holds the document that follows from the structs of this package, their tags,
// comments and defaults. With -update it writes it.
func TestGenerated(t *testing.T) {
	golden(t, documentFile, documentText(readSource(t)))
}

// Every key has a comment, and what that says of the default is so.
func TestDefaultsInComments(t *testing.T) {
	s := readSource(t)
	for _, part := range s.parts() {
		for _, k := range part.keys {
			comment := s.comments[k.owner+"."+k.field.Name]
			if comment == "" {
				t.Errorf("%s.%s has no comment", k.owner, k.field.Name)
			}
			_, def := split(s.text(k.owner, k.field.Name, comment, plain))
			said := strings.NewReplacer(`"`, "", " and ", ", ").Replace(def)
			if want := strings.Trim(k.value(), "[]"); !strings.HasPrefix(said, want) {
				t.Errorf("%s.%s defaults to %s, and its comment says %q", k.owner, k.field.Name, want, def)
			}
		}
	}
}

// key is one key of the configuration.
type key struct {
	owner string // the struct
	field reflect.StructField
	name  string // as it stands under those around it
	path  string
	def   reflect.Value // not valid in lists and maps
}

// part is a mapping: a struct at a path.
type part struct {
	path string
	of   reflect.Type
	keys []key
}

// parts returns the mappings in the order in which they stand in a file, each once.
func (s *source) parts() []part {
	var out []part
	var walk func(path string, of reflect.Type, def reflect.Value)
	walk = func(path string, of reflect.Type, def reflect.Value) {
		if slices.ContainsFunc(out, func(p part) bool { return p.of == of }) {
			return
		}
		at := len(out)
		out = append(out, part{path: path, of: of})
		for i := range of.NumField() {
			f := of.Field(i)
			name := f.Tag.Get("yaml")
			if name == "-" {
				continue
			}
			k := key{owner: of.Name(), field: f, name: name, path: strings.TrimPrefix(path+"."+name, ".")}
			if def.IsValid() {
				k.def = def.Field(i)
			}
			out[at].keys = append(out[at].keys, k)
			if below, suffix, ok := structBelow(f.Type); ok {
				if f.Type.Kind() != reflect.Struct {
					k.def = reflect.Value{}
				}
				walk(k.path+suffix, below, k.def)
			}
		}
	}
	walk("", reflect.TypeFor[config.Config](), reflect.ValueOf(config.Default()))
	return out
}

// value returns the default as a file has it, "" if there is none.
func (k key) value() string {
	if !k.def.IsValid() || k.field.Type.Kind() == reflect.Map || k.field.Type.Kind() == reflect.Struct {
		return ""
	}
	v := k.def
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	} else if v.IsZero() && v.Kind() != reflect.Bool {
		return ""
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return config.FormatDuration(x)
	case []string:
		return "[" + strings.Join(x, ", ") + "]"
	default:
		return fmt.Sprint(x)
	}
}

// variable returns the environment variable that takes the place of the key, "" for none.
func (k key) variable() string {
	switch {
	case strings.ContainsAny(k.path, "[N"): // in a list, or in a map at NAME
		return ""
	case k.path == "guard.tools" || k.path == "guard.inputs":
	case slices.Contains([]reflect.Kind{reflect.Struct, reflect.Slice, reflect.Map}, k.field.Type.Kind()):
		return ""
	}
	return "CONTEXTGRAPH_" + strings.ToUpper(strings.ReplaceAll(k.path, ".", "_"))
}

// kind returns the type of the key in words.
func (k key) kind(s *source) string {
	if k.name == "one_of" {
		return "list of texts, numbers or booleans, or a JSONPath"
	}
	return kindOf(k.field.Type, s)
}

func kindOf(t reflect.Type, s *source) string {
	if words := s.named[t.Name()]; len(words) > 0 {
		var values []string
		for _, w := range words {
			values = append(values, code(s.words[w]))
		}
		return strings.Join(values[:len(values)-1], ", ") + " or " + values[len(values)-1]
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[config.Size]():
		return "size"
	case reflect.TypeFor[config.Secret](), reflect.TypeFor[string]():
		return "text"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Interface:
		return "text, number or boolean"
	case reflect.Pointer:
		return kindOf(t.Elem(), s)
	case reflect.Slice:
		return "list of " + plural(kindOf(t.Elem(), s))
	case reflect.Map:
		return "mapping of names to " + plural(kindOf(t.Elem(), s))
	default:
		return "mapping"
	}
}

func plural(kind string) string {
	if strings.HasPrefix(kind, "`") {
		return kind
	}
	return kind + "s"
}

// plain and code write a word in a text without marks and in one with marks.
func plain(s string) string { return s }
func code(s string) string  { return "`" + s + "`" }

// marked is what needs a mark in a document, so that it is not read as one itself.
var marked = regexp.MustCompile("`[^`]*`" + `|[^\s,;:()"'` + "`" + `]*[*_${}\\][^\s,;:()"'` + "`" + `]*`)

// quoted is a value, or a command, that a comment has in quotes.
var quoted = regexp.MustCompile(`"([^"` + "`" + `]+)"`)

func mark(text string) string {
	text = quoted.ReplaceAllString(text, "`$1`")
	return marked.ReplaceAllStringFunc(text, func(m string) string {
		if strings.HasPrefix(m, "`") {
			return m
		}
		word := strings.TrimRight(m, ".?!")
		return code(word) + m[len(word):]
	})
}

const documentHead = `<!-- go test ./config -run Generated -update writes this file from the structs of package config. -->

# Configuration

The configuration is one YAML file, which ` + "`contextgraph.FromFile`" + ` reads, or the same structs of package ` + "`config`" + ` in Go.
[contextgraph.example.yaml](../contextgraph.example.yaml) has the keys in a file.

- Leave out the keys that you do not change. A key that is not known, stands twice or has a value of another type is an error
  with line, column and remedy, before any agent runs.
- An environment variable takes the place of a single value outside of lists and of mappings with names of your own. Its name
  is ` + "`CONTEXTGRAPH_`" + ` and the path of the key in capitals, with underscores. The lists ` + "`guard.tools` and `guard.inputs`" + ` have
  one too, with commas between the names: it may add names to those of the file, and may leave none out.
- A duration is a number with a unit: ` + "`20ms`, `30s`, `5m`, `36h`, `7d`" + `. A size is a number of bytes, or has a unit:
  ` + "`KB`, `MB`, `GB`" + ` (powers of 1000), ` + "`KiB`, `MiB`, `GiB`" + ` (powers of 1024).
- ` + "`[]`" + ` stands for each element of a list, ` + "`NAME`" + ` for a name of your own.
`

// documentText returns docs/configuration.md.
func documentText(s *source) string {
	var b strings.Builder
	b.WriteString(documentHead)
	for _, p := range s.parts() {
		if p.path == "" {
			b.WriteString("\n## At the top\n\n")
		} else {
			fmt.Fprintf(&b, "\n## %s\n\n", p.path)
			text := s.text(p.of.Name(), p.of.Name(), s.comments[p.of.Name()], code)
			b.WriteString(wrap(mark(capital(text)), "", 120) + "\n\n")
		}
		for _, k := range p.keys {
			rest, def := split(s.text(k.owner, k.field.Name, s.comments[k.owner+"."+k.field.Name], code))
			about := []string{k.kind(s)}
			if def = defaultText(k, def); def != "" {
				about = append(about, def)
			}
			if v := k.variable(); v != "" {
				about = append(about, code(v))
			}
			if below, suffix, ok := structBelow(k.field.Type); ok {
				rest = append(rest, "See "+s.heading(below, k.path+suffix)+".")
			}
			text := "- " + code(k.name) + " (" + strings.Join(about, "; ") + "): " + capital(strings.Join(rest, " "))
			b.WriteString(wrap(mark(text), "  ", 120) + "\n")
			for _, name := range s.named[elem(k.field.Type).Name()] {
				if comment := s.comments[name]; comment != "" {
					said := s.text(k.owner, "", strings.TrimPrefix(comment, name), code)
					if !strings.HasPrefix(said, ",") {
						said = " " + said
					}
					text := "- " + code(s.words[name]) + said
					b.WriteString("  " + wrap(mark(text), "    ", 118) + "\n")
				}
			}
		}
	}
	return b.String()
}

// heading returns a link to where the keys of a struct are.
func (s *source) heading(of reflect.Type, path string) string {
	for _, p := range s.parts() {
		if p.of == of {
			path = p.path
		}
	}
	return "[" + code(path) + "](#" + regexp.MustCompile(`[^a-z_]`).ReplaceAllString(strings.ToLower(path), "") + ")"
}

// defaultText says what the default is: the value, and what the comment adds to it.
func defaultText(k key, said string) string {
	if said == "" || strings.HasPrefix(said, "required") {
		return said
	}
	value, more, depends := strings.Cut(said, ", or to ")
	if v := k.value(); v != "" {
		value = code(v)
	} else if value != "none" && !strings.ContainsAny(value, " `\"") {
		value = code(value)
	}
	if depends {
		more = ", or " + more
	}
	return "default " + value + more
}

// wrap breaks lines between words, at width at most where that is possible.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	line := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && line+1+len([]rune(word)) > width:
			b.WriteString("\n" + indent)
			line = len(indent)
		case i > 0:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len([]rune(word))
	}
	return b.String()
}

// elem returns the type of what a map holds, else t.
func elem(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	return t
}
