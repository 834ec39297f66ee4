// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// clearArgs returns an error for arguments that programs may read in two ways: with keys that they may take for one,
// also in a text that is JSON, with one that the declaration of the tool does not have, or with a number that is not exact.
func clearArgs(t tool.Tool, args any) error {
	if err := text.ClearKeys(args); err != nil {
		return fmt.Errorf("its arguments have %w", err)
	}
	if _, err := text.OpenTexts(args); err != nil {
		return fmt.Errorf("a text in its arguments is JSON that programs may read in two ways: %w", err)
	}
	object, _ := args.(map[string]any)
	if _, _, err := safety.ArgsDigest(object); err != nil {
		return fmt.Errorf("its %w", err)
	}
	known, closed := declaredArgs(t)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if closed && !known[name] {
			return fmt.Errorf("its declaration has no argument %+q; those that it has are %s", name, quotedNames(known))
		}
	}
	return nil
}

func quotedNames(names map[string]bool) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		list = append(list, fmt.Sprintf("%+q", name))
	}
	return list
}

// declaredArgs returns the arguments that a tool declares. It is closed if there may be no others.
func declaredArgs(t tool.Tool) (names map[string]bool, closed bool) {
	members, closed := membersOf(schemaOf(t))
	names = make(map[string]bool, len(members))
	for name := range members {
		names[name] = true
	}
	return names, closed
}

// schemaOf returns the schema of the arguments of a tool; nil if it declares none.
func schemaOf(t tool.Tool) any {
	d, ok := t.(interface {
		Declaration() *genai.FunctionDeclaration
	})
	if !ok {
		return nil
	}
	var declared struct{ Parameters, ParametersJsonSchema any }
	data, err := json.Marshal(d.Declaration())
	if err == nil {
		err = json.Unmarshal(data, &declared)
	}
	switch {
	case err != nil:
		return nil
	case declared.Parameters != nil:
		return declared.Parameters
	}
	return declared.ParametersJsonSchema
}

// membersOf returns the members that a schema of objects names. It is closed if nothing there may allow others.
func membersOf(schema any) (members map[string]any, closed bool) {
	s, _ := schema.(map[string]any)
	members, _ = s["properties"].(map[string]any)
	for _, open := range []string{"patternProperties", "$ref", "anyOf", "oneOf", "allOf"} {
		if s[open] != nil {
			return nil, false
		}
	}
	more := s["additionalProperties"]
	return members, len(members) > 0 && (more == nil || more == false)
}

// Reading is a path of the configuration into the arguments of a tool.
type Reading struct {
	// Key is the place of the path in the configuration.
	Key string
	// Tool is the name of the tool, Node the path of what Path starts at in its arguments.
	Tool, Node, Path string
}

// pathStep is a step of a JSONPath that selects one member, or elements of a list.
var pathStep = regexp.MustCompile(`^(?:\.([A-Za-z_]\w*)|\["([^"\\]*)"\]|\['([^'\\]*)'\]|\[(?:\*|\d+)\])`)

// misread warns once of each path of the configuration into the arguments of t that its declaration does not have.
func (g *Gate) misread(t tool.Tool) {
	for _, r := range g.readings {
		if r.Tool != t.Name() {
			continue
		}
		lost, node, _ := walk(schemaOf(t), r.Node)
		if lost != "" {
			continue // the rule reads nothing, and others tell
		}
		lost, _, known := walk(node, r.Path)
		if lost == "" {
			continue
		}
		remedy := "those that it has there are " + strings.Join(known, ", ")
		if near := text.Nearest(lost, known); near != "" {
			remedy = "did you mean " + strings.Replace(r.Path, lost, near, 1) + "?"
		}
		if g.once(r) {
			g.log.Warn(fmt.Sprintf("contextgraph: %s reads %s in the arguments of %s, whose declaration has no %q: each check that needs it fails; %s", r.Key, r.Path, r.Tool, lost, remedy))
		}
	}
}

// walk follows a path through a schema. It returns the first member that the schema cannot have and those that it has
// there, or else the schema at the end; nil where nothing is known.
func walk(schema any, path string) (lost string, at any, known []string) {
	for rest := strings.TrimPrefix(path, "$"); rest != ""; {
		step := pathStep.FindStringSubmatch(rest)
		if step == nil {
			return "", nil, nil
		}
		rest = rest[len(step[0]):]
		name := cmp.Or(step[1], step[2], step[3])
		if name == "" {
			s, _ := schema.(map[string]any)
			schema = s["items"]
			continue
		}
		members, closed := membersOf(schema)
		if members[name] == nil && closed {
			return name, nil, slices.Sorted(maps.Keys(members))
		}
		schema = members[name]
	}
	return "", schema, nil
}
