// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// canonical makes one thing of the sightings that count.
type canonical struct {
	key  string
	seen []entity.Entity
	// places has the places in seen, once there are many.
	places map[sighter]int
	// attributes and at belong to readings, claims to claims.
	attributes map[string]entity.Value
	at         map[string]time.Time
	rank       map[string]int
	claims     map[string]claimed
	claimed    bool
	absent     []string // sorted
	byAction   bool
	latest     entity.Entity
}

// sighter says where a sighting comes from.
type sighter struct {
	eventID string
	source  entity.Source
}

// claimed is what only words say of an attribute.
type claimed struct {
	value entity.Value
	by    entity.Entity
}

// read adds a reading of an attribute, after all earlier ones. Of several values the latest of the highest
// rank stands for the attribute.
func (c *canonical) read(name string, value entity.Value, e entity.Entity, rank int) {
	if name == "" {
		name, value = entity.Exists, cmp.Or(value, entity.Bool(true))
	}
	if c.attributes == nil {
		c.attributes, c.at, c.rank = make(map[string]entity.Value), make(map[string]time.Time), make(map[string]int)
	}
	if rank >= c.rank[name] {
		c.attributes[name], c.at[name], c.rank[name] = value, e.SeenAt, rank
	}
	c.newest(e)
	if i := c.place(e); i >= 0 {
		if other, has := c.seen[i].Attributes[name]; !has || other == value { // two rules may read two values in one row
			c.seen[i].Attributes[name] = value
			return
		}
	}
	e.Attributes = map[string]entity.Value{name: value}
	if c.places != nil {
		c.places[sighter{e.EventID, e.Source}] = len(c.seen)
	}
	c.seen = append(c.seen, e)
}

// place returns the place in seen of the sighting that e is a part of, or -1.
func (c *canonical) place(e entity.Entity) int {
	const many = 16
	if len(c.seen) < many {
		return slices.IndexFunc(c.seen, func(s entity.Entity) bool { return s.EventID == e.EventID && s.Source == e.Source })
	}
	if c.places == nil {
		c.places = make(map[sighter]int)
		for i, s := range c.seen {
			c.places[sighter{s.EventID, s.Source}] = i
		}
	}
	if i, known := c.places[sighter{e.EventID, e.Source}]; known {
		return i
	}
	return -1
}

// claim adds what only words say.
func (c *canonical) claim(name string, value entity.Value, e entity.Entity) {
	c.claimed = true
	c.say(name, value, e)
}

func (c *canonical) say(name string, value entity.Value, e entity.Entity) {
	if c.claims == nil {
		c.claims = make(map[string]claimed)
	}
	if o, ok := c.claims[name]; !ok || !e.SeenAt.Before(o.by.SeenAt) {
		c.claims[name] = claimed{value, e}
	}
	if len(c.attributes) == 0 {
		c.newest(e)
	}
}

// name adds what the arguments of the action say of it.
func (c *canonical) name(list []entity.Entity) {
	for _, e := range list {
		c.byAction = true
		c.seen = append(c.seen, e)
		if len(e.Attributes) == 0 {
			c.say("", entity.Value{}, e)
		}
		for name, value := range e.Attributes {
			c.say(name, value, e)
		}
	}
}

func (c *canonical) newest(e entity.Entity) {
	if c.latest.Type == "" || !e.SeenAt.Before(c.latest.SeenAt) {
		c.latest = e
	}
}

// counts reports whether anything says that the decision can rest on it.
func (c *canonical) counts() bool { return len(c.attributes) > 0 || c.claimed || c.byAction }

// entity returns the thing.
func (c *canonical) entity() entity.Canonical {
	out := entity.Canonical{
		Key: c.key, Type: c.latest.Type, Value: c.latest.Value, Norm: c.latest.Norm, ArtifactURI: c.latest.ArtifactURI,
		Attributes: c.attributes, AttributeSeenAt: c.at, Absent: c.absent,
	}
	if out.Attributes == nil {
		out.Attributes, out.AttributeSeenAt = make(map[string]entity.Value), make(map[string]time.Time)
	}
	_, explicit := c.claims[entity.Exists]
	explicit = explicit || len(c.attributes) > 0
	for name, s := range c.claims {
		switch {
		case name == "" && explicit:
			continue
		case name == "":
			name, s.value = entity.Exists, entity.Bool(true)
		}
		if _, known := out.Attributes[name]; !known {
			out.Attributes[name], out.AttributeSeenAt[name] = s.value, s.by.SeenAt
		}
	}
	slices.SortStableFunc(c.seen, func(a, b entity.Entity) int { return a.SeenAt.Compare(b.SeenAt) })
	out.Seen = c.seen
	sum(&out, &c.latest)
	for i := range c.seen {
		sum(&out, &c.seen[i])
	}
	return out
}

// sum adds a sighting to what out says of all.
func sum(out *entity.Canonical, e *entity.Entity) {
	out.Confidence = max(out.Confidence, e.Confidence)
	if i, found := slices.BinarySearch(out.Sources, e.Source); !found {
		out.Sources = slices.Insert(out.Sources, i, e.Source)
	}
	if out.FirstSeen.IsZero() || e.SeenAt.Before(out.FirstSeen) {
		out.FirstSeen = e.SeenAt
	}
	if e.SeenAt.After(out.LastSeen) {
		out.LastSeen = e.SeenAt
	}
}
