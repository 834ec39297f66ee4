// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// Difference holds the differences between a request and the one that it replaces: in the entities
// that it rests on, and in its arguments. The zero Difference is none.
type Difference struct {
	// Since is when the replaced request was asked.
	Since time.Time `json:"since,omitzero"`
	// Entities are those that differ, by type and value, Arguments the arguments of the
	// call that differ, by name.
	Entities  []EntityDifference `json:"entities,omitempty"`
	Arguments []ValueDifference  `json:"arguments,omitempty"`
	// Args are the arguments of the replaced request, if others are asked for now and they have at most 8 KiB.
	Args json.RawMessage `json:"args,omitempty"`
	// Tool says that the tool is declared otherwise.
	Tool bool `json:"tool,omitempty"`
	// Consents are the people who had approved the replaced request while it was open. They have to
	// approve again.
	Consents []string `json:"consents,omitempty"`
	// Omitted is how many more values differ: 50 are listed.
	Omitted int `json:"omitted,omitempty"`
}

// EntityDifference holds the differences of one entity.
type EntityDifference struct {
	Type  string `json:"type"`
	Value string `json:"value"`
	// Change is "changed", "added" or "removed".
	Change string `json:"change"`
	// Attributes are those that differ, by name. Of an entity that was removed there are
	// none.
	Attributes []ValueDifference `json:"attributes,omitempty"`
}

// ValueDifference is a value that differs, as shown: of an attribute, or of an argument, in
// JSON. It is in one line of at most 200 bytes, and "" where there was, or is, none.
type ValueDifference struct {
	Name string `json:"name"`
	Was  string `json:"was,omitempty"`
	Now  string `json:"now,omitempty"`
}

func (d Difference) clone() Difference {
	d.Entities, d.Arguments = slices.Clone(d.Entities), slices.Clone(d.Arguments)
	d.Consents, d.Args = slices.Clone(d.Consents), slices.Clone(d.Args)
	for i := range d.Entities {
		d.Entities[i].Attributes = slices.Clone(d.Entities[i].Attributes)
	}
	return d
}

// The changes of an [EntityDifference].
const (
	changedEntity = "changed"
	addedEntity   = "added"
	removedEntity = "removed"
)

const (
	maxDifferences = 50
	maxShownValue  = 200
	maxShownArgs   = 8 << 10
)

// hiddenValue stands for the value of an argument that must not be shown.
const hiddenValue = "(hidden)"

// difference compares a request with the one that it replaces. redact takes out of arguments
// the parts that must not be shown; if it is nil, no value of an argument is shown.
func difference(was, now Approval, redact func(args []byte) []byte) Difference {
	d := Difference{Since: was.RequestedAt, Tool: was.Declaration != now.Declaration}
	if was.State.Open() {
		for _, c := range was.Consents {
			d.Consents = append(d.Consents, shownValue(c.Who))
		}
	}
	room := maxDifferences
	take := func(list []ValueDifference) []ValueDifference {
		n := min(room, len(list))
		d.Omitted += len(list) - n
		room -= n
		return list[:n]
	}
	before, after := byKey(was.Entities), byKey(now.Entities)
	keys := slices.Collect(maps.Keys(after))
	for key := range before {
		if _, both := after[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys) // it begins with the type
	for _, key := range keys {
		old, had := before[key]
		e, has := after[key]
		out := EntityDifference{Type: shownValue(cmp.Or(e.Type, old.Type)), Value: shownValue(cmp.Or(e.Value, old.Value)), Change: changedEntity}
		switch {
		case !had:
			out.Change = addedEntity
		case !has:
			out.Change, e.Attributes, old.Attributes = removedEntity, nil, nil
		}
		attributes := attributeDifferences(old, e)
		switch {
		case out.Change == changedEntity && len(attributes) == 0:
			continue
		case room == 0:
			d.Omitted += max(1, len(attributes))
			continue
		case len(attributes) == 0:
			room--
		}
		out.Attributes = take(attributes)
		d.Entities = append(d.Entities, out)
	}
	if was.ArgsDigest != now.ArgsDigest {
		d.Arguments = take(argumentDifferences(was.Args, now.Args, redact))
		if redact != nil && len(was.Args) <= maxShownArgs {
			if shown := redact(was.Args); json.Valid(shown) {
				d.Args = shown
			}
		}
	}
	return d
}

func byKey(entities []entity.Canonical) map[string]entity.Canonical {
	m := make(map[string]entity.Canonical, len(entities))
	for _, e := range entities {
		m[e.Key] = e
	}
	return m
}

func attributeDifferences(was, now entity.Canonical) (out []ValueDifference) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(was.Attributes)), maps.Keys(now.Attributes))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if before, after := was.Attributes[name], now.Attributes[name]; before != after {
			was, now := showMove(name, before, after)
			out = append(out, ValueDifference{Name: name, Was: shownValue(was), Now: shownValue(now)})
		}
	}
	return out
}

func shownValue(s string) string { return text.Clip(oneLine(s), maxShownValue) }

// argumentDifferences compares the leaves of two JSON documents, and shows them as redact
// leaves them.
func argumentDifferences(was, now []byte, redact func([]byte) []byte) (out []ValueDifference) {
	before, after := leavesOf(was), leavesOf(now)
	names := maps.Clone(after)
	maps.Copy(names, before)
	var shownBefore, shownAfter map[string]string
	if redact != nil {
		shownBefore, shownAfter = leavesOf(redact(was)), leavesOf(redact(now))
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, had := before[name]
		b, has := after[name]
		if had == has && a == b {
			continue
		}
		v := ValueDifference{Name: shownValue(name)}
		if had {
			v.Was = shownValue(cmp.Or(shownBefore[name], hiddenValue))
		}
		if has {
			v.Now = shownValue(cmp.Or(shownAfter[name], hiddenValue))
		}
		out = append(out, v)
	}
	return out
}

// leavesOf returns the values of a JSON document that hold no others, as JSON, by their
// paths: "items[0].count".
func leavesOf(doc []byte) map[string]string {
	leaves := make(map[string]string)
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		addLeaves(leaves, "", v)
	}
	return leaves
}

func addLeaves(leaves map[string]string, path string, v any) {
	object, _ := v.(map[string]any)
	list, _ := v.([]any)
	if len(object)+len(list) == 0 {
		text, _ := json.Marshal(v) // it was JSON
		leaves[path] = string(text)
		return
	}
	for key, e := range object {
		at := key
		if path != "" {
			at = path + "." + key
		}
		addLeaves(leaves, at, e)
	}
	for i, e := range list {
		addLeaves(leaves, fmt.Sprintf("%s[%d]", path, i), e)
	}
}
