// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package entity

import (
	"cmp"
	"slices"
	"time"
)

// Canonical is one thing, seen by any number of spans. It is checked once, against the latest
// values seen.
type Canonical struct {
	// Key is the [Entity.CanonicalKey] that all sightings share.
	Key string
	// Type, Value and Norm come from the latest reading, else from the latest words, else from a
	// model.
	Type  string
	Value string
	Norm  Value
	// Attributes holds the latest value read of each attribute, AttributeSeenAt the time it
	// was seen. Readings come first. Words count only for an attribute without a reading, and
	// the finds of a model only for one without either: both add, and never replace.
	Attributes      map[string]Value
	AttributeSeenAt map[string]time.Time
	// Absent names the attributes that may be missing and were, sorted: no reading that counts has a
	// value of them. Only the selection of evidence for a decision sets it.
	Absent []string `json:",omitzero"`
	// Confidence is the greatest of the sightings.
	Confidence float64
	// ArtifactURI is the latest that is not empty, chosen as Value is.
	ArtifactURI string
	// Sources are the distinct sources, sorted.
	Sources []Source
	// Seen are the sightings by time.
	Seen      []Entity
	FirstSeen time.Time
	LastSeen  time.Time
}

// Canonicalize merges sightings of the same thing. The result is sorted by type,
// then key. A later sighting wins attribute by attribute, unless the earlier one
// [Entity.Outweighs] it; of sightings at the same time the one later in es wins. The
// result shares nothing with es but the maps of the sightings themselves.
func Canonicalize(es []Entity) []Canonical {
	byTime := slices.Clone(es)
	slices.SortStableFunc(byTime, func(a, b Entity) int { return a.SeenAt.Compare(b.SeenAt) })

	index := make(map[string]int)
	var out []Canonical
	for _, e := range byTime {
		key := e.CanonicalKey()
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, Canonical{
				Key: key, Type: e.Type, FirstSeen: e.SeenAt, Confidence: e.Confidence,
				Attributes: make(map[string]Value), AttributeSeenAt: make(map[string]time.Time),
			})
		}
		out[i].add(e)
	}
	for i := range out {
		out[i].merge()
	}
	slices.SortFunc(out, func(a, b Canonical) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Key, b.Key))
	})
	return out
}

func (c *Canonical) add(e Entity) {
	c.LastSeen = e.SeenAt
	c.Confidence = max(c.Confidence, e.Confidence)
	if i, found := slices.BinarySearch(c.Sources, e.Source); !found {
		c.Sources = slices.Insert(c.Sources, i, e.Source)
	}
	c.Seen = append(c.Seen, e)
}

// merge takes each field from the latest sighting that no other one outweighs.
func (c *Canonical) merge() {
	var value, document Entity
	said := make(map[string]Entity)
	for i, e := range c.Seen {
		if i == 0 || !value.Outweighs(e, "") {
			value = e
		}
		if e.ArtifactURI != "" && (document.ArtifactURI == "" || !document.Outweighs(e, "")) {
			document = e
		}
		for name := range e.Attributes {
			if old, known := said[name]; !known || !old.Outweighs(e, name) {
				said[name] = e
			}
		}
	}
	c.Value, c.Norm, c.ArtifactURI = value.Value, value.Norm, document.ArtifactURI
	for name, e := range said {
		c.Attributes[name], c.AttributeSeenAt[name] = e.Attributes[name], e.SeenAt
	}
}
