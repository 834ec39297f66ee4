// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// envPrefix begins the name of every variable that overrides a key.
const envPrefix = "CONTEXTGRAPH_"

// The variables of the command: the token for decisions of "contextgraph serve", and the agent to
// which "contextgraph approve" brings an answer. They are no part of a configuration and may be set
// beside one.
const (
	tokenVariable = envPrefix + "TOKEN"
	agentVariable = envPrefix + "AGENT"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// environment returns the values of the variables. As with os.Getenv, the first of two entries
// counts.
func environment(environ []string) map[string]string {
	values := make(map[string]string, len(environ))
	for _, entry := range slices.Backward(environ) {
		if name, value, ok := strings.Cut(entry, "="); ok {
			values[name] = value
		}
	}
	return values
}

// variables calls each with every key below path that a variable may set: single values, and the
// mappings that may grow.
func variables(t reflect.Type, path string, each func(name, path string, t reflect.Type)) {
	for _, f := range fields(t) {
		at := path + f.Tag.Get("yaml")
		switch {
		case f.Type.Kind() == reflect.Struct:
			variables(f.Type, at+".", each)
		case f.Tag.Get("env") == "add" || f.Type.Kind() != reflect.Slice && f.Type.Kind() != reflect.Map:
			each(envPrefix+strings.ToUpper(strings.ReplaceAll(at, ".", "_")), at, f.Type)
		}
	}
}

// override puts the values of variables into the document.
func (r *reader) override(top *yaml.Node) {
	var known []string
	variables(reflect.TypeFor[Config](), "", func(name, path string, t reflect.Type) {
		known = append(known, name)
		value, ok := r.environ[name]
		if !ok {
			return
		}
		r.used[name] = true
		if value = strings.TrimSpace(value); value == "" {
			r.places[path] = place{variable: name}
			r.add(Problem{path, "is set but empty", "unset it, or give it a value"})
			return
		}
		at := nodeAt(top, strings.Split(path, "."))
		if at == nil {
			return // what should hold the key is no mapping, which is reported
		}
		if t.Kind() == reflect.Map {
			r.addNames(path, at, value)
			return
		}
		r.places[path] = place{variable: name}
		given := yaml.Node{Kind: yaml.ScalarNode, Value: value}
		if t.Kind() == reflect.String || given.ShortTag() == "!!null" {
			given.Style = yaml.DoubleQuotedStyle
		}
		*at = given
	})
	r.known = known
}

// addNames adds names without settings to the mapping at path. A variable is set far from the review
// that a file gets, so it takes nothing away: only code can remove a gate.
func (r *reader) addNames(path string, file *yaml.Node, names string) {
	if isEmpty(file) {
		*file = yaml.Node{Kind: yaml.MappingNode, Line: file.Line, Column: file.Column}
	}
	if file.Kind != yaml.MappingNode {
		return // which is reported
	}
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		if valueOf(file, name) != nil {
			continue
		}
		r.places[Entry(path, name)] = place{variable: envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))}
		file.Content = append(file.Content, &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: name}, &yaml.Node{Kind: yaml.MappingNode})
	}
}

// nodeAt returns the node of a key below n, which is made if it is missing. It is nil if a node on
// the way is no mapping.
func nodeAt(n *yaml.Node, keys []string) *yaml.Node {
	if len(keys) == 0 {
		return n
	}
	if isEmpty(n) {
		*n = yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column}
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	value := valueOf(n, keys[0])
	if value == nil {
		value = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: keys[0]}, value)
	}
	return nodeAt(value, keys[1:])
}

// valueOf returns the value of a key of a mapping, nil if it has none.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// unknownVariables reports variables that look like those of keys, and are neither that nor named
// in the file.
func (r *reader) unknownVariables() {
	for name := range r.environ {
		if !strings.HasPrefix(name, envPrefix) || r.used[name] || name == tokenVariable || name == agentVariable {
			continue
		}
		remedy := "a variable is CONTEXTGRAPH_ and the path of its key in capitals, as CONTEXTGRAPH_GUARD_MODE for guard.mode"
		if meant := text.Nearest(name, r.known); meant != "" {
			remedy = "did you mean " + meant + "? Else " + remedy
		}
		r.addAt(place{variable: name}, Problem{"", "unknown variable", remedy})
	}
}

// expand replaces every ${VAR} in the text at path. Its reports name variables, never their values.
func (r *reader) expand(path, text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			return b.String() + text
		}
		if literal, escaped := strings.CutSuffix(before, "$"); escaped {
			b.WriteString(literal + "${")
			text = rest
			continue
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || !variableName.MatchString(name) {
			r.add(Problem{path, "${ is not followed by the name of a variable and }", "write for example ${ADS_TOKEN}, or $${ for ${ itself"})
			return ""
		}
		r.used[name] = true
		value, set := r.environ[name]
		at := r.places[path]
		at.variable = name
		switch {
		case !set:
			r.failed[path] = true
			r.addAt(at, Problem{path, "the environment variable " + name + " is not set", "set it before the program starts"})
		case value == "":
			r.failed[path] = true
			r.addAt(at, Problem{path, "the environment variable " + name + " is empty", "give it a value before the program starts"})
		}
		b.WriteString(before + value)
		text = after
	}
}
