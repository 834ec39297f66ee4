// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// countsOthers reports whether the names that c finds in one result are evidence as a whole.
func (c *compiled) countsOthers() bool {
	return c.In == config.InResult && c.CountsOthers() && c.valueArgs == nil
}

// SetTypes returns the types of the sets that results can show, each for its first rule.
func (x *Extractor) SetTypes() (types []string) {
	for _, c := range x.overResults() {
		if c.countsOthers() {
			types = insertNew(types, entity.SetOf(c.Type))
		}
	}
	return types
}

// set returns what c found in a result as a set of names, none if others do not count, or if the call named the one thing that its result shows.
func (c *compiled) set(e *record.Event, docs *documents, found []entity.Entity) (entity.Value, error) {
	if !c.countsOthers() || e.EventType != record.ToolCompleted {
		return entity.Value{}, nil
	}
	var names []string
	for _, one := range found {
		names = insertNew(names, one.Value)
	}
	if c.Each == "$" && len(found) == 1 {
		if args, err := docs.arguments(); err != nil || c.namedIn(args, found[0]) {
			return entity.Value{}, err
		}
	}
	out := entity.Set(names...)
	if len(out.Canonical()) > entity.MaxSet { // too many to name them; they are compared all the same
		out = entity.Set(fmt.Sprintf("%d names: %s", len(names), hashKey(names...)))
	}
	return out, nil
}

// plainly writes a value so that no other one is written alike: a plain word as it is, and anything else as JSON.
func plainly(v any) string {
	if s, ok := v.(string); ok && plainWord.MatchString(s) && s != "null" && s != "true" && s != "false" {
		return s
	}
	data, _ := json.Marshal(v) // it was JSON
	return string(data)
}

var plainWord = regexp.MustCompile(`^[\pL_][\pL\pN_.-]*$`)

// maxSetName bounds the name of a set, in bytes: arguments may be long.
const maxSetName = 200

// sets returns the sets that a call showed, by the rules that read its result.
func (x *Extractor) sets(tool string, args map[string]any, rules []ruleRead) (out []entity.Entity) {
	for _, r := range rules {
		if r.set.IsZero() {
			continue
		}
		name := tool
		if len(args) > 0 {
			var list []string
			for _, key := range slices.Sorted(maps.Keys(args)) {
				list = append(list, plainly(key)+": "+plainly(args[key]))
			}
			name += "(" + strings.Join(list, ", ") + ")"
		}
		for _, other := range x.overResults() {
			if other != r.rule && other.Tool == r.rule.Tool && other.Type == r.rule.Type && other.countsOthers() {
				name += fmt.Sprintf(" by rule %q", r.rule.Name)
				break
			}
		}
		plain := strings.Map(func(r rune) rune {
			if text.Ignorable(r) {
				return '·'
			}
			return r
		}, text.Visible(name))
		if shown := text.Clip(plain, maxSetName); shown != name {
			name = fmt.Sprintf("%s #%.12s", shown, hashKey(name))
		}
		out = append(out, entity.Entity{
			Type: entity.SetOf(r.rule.Type), Value: name, Attributes: map[string]entity.Value{entity.Names: r.set}, Source: entity.SourceRule, Confidence: 1,
		})
	}
	return out
}
