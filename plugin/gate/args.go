// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

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

// declaredArgs returns the arguments that a tool declares. It is closed if its schema is an object with properties,
// and nothing there may allow others.
func declaredArgs(t tool.Tool) (names map[string]bool, closed bool) {
	d, ok := t.(interface {
		Declaration() *genai.FunctionDeclaration
	})
	if !ok {
		return nil, false
	}
	var declared struct {
		Parameters, ParametersJsonSchema *struct {
			Properties                              map[string]json.RawMessage
			AdditionalProperties, PatternProperties any
			Ref                                     any `json:"$ref"`
			AnyOf, OneOf, AllOf                     any
		}
	}
	data, err := json.Marshal(d.Declaration())
	if err == nil {
		err = json.Unmarshal(data, &declared)
	}
	s := declared.Parameters
	if s == nil {
		s = declared.ParametersJsonSchema
	}
	if err != nil || s == nil || len(s.Properties) == 0 || s.PatternProperties != nil || s.Ref != nil || s.AnyOf != nil || s.OneOf != nil || s.AllOf != nil {
		return nil, false
	}
	names = make(map[string]bool, len(s.Properties))
	for name := range s.Properties {
		names[name] = true
	}
	return names, s.AdditionalProperties == nil || s.AdditionalProperties == false
}
