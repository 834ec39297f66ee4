// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/config"
)

// The files that follow from the structs.
const (
	exampleFile  = "../contextgraph.example.yaml"
	documentFile = "../docs/configuration.md"
)

// TestGenerated holds the texts that follow from the structs of this package, their tags,
// comments and defaults. With -update it writes them.
func TestGenerated(t *testing.T) {
	s := readSource(t)
	for file, want := range map[string]string{exampleFile: exampleText(t, s), documentFile: documentText(s)} {
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s: go test ./config -run Generated -update writes it; -want +got:\n%s", file, diff)
		}
	}
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

const exampleHead = `# Configuration of contextgraph: every key with its default.
# go test ./config -run Generated -update writes this file from the structs of package config.
#
# Leave out what you do not change: some defaults depend on other keys. A line that begins with # and
# a key, or with # and two spaces, is a sample: remove the # and write your own value.
# docs/configuration.md says all about each key.
# CONTEXTGRAPH_GUARD_MODE takes the place of guard.mode, and so on for each single value.
`

// samples are values of keys without a default, and whole mappings of lists and of names.
var samples = map[string]string{
	"journal.retention.max_age":        "30d",
	"journal.retention.max_size":       "1GiB",
	"record.deny":                      "[STATE_DELTA]",
	"record.content":                   "{LLM_REQUEST: digest}",
	"record.tags":                      "{team: ads}",
	"record.metadata":                  `["a2a:*"]`,
	"record.final_response_tools":      "[submit_answer]",
	"record.redact.keys":               "[account_number]",
	"record.redact.patterns":           "['sk-[A-Za-z0-9]{20,}']",
	"record.artifacts.connection":      "us.my-connection",
	"guard.tools":                      "[provision_*]",
	"guard.inputs":                     "[review, review_*]",
	"guard.listed":                     "[Product, Budget]",
	"bigquery.project":                 "my-project-123",
	"bigquery.billing_project":         "my-project-123",
	"bigquery.dataset":                 "agents",
	"bigquery.labels":                  "{team: ads}",
	"bigquery.extract.model":           "gemini-2.5-flash",
	"bigquery.extract.location":        "europe-west3",
	"bigquery.extract.connection":      "us.my-connection",
	"bigquery.extract.thinking_budget": "1024",
	"guard.approvals": `
provision_*: {approvers: 2, override: [eva@example.com, tom@example.com]}
`,
	"guard.types": `
Product:
  optional: false
  max_age: 30s
  min_confidence: 0.5
  unseen: deny
  drift:
    price: {tolerance: {percent: 5, absolute: 10}, direction: rise, effect: warn}
    quantity: {optional: true}   # how many a plan buys is the plan's own: no checker answers it
    availability: {equals: true}
    status: {one_of: [active, planned]}
    rank: {at_least: 3}
Targeting:
  drift:
    cost: {at_most: $.max_cost}  # a path into the arguments of the action
`,
	"guard.budgets": `
- tool: provision_*
  cost: {type: Product, attribute: price, quantity: quantity}
  limit: {type: Budget, attribute: amount}
  everything: false
  severity: 0.85
`,
	"extract": `
- name: placements               # what the inventory shows
  tool: query_ad_inventory
  in: result
  each: $.placements[*]
  type: Product
  value: $.name
  value_type: text
  attributes:
    price: {path: $.price, type: money, currency: USD}
    availability: {path: $.available, type: boolean, optional: false}
    status: {path: $.status}
    rank: {path: $.rank, type: number}
  artifact_uri: $.config_uri
  confidence: 1
  alternatives: true             # the plan takes some of the list
- name: lines                    # what the action names
  tool: provision_campaign
  in: action
  each: $.lines[*]
  type: Product
  value: $.placement
  attributes:
    quantity: {path: $.quantity, type: number}
- name: audience                 # the result does not say what was looked up, the arguments do
  tool: query_audience
  type: Targeting
  value: {args: $.segment}
  attributes:
    cost: {path: $.cost, type: number}
- name: budget
  tool: allocate_media_budget
  type: Budget
  value: $.budget
  value_type: money
  currency: USD
  attributes:
    amount: {path: $.authorized, type: money, currency: USD, looked_up: true}
- name: budget_in_brief          # a message that is an amount
  event: USER_MESSAGE_RECEIVED
  in: content
  each: "$[?match(@, '[$]([0-9]+|[0-9]{1,3}(,[0-9]{3})*)')]"
  type: Budget
  value: $
  value_type: money
  currency: USD
`,
	"checkers": `
- type: Product
  http:
    url: "http://127.0.0.1:8080/v1/placements/{value}"
    headers: {Authorization: "Bearer ${ADS_TOKEN}"}
    as_of: date_header           # or fetch, or a path such as $.as_of
    version: etag                # or a path such as $.version
    attributes:
      price: {path: $.price, type: money, currency: USD}
      availability: {path: $.available, type: boolean}
      status: {path: $.status}
      rank: {path: $.rank, type: number}
- type: Budget
  sql:
    database: finance            # given in code: contextgraph.WithDatabase("finance", db)
    query: "SELECT remaining, read_at, revision FROM budgets WHERE name = $1"
    args: ["{value}"]
    as_of: read_at
    version: revision
    attributes:
      amount: {column: remaining, type: money, currency: USD}
- type: Targeting
  replay:                        # code registers the tools that only read: cg.Replayable(search)
    tool: query_audience
    max_calls: 20
`,
}

