// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// sighting is an entity in one row. A span can see an entity in several rows, and a decision may
// lie between them. So sightings are merged only up to a known row: a later row must neither change
// nor remove the evidence of an earlier decision.
type sighting struct {
	entity.Entity
	// pos is the place of the row at which the entity counts. since is its time, or that of the sighting
	// if that is earlier.
	pos   int
	since time.Time
}

// thing is an entity that one span sees, in any number of rows.
type thing struct{ node, typ, value string }

func thingOf(e entity.Entity) thing { return thing{e.TechNode, e.Type, e.Value} }

// see sets what was seen. Each sighting of an entity takes in those before it.
func (g *Graph) see(list []sighting) {
	slices.SortStableFunc(list, func(a, b sighting) int {
		return cmp.Or(
			cmp.Compare(a.pos, b.pos), a.SeenAt.Compare(b.SeenAt), cmp.Compare(a.EventID, b.EventID), cmp.Compare(a.TechNode, b.TechNode),
			cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Source, b.Source))
	})
	g.entities, g.sightings, g.evaluated = nil, nil, make([][]int, len(g.nodes))
	index := make(map[thing]int, len(list))
	for _, s := range list {
		s.since = s.SeenAt
		if at := g.rows[s.pos].Time(); at.Before(s.since) {
			s.since = at
		}
		i, known := index[thingOf(s.Entity)]
		if !known {
			index[thingOf(s.Entity)] = len(g.entities)
			g.evaluate([]sighting{s})
			continue
		}
		seen := g.sightings[i]
		s.Entity = joined(g.entities[i], s.Entity)
		if last := len(seen) - 1; seen[last].pos == s.pos {
			seen[last] = s
		} else {
			g.sightings[i] = append(seen, s)
		}
		g.entities[i] = s.Entity
	}
}

// evaluate adds an entity with what its span knew of it, in order.
func (g *Graph) evaluate(known []sighting) {
	e := known[len(known)-1].Entity
	if n, inGraph := g.index[e.TechNode]; inGraph {
		g.evaluated[n] = append(g.evaluated[n], len(g.entities))
	}
	g.entities = append(g.entities, e)
	g.sightings = append(g.sightings, known)
}

// seenBy returns entity i as its span had seen it by the row at cutoff; false when
// it had not.
func (g *Graph) seenBy(i, cutoff int) (entity.Entity, bool) {
	for _, s := range slices.Backward(g.sightings[i]) {
		if s.pos <= cutoff {
			return s.Entity, true
		}
	}
	return entity.Entity{}, false
}

// Known is an entity as its span knew it from one row on.
type Known struct {
	// Entity merges what the span saw of it in this row and in earlier ones.
	Entity entity.Entity
	// Since is the time of the row, or of the sighting if that is earlier.
	Since time.Time
}

// Sightings returns, for each of [Graph.Entities] in their order, the knowledge of its span after
// each row that has it, in the order of the rows. The last is the entity as Entities has it.
// Decisions between the rows rest on the earlier ones.
func (g *Graph) Sightings() [][]Known {
	out := make([][]Known, len(g.entities))
	for i, list := range g.sightings {
		for _, s := range list {
			out[i] = append(out[i], Known{s.Entity, s.since})
		}
	}
	return out
}

// joined is merged for the graph, where a thing that a row showed stays shown. A result may
// show a thing without attributes, and words of the span may give some: then joined adds that
// the thing exists.
func joined(earlier, later entity.Entity) entity.Entity {
	out := merged(earlier, later)
	if !out.Shows() && (earlier.Shows() || later.Shows()) {
		out.Attributes = maps.Clone(out.Attributes)
		out.Attributes[entity.Exists] = entity.Bool(true)
	}
	return out
}

