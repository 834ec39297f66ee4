// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// unused names the types and attributes of checkers and of the policy that nothing gives: no rule
// finds them, no checker answers them. A tool may still declare one. A checker is therefore named
// only if its type looks misspelt, and so is an attribute that a checker in code may answer. The
// attributes of the default policy are never named.
func (c advice) unused() (out []string) {
	attributes := c.given()
	all := make(map[string]bool)
	for _, of := range attributes {
		maps.Copy(all, of)
	}
	types := slices.Sorted(maps.Keys(attributes))
	add := func(where, what, word string, words []string) {
		out = append(out, fmt.Sprintf("%s has the %s %q, which no rule finds: it has no effect unless a tool declares one%s", where, what, word, orMeant(word, words)))
	}
	standard := config.Default().Guard.Drift
	attribute := func(where, name string, d config.Drift, of map[string]bool, coded bool) {
		if _, ok := standard[name]; ok || of[name] || len(of) == 0 || len(d.Operands()) > 0 {
			return // unmet names conditions
		}
		words := slices.Sorted(maps.Keys(of))
		if !coded || text.Nearest(name, words) != "" {
			add(where, "attribute", name, words)
		}
	}
	ruled := c.ruled()
	for _, k := range c.Checkers {
		if !slices.Contains(ruled, k.Type) && text.Nearest(k.Type, ruled) != "" {
			add("checkers", "type", k.Type, ruled)
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(c.written.Types)) {
		if !slices.Contains(types, typ) {
			add("guard.types", "type", typ, types)
			continue
		}
		drift := c.written.Types[typ].Drift
		for _, name := range slices.Sorted(maps.Keys(drift)) {
			attribute("guard.types."+typ+".drift", name, drift[name], attributes[typ], slices.Contains(c.coded, typ))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.written.Drift)) {
		attribute("guard.drift", name, c.written.Drift[name], all, len(c.coded) > 0)
	}
	return out
}

// orMeant returns the end of a warning about a word: the known word that was probably meant, or "".
func orMeant(word string, known []string) string {
	near := text.Nearest(word, known)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

// ruled returns the types that rules find.
func (c advice) ruled() (types []string) {
	for _, e := range c.Extract {
		types = append(types, e.Type)
	}
	return types
}

// given returns the attributes that rules find and checkers answer, by type.
func (c advice) given() map[string]map[string]bool {
	given := make(map[string]map[string]bool)
	of := func(typ string) map[string]bool {
		if given[typ] == nil {
			given[typ] = make(map[string]bool)
		}
		return given[typ]
	}
	for _, typ := range c.coded {
		of(typ)
	}
	for _, e := range c.Extract {
		of(e.Type)[entity.Exists] = true
		for name := range e.Attributes {
			of(e.Type)[name] = true
		}
	}
	for _, k := range c.Checkers {
		answers := of(k.Type)
		if k.HTTP != nil {
			for name := range k.HTTP.Attributes {
				answers[name] = true
			}
		}
		if k.SQL != nil {
			for name := range k.SQL.Attributes {
				answers[name] = true
			}
		}
	}
	return given
}
