// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"maps"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// require adds e to what is checked, of which the record says later what it did not say
// when the request was asked: nothing, if it has no type. What exact sources spelled in
// several ways ("a1", "A1") is one entity by its key, and may be two in the world: each
// spelling is checked, against what was seen of it.
func (q *inquiry) require(e, later entity.Canonical, unseen bool) {
	if !unseen {
		q.seen = append(q.seen, e)
	}
	shown := spellings(e)
	values := shown
	if later.Type != "" {
		values = union(shown, spellings(later))
	}
	for i, v := range values {
		t := target{entity: e, unseen: unseen, spelled: len(values) > 1, again: i > 0}
		switch {
		case !t.spelled:
			t.action = ofAction(e, q.decision) || ofAction(later, q.decision)
			t.learn(later)
		case i < len(shown):
			t.entity = spelledAs(e, v)
			t.action = q.named(e, v) || q.named(later, v)
			t.learn(spelledAs(later, v))
		default:
			t.entity, t.unseen, t.action = spelledAs(later, v), true, q.named(later, v)
		}
		q.targets = append(q.targets, t)
	}
}

// named reports whether the action calls e by the text v.
func (q *inquiry) named(e entity.Canonical, v string) bool {
	return q.decision != "" && slices.ContainsFunc(e.Seen, func(s entity.Entity) bool {
		return s.Value == v && s.Source == entity.SourceAction && s.TechNode == q.decision
	})
}

// spelledAs returns e as it was seen under v. What it was seen with under other spellings
// counts for the attributes that it has not by this one.
func spelledAs(e entity.Canonical, v string) entity.Canonical {
	e = cloneEntity(e)
	e.Value = v
	attributes, seenAt := make(map[string]entity.Value), make(map[string]time.Time)
	maps.Copy(attributes, e.Attributes)
	maps.Copy(seenAt, e.AttributeSeenAt)
	e.Attributes, e.AttributeSeenAt = attributes, seenAt
	own := make(map[string]bool)
	for _, s := range e.Seen {
		if s.Value != v || s.Source == entity.SourceModel {
			continue
		}
		for name, value := range s.Attributes {
			own[name] = true
			e.Attributes[name], e.AttributeSeenAt[name] = value, s.SeenAt
		}
	}
	for _, s := range e.Seen {
		if s.Value != v {
			maps.DeleteFunc(s.Attributes, func(name string, _ entity.Value) bool { return own[name] })
		}
	}
	return e
}

// union returns a with those of b that it lacks.
func union(a, b []string) []string {
	for _, v := range b {
		if !slices.Contains(a, v) {
			a = append(a[:len(a):len(a)], v)
		}
	}
	return a
}

// spellings returns the texts by which exact sources called e, its value first.
func spellings(e entity.Canonical) []string {
	out := []string{e.Value}
	if k := e.Norm.Kind(); k != entity.KindNone && k != entity.KindText {
		return out
	}
	for _, s := range e.Seen {
		if s.Source != entity.SourceModel && !slices.Contains(out, s.Value) {
			out = append(out, s.Value)
		}
	}
	return out
}

// counted returns the targets that are things of their own in a sum: of several spellings
// those that the action has, or else the first.
func (q *inquiry) counted() map[int]bool {
	named := make(map[string]bool) // keys of what the action spelled in one of several ways
	for _, t := range q.targets {
		named[t.entity.Key] = named[t.entity.Key] || t.action && t.spelled
	}
	out := make(map[int]bool, len(q.targets))
	for i, t := range q.targets {
		out[i] = !t.spelled || t.action || !t.again && !named[t.entity.Key]
	}
	return out
}