// mergeRow returns the entities of one row, each type and value once.
func mergeRow(es []entity.Entity) []entity.Entity {
	if len(es) < 2 {
		return es
	}
	index := make(map[thing]int, len(es))
	out := es[:0]
	for _, e := range es {
		if i, known := index[thingOf(e)]; known {
			absent := slices.Concat(out[i].Absent, e.Absent)
			out[i] = merged(out[i], e)
			slices.Sort(absent)
			out[i].Absent = slices.DeleteFunc(slices.Compact(absent), func(name string) bool { return !out[i].Attributes[name].IsZero() })
			continue
		}
		index[thingOf(e)] = len(out)
		out = append(out, e)
	}
	return out
}

// agree adds e to the things of a row that one source gave. One that is there with another
// value of an attribute is two things under one name: one of them would not be checked.
// An action may want a thing several times, in different numbers.
func agree(first map[thing]entity.Entity, e entity.Entity) error {
	other, known := first[thingOf(e)]
	if !known {
		first[thingOf(e)] = e
		return nil
	}
	first[thingOf(e)] = merged(other, e)
	for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
		v := other.Attributes[name]
		if !v.IsZero() && !v.Equal(e.Attributes[name]) && (e.Source != entity.SourceAction || v.Kind() != entity.KindNumber) {
			return fmt.Errorf("%s %s has the %s %s here and %s before: the value has to name one thing",
				e.Type, e.Value, name, e.Attributes[name], v)
		}
	}
	return nil
}

// contradict adds e to the things that one rule found in a row. An attribute of one that is there with another value
// cannot be read: the value has to name one thing.
func contradict(first map[thing]entity.Entity, e entity.Entity) {
	other, known := first[thingOf(e)]
	if !known {
		first[thingOf(e)] = e
		return
	}
	for name, v := range e.Attributes {
		if was, has := other.Attributes[name]; has && !was.Equal(v) {
			e.Attributes[name] = entity.Unreadable(fmt.Sprintf("%s is %s here and %s before: the value has to name one thing", name, v, was))
			other.Attributes[name] = e.Attributes[name]
		}
	}
}

// merged returns the entity that two sightings in one span make. The later one wins, unless
// the earlier one [entity.Entity.Outweighs] it. An entity of the action stays one until a
// result shows it. An attribute that only words give is an echo if the entity was read.
func merged(earlier, later entity.Entity) entity.Entity {
	if later.Source == entity.SourceModel && earlier.Source != entity.SourceModel {
		earlier, later = later, earlier
	}
	out := later
	if earlier.Outweighs(later, "") {
		out.Source, out.Value, out.Norm = earlier.Source, earlier.Value, earlier.Norm
		out.ArtifactURI = cmp.Or(earlier.ArtifactURI, later.ArtifactURI)
	} else if earlier.Source == entity.SourceAction && !later.Shows() {
		out.Source = entity.SourceAction
	}
	if out.Norm.IsZero() {
		out.Norm = cmp.Or(earlier.Norm, later.Norm)
	}
	out.ArtifactURI = cmp.Or(out.ArtifactURI, earlier.ArtifactURI)
	out.Confidence = max(earlier.Confidence, later.Confidence)
	out.Repeats = max(earlier.Repeats, later.Repeats)
	if len(earlier.Attributes) == 0 && out.Source == later.Source {
		return out
	}
	out.Attributes, out.Echoes = maps.Clone(earlier.Attributes), nil
	if out.Attributes == nil {
		out.Attributes = make(map[string]entity.Value, len(later.Attributes))
	}
	for name, v := range later.Attributes {
		if _, known := earlier.Attributes[name]; !known || !earlier.Outweighs(later, name) {
			out.Attributes[name] = v
		}
	}
	if !out.Source.Reading() {
		return out
	}
	if len(earlier.EchoOf) > 0 {
		out.EchoOf = maps.Clone(earlier.EchoOf)
		maps.Copy(out.EchoOf, later.EchoOf)
	}
	for name := range out.Attributes {
		if !earlier.Reads(name) && !later.Reads(name) {
			out.Echoes = append(out.Echoes, name)
		}
	}
	slices.Sort(out.Echoes)
	return out
}
