// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Counts says what a [Session] was made of.
type Counts struct {
	// Receipt describes the rows. It has no notes.
	record.Receipt
	// Rules says what the rules read and found. It lacks those that read no row.
	Rules []Tally
	// Tools are the tools that were called, sorted.
	Tools []string
}

// Rule returns what the rule with a name read and found.
func (c Counts) Rule(name string) Tally {
	for _, t := range c.Rules {
		if t.Rule == name {
			return t
		}
	}
	return Tally{Rule: name}
}

// Counts returns what the session was made of. Rows in which a rule could not read the value of a thing count as failed.
func (s *Session) Counts() Counts {
	c := s.ownCounts()
	for i, l := range s.lost {
		if i == 0 || s.lost[i-1].row != l.row {
			c.Failed, c.Error = c.Failed+1, cmp.Or(c.Error, l.why)
		}
	}
	return c
}

// ownCounts is Counts without the lost matches.
func (s *Session) ownCounts() Counts {
	c := s.counts
	c.Rules, c.Tools = slices.Clone(c.Rules), slices.Clone(c.Tools)
	return c
}

// Tally says what a rule read and found in the rows of a session.
type Tally struct {
	Rule string `json:"rule"`
	// Rows counts the rows that the rule read, Found the entities there. A row counts as read if it
	// is of the tool or the event of the rule, and has a result where the rule reads results.
	Rows  int `json:"rows"`
	Found int `json:"found"`
	// Failed counts the rows that contradict the rule in a part.
	Failed int `json:"failed,omitempty"`
	// Nearly describes the latest row that the rule found nothing in: how far its path matched, and
	// what stood there instead. It is the error for a row that contradicts the rule. "" says that
	// every row gave something, or had null or an empty list for the rule.
	Nearly string `json:"nearly,omitempty"`
	// Unrepeated counts the rows of tools that are not registered with Replayable. Other things may have
	// appeared beside those that such a row shows, and no check knows of them.
	Unrepeated int `json:"unrepeated,omitempty"`
}

// Idle reports whether the rule read rows that were not empty, and found nothing, or nothing that it could read in full.
func (t Tally) Idle() bool {
	return t.Rows > 0 && (t.Found == 0 || t.Failed == t.Rows) && t.Nearly != ""
}

// ruleRead is what one rule found in one row.
type ruleRead struct {
	rule   *compiled
	found  int
	nearly string
	set    entity.Value // of the names that it found, see [compiled.set]
	// lost is how many matches it lost. flaw says why not all could be read.
	lost int
	flaw string
}

// tallied returns the tallies with the reads of one more row. repeats says that a check can ask its tool again.
func tallied(list []Tally, reads []ruleRead, repeats bool, failedRule string, err error) []Tally {
	for _, r := range reads {
		i := slices.IndexFunc(list, func(t Tally) bool { return t.Rule == r.rule.Name })
		if i < 0 {
			i = len(list)
			list = append(list, Tally{Rule: r.rule.Name})
		}
		t := &list[i]
		t.Rows++
		if !r.set.IsZero() && !repeats && r.rule.Each != "$" {
			t.Unrepeated++
		}
		switch {
		case err != nil && r.rule.Name == failedRule:
			t.Failed++
			t.Nearly = text.Clip(err.Error(), maxNearly)
		case err != nil: // the row failed as a whole
		case r.flaw != "":
			t.Failed++
			t.Found += r.found
			t.Nearly = text.Clip(r.flaw, maxNearly)
		case r.found > 0:
			t.Found += r.found
		case r.nearly != "":
			t.Nearly = r.nearly
		}
	}
	return list
}

// maxNearly bounds Tally.Nearly, in bytes.
const maxNearly = 300

// nearly describes how far a path matches in a document, and what stands there instead of the rest.
// It returns "" where null or an empty list stands: there was nothing to find.
func nearly(p *jsonpath.Path, doc any) string {
	segments := p.Query().Segments()
	for n := len(segments) - 1; n >= 0; n-- {
		prefix := jsonpath.New(spec.Query(true, segments[:n]...))
		nodes := prefix.Select(doc)
		if len(nodes) == 0 {
			continue
		}
		if list, ok := nodes[0].([]any); ok && len(list) == 0 || nodes[0] == nil {
			return ""
		}
		at := asWritten(segments[:n])
		missing := fmt.Sprintf("%s is %s, without %s", at, described(nodes[0]), asWritten(segments[n : n+1])[1:])
		if near := nearMember(segments[n], nodes[0]); near != "" {
			missing += fmt.Sprintf("; did you mean %s?", near)
		}
		return text.Clip(missing, maxNearly)
	}
	return ""
}

// asWritten returns a path as people write it: $.items[*] instead of $["items"][*].
func asWritten(segments []*spec.Segment) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, s := range segments {
		selectors := s.Selectors()
		name, ok := selectors[0].(spec.Name)
		if ok && len(selectors) == 1 && !s.IsDescendant() && plainMember.MatchString(string(name)) {
			b.WriteString("." + string(name))
		} else {
			b.WriteString(s.String())
		}
	}
	return b.String()
}

// plainMember is a member that needs no brackets.
var plainMember = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// nearMember returns the member of an object that a segment was probably meant to select, or "".
func nearMember(s *spec.Segment, node any) string {
	object, ok := node.(map[string]any)
	selectors := s.Selectors()
	if !ok || len(selectors) != 1 {
		return ""
	}
	name, ok := selectors[0].(spec.Name)
	if !ok {
		return ""
	}
	near := text.Nearest(string(name), slices.Sorted(maps.Keys(object)))
	if near == "" {
		for key := range object {
			if strings.EqualFold(key, string(name)) {
				near = key
			}
		}
	}
	return near
}

// described names the kind of a JSON value, and the members of an object. It shows no value.
func described(v any) string {
	const most = 8
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a text"
	case json.Number, float64:
		return "a number"
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		if len(v) == 0 {
			return "an empty object"
		}
		keys := slices.Sorted(maps.Keys(v))
		more := ""
		if len(keys) > most {
			keys, more = keys[:most], ", …"
		}
		for i, k := range keys {
			keys[i] = text.Clip(text.Visible(k), 40)
		}
		return "an object with " + strings.Join(keys, ", ") + more
	}
	return fmt.Sprintf("a %T", v)
}