// exampleText returns contextgraph.example.yaml.
func exampleText(t *testing.T, s *source) string {
	var b strings.Builder
	b.WriteString(exampleHead)
	e := example{s: s, parts: make(map[reflect.Type]part), used: make(map[string]bool)}
	for _, p := range s.parts() {
		e.parts[p.of] = p
	}
	e.write(&b, reflect.TypeFor[config.Config](), reflect.ValueOf(config.Default()), "", "")
	for path := range samples {
		if !e.used[path] {
			t.Errorf("there is a sample of %s, which no file shows", path)
		}
	}
	return b.String()
}

type example struct {
	s     *source
	parts map[reflect.Type]part
	used  map[string]bool
}

// write writes the keys of a struct. Lines with values begin with off, and then with indent.
func (e *example) write(b *strings.Builder, of reflect.Type, def reflect.Value, off, indent string) {
	for _, k := range e.parts[of].keys {
		rest, said := split(e.s.text(k.owner, k.field.Name, e.s.comments[k.owner+"."+k.field.Name], plain))
		about := capital(strings.Join(rest[:min(1, len(rest))], ""))
		var words []string
		for _, name := range e.s.named[elem(k.field.Type).Name()] {
			words = append(words, e.s.words[name])
		}
		if len(words) > 0 {
			about += " One of: " + strings.Join(words, ", ") + "."
		}
		if strings.HasPrefix(said, "required") {
			about += " Required."
		}
		if strings.Contains(said, ", or to ") { // a file that has the value has it in any case
			about += " Left out: " + strings.Replace(said, ", or to ", ", or ", 1) + "."
		}
		if indent == "" {
			b.WriteByte('\n')
		}
		b.WriteString(off + indent + "# " + strings.ReplaceAll(wrap(about, "", 98-len(indent)), "\n", "\n"+off+indent+"# ") + "\n")
		line := func(mark, value string) {
			b.WriteString(strings.TrimRight(mark+indent+k.name+": "+value, " ") + "\n")
		}
		sample, hasSample := samples[k.path]
		e.used[k.path] = true
		switch value := k.value(); {
		case k.path == "guard.drift":
			line(off, "")
			for _, name := range sortedDrift(k.def) {
				d := k.def.Interface().(map[string]config.Drift)[name]
				if name == config.Other {
					name = `"*"`
				}
				fmt.Fprintf(b, "%s%s  %s: {type: %s, severity: %v}\n", off, indent, name, d.Type, *d.Severity)
			}
		case k.field.Type.Kind() == reflect.Struct && k.name == "bigquery":
			line("#", "")
			e.write(b, k.field.Type, k.def, "#", indent+"  ")
		case k.field.Type.Kind() == reflect.Struct:
			line(off, "")
			e.write(b, k.field.Type, k.def, off, indent+"  ")
		case value != "":
			line(off, value)
		case !hasSample && k.field.Type.Kind() == reflect.Slice:
			line(off, "[]")
		case strings.HasPrefix(sample, "\n"):
			line("#", "")
			for l := range strings.Lines(strings.TrimPrefix(sample, "\n")) {
				b.WriteString("#" + indent + "  " + l)
			}
		default:
			line("#", sample)
		}
	}
}

// elem returns the type of what a map holds, else t.
func elem(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	return t
}

func sortedDrift(drift reflect.Value) (names []string) {
	for _, k := range drift.MapKeys() {
		names = append(names, k.String())
	}
	slices.SortFunc(names, func(a, b string) int { // any other comes last
		return cmp.Or(cmp.Compare(strings.Count(a, config.Other), strings.Count(b, config.Other)), cmp.Compare(a, b))
	})
	return names
}

// sampled returns the example with its samples taken in.
func sampled(text string) string {
	return regexp.MustCompile(`(?m)^#(\S|  )`).ReplaceAllString(text, "$1")
}

// Every key stands in the example, under the key that it belongs to.
func TestExampleHasEveryKey(t *testing.T) {
	text, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := yaml.Unmarshal([]byte(sampled(string(text))), &document); err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]bool) // struct and key
	var look func(of reflect.Type, v any)
	look = func(of reflect.Type, v any) {
		if of == nil { // below a list or a map of single values
			return
		}
		below, _, ok := structBelow(of)
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				look(below, one)
			}
		case map[string]any:
			if ok && of.Kind() == reflect.Map {
				for _, one := range v {
					look(below, one)
				}
			} else if ok {
				for name, one := range v {
					shown[below.Name()+"."+name] = true
					if f, found := fieldOf(below, name); found {
						look(f.Type, one)
					} else {
						t.Errorf("the example has the key %s in %s", name, below.Name())
					}
				}
			}
		}
	}
	look(reflect.TypeFor[config.Config](), document)
	for _, p := range readSource(t).parts() {
		for _, k := range p.keys {
			name, _, _ := strings.Cut(k.name, ".")
			if !shown[k.owner+"."+name] {
				t.Errorf("the example does not show %s", k.path)
			}
		}
	}
	if document["extract"] == nil || !strings.Contains(string(text), "value: {args: ") {
		t.Error("the example does not show extract[].value.args")
	}
}

func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("yaml") == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}
