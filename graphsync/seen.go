// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// sighted is one thing that one row shows or names.
type sighted struct {
	entity.Entity // without attributes and echoes: they are of the [seenThing]
	// row is the number of the row that recorded it, start the number of the row at which its reading
	// began; 0 means unknown.
	row, start int64
	// result is the number of the result that shows it; 0 where none does.
	result int64
	// inner says that an agent read it that ran as the tool of the result: the result has its words.
	inner bool
}

// said is what a sighting says of one attribute.
type said struct {
	*sighted
	value entity.Value // zero for the attribute "" of a thing that was shown
	echo  bool         // of an argument of the call: no reading
	arg   string       // the argument, "" where another source says the same
	near  bool         // an argument has it under another name: it supersedes nothing
	// absent says that the result lacked it, which it may.
	absent bool
}

// reading reports whether it shows the value.
func (s *said) reading() bool { return s.Source.Reading() && !s.echo && !s.absent }

// seenThing has what sightings say of one thing, by attribute.
type seenThing struct {
	key        string          // its identity
	attributes []seenAttribute // sorted by name
	first      int64           // the least row
}

// seenAttribute is an attribute of a thing; "" stands for sightings without any.
type seenAttribute struct {
	name string
	said []said // in the order of their rows
}

// found is one thing that a model found in a row.
type found struct {
	entity.Entity
	row int64 // the number of the row
}

// see adds what a part of a row shows. The arguments of a call are no reason for another call.
func (s *Session) see(e *record.Event, found []entity.Entity, r *result) {
	for _, en := range found {
		if en.Source == entity.SourceAction {
			continue
		}
		seen := &sighted{Entity: en, row: e.Seq}
		if r != nil {
			seen.start = r.start
			seen.row = cmp.Or(r.place, seen.row)
		}
		seen.Attributes, seen.Echoes, seen.EchoOf, seen.Near, seen.Absent = nil, nil, nil, nil, nil
		thing := s.sight(seen, r)
		if len(en.Attributes) == 0 {
			s.say(thing, "", said{sighted: seen})
		}
		for name, value := range en.Attributes {
			at := name
			if name == entity.Exists && en.Source.Reading() { // one attribute, whether it was said or shown
				at = ""
			}
			s.say(thing, at, said{sighted: seen, value: value, echo: slices.Contains(en.Echoes, name), arg: en.EchoOf[name], near: slices.Contains(en.Near, name)})
		}
		for _, name := range en.Absent {
			s.say(thing, name, said{sighted: seen, absent: true})
		}
	}
}

// chooseIn adds what a row shows to choose from.
func (s *Session) chooseIn(e *record.Event, choices []choice, r *result) {
	for _, c := range choices {
		c.Row = e.Seq
		if r != nil && r.given {
			c.Reading = false
		}
		s.choose(c, r)
	}
}

// sight adds a sighting, and returns its thing.
func (s *Session) sight(seen *sighted, r *result) *seenThing {
	if r != nil {
		seen.result = r.number
		if _, isSet := entity.ElementOf(seen.Type); isSet || seen.Source == entity.SourceDeclared {
			r.declared = append(r.declared, seen)
		}
	}
	key := seen.Identity()
	thing := s.things[key]
	if thing == nil {
		thing = &seenThing{key: key, first: seen.row}
		s.things[key] = thing
		s.bytes += sizeOfThing + int64(len(key))
	}
	if strings.HasSuffix(thing.key, seen.Value) { // one text for all sightings
		seen.Value = thing.key[len(thing.key)-len(seen.Value):]
	}
	thing.first = min(thing.first, seen.row)
	s.bytes += sizeOfSighting + int64(len(seen.ArtifactURI))
	return thing
}

// say adds what a sighting says of an attribute. The sightings of an agent that ran as a tool come
// with the row of the tool, and stand before it.
func (s *Session) say(t *seenThing, name string, what said) {
	i, known := t.find(name)
	if !known {
		t.attributes = slices.Insert(t.attributes, i, seenAttribute{name: name})
	}
	of := &t.attributes[i]
	at := len(of.said)
	for at > 0 && of.said[at-1].row > what.row {
		at--
	}
	of.said = slices.Insert(of.said, at, what)
	text, _ := what.value.AsText()
	s.bytes += sizeOfSaid + int64(len(text))
}

// said returns what is said of an attribute of a thing.
func (s *Session) said(key, attribute string) []said {
	thing := s.things[key]
	if thing == nil {
		return nil
	}
	i, known := thing.find(attribute)
	if !known {
		return nil
	}
	return thing.attributes[i].said
}

func (t *seenThing) find(name string) (place int, known bool) {
	return slices.BinarySearchFunc(t.attributes, name, func(a seenAttribute, name string) int { return cmp.Compare(a.name, name) })
}

func (s *Session) choose(c choice, r *result) {
	if r != nil {
		c.Result = r.number
	}
	if thing := s.things[c.Key]; thing != nil {
		c.Key = thing.key
	}
	list := s.choices[c.Key]
	i, known := slices.BinarySearchFunc(list, c, func(a *choice, b choice) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Result, b.Result), cmp.Compare(a.Rule, b.Rule))
	})
	if known {
		list[i].Reading, list[i].Asked = list[i].Reading || c.Reading, list[i].Asked || c.Asked
		return
	}
	s.choices[c.Key] = slices.Insert(list, i, &c)
	if r != nil {
		r.choices = append(r.choices, &c)
	}
	s.bytes += sizeOfChoice
}

// sortedKeys returns the identities of the things, in order.
func (s *Session) sortedKeys() []string {
	return slices.Sorted(maps.Keys(s.things))
}
