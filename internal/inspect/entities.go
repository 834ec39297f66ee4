// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// entities returns the business entities, each with the spans that saw it.
func (x *builder) entities() []Entity {
	sightings := make(map[string][]Sighting)
	for _, list := range x.graph.Sightings() {
		for _, known := range list {
			e := known.Entity
			at, ok := x.of[e.EventID]
			if !ok {
				at = -1
			}
			key := e.CanonicalKey()
			sightings[key] = append(sightings[key], Sighting{
				Span: e.TechNode, Link: string(graphsync.LinkOf(e)), Row: at, SeenAt: clock(e.SeenAt), Source: sourceName(e.Source),
				Confidence: finite(e.Confidence), Attributes: shown(e.Attributes),
			})
		}
	}
	out := []Entity{}
	for _, c := range x.graph.Canonical() {
		e := Entity{
			Key: c.Key, Type: c.Type, Value: c.Value, Attributes: shown(c.Attributes), Confidence: finite(c.Confidence),
			ArtifactURI: c.ArtifactURI, Sources: []string{}, FirstSeen: clock(c.FirstSeen), LastSeen: clock(c.LastSeen),
			Evaluated: present(sightings[c.Key]),
		}
		for _, s := range c.Sources {
			e.Sources = append(e.Sources, sourceName(s))
		}
		slices.Sort(e.Sources)
		slices.SortStableFunc(e.Evaluated, func(a, b Sighting) int {
			return cmp.Or(a.SeenAt.Compare(b.SeenAt), cmp.Compare(a.Row, b.Row))
		})
		out = append(out, e)
	}
	return out
}

// sourceName says who found an entity in the words of [Entity.Sources].
func sourceName(s entity.Source) string {
	if s == entity.SourceDeclared {
		return "tool"
	}
	return string(s)
}

// shown returns attributes for people. Availability is a word, as in an alert.
func shown(attributes map[string]entity.Value) map[string]string {
	out := make(map[string]string, len(attributes))
	for name, v := range attributes {
		out[name] = v.String()
		if b, ok := v.AsBool(); ok && name == "availability" {
			out[name] = "unavailable"
			if b {
				out[name] = "available"
			}
		}
	}
	return out
}

// things finds entities by any of their names.
type things map[[2]string]string

func thingsOf(entities []Entity, seen []entity.Entity) things {
	t := make(things)
	for _, e := range seen {
		t[thing(e.Type, e.Value)] = e.CanonicalKey()
	}
	for _, e := range entities {
		t[thing(e.Type, e.Value)] = e.Key
	}
	return t
}

func thing(typ, value string) [2]string {
	return [2]string{typ, strings.ToLower(strings.Join(strings.Fields(value), " "))}
}
