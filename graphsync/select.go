// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Selection is the evidence of a decision.
type Selection struct {
	entity.Evidence
	// Counts says what the session was made of.
	Counts Counts
	// Runs are the ids of the runs on record, those among them that a rewind left.
	Runs []string
	// Broken are the runs whose record is broken, but for those that the decision can leave aside.
	Broken []Run
	// RunsOf are the runs of the turns that were asked for.
	RunsOf map[string][]string
	// NoRow are the results that requests of models showed and no row has, in the order of the requests.
	NoRow []record.Shown
}

// Select selects the evidence of a decision. RunsOf is filled for the turns.
//
// Every thing recorded up to d.UpTo counts, in whatever run, turn, branch or agent, with one
// exception: a thing that was not chosen. A thing was not chosen if all of this holds. The action
// does not name it. Every sighting of it comes from rules with [config.Extract.Alternatives], and with
// [config.AlternativesTrue] from look-ups that did not ask for it by name. Each of those lists also shows, by
// the same rule and as a reading, an entity that the action names. Or it shows one that an approved call named: that
// call was carried out, its model had read the list, and it did not name the thing. Two kinds of sightings are left
// aside here: the arguments of other actions, and the values in a
// refusal for drift, which only repeat things that counted by other sightings. For an agent that
// ran as a tool, the rows of its own session are looked at.
//
// A reading is superseded by a later one of the same attribute only if the call that gave it began after the
// first was recorded, and either the deciding request shows the later one, or it does not show the first, and
// shows the output of a step, and the request of that step showed the later one. All others count. Values that
// somebody other than a tool gave to a model count, and supersede nothing.
func (s *Session) Select(d record.Decision, turns ...string) Selection {
	return s.selected(d, turns, nil)
}

// selected is Select with rows that were recorded after those of the session, and bear no evidence.
func (s *Session) selected(d record.Decision, turns []string, waiting []record.Event) Selection {
	sel := selector{s: s, d: d, x: s.x, upTo: cmp.Or(d.UpTo, math.MaxInt64)}
	sel.out.Counts = s.ownCounts()
	sel.now = s.timeOf(d.UpTo)
	if len(waiting) > 0 && d.UpTo == 0 {
		sel.now = waiting[len(waiting)-1].Time()
	}
	sel.reads()
	sel.names()
	for _, key := range s.sortedKeys() {
		if s.things[key].first <= sel.upTo {
			sel.thing(key)
		}
	}
	// The rest was found by a model, or is named by the action alone.
	for _, key := range slices.Sorted(maps.Keys(s.found)) {
		if thing := s.things[key]; thing == nil || thing.first > sel.upTo {
			sel.thing(key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(sel.named)) {
		sel.thing(key)
	}
	slices.SortFunc(sel.out.Entities, func(a, b entity.Canonical) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Key, b.Key))
	})
	sel.lacks()
	sel.out.NoRow = s.withoutRow(sel.upTo)
	runs := s.runsWith(waiting)
	sel.out.Broken = s.broken(runs, d, sel.upTo)
	for _, r := range runs {
		sel.out.Runs = append(sel.out.Runs, r.ID)
	}
	sel.out.Runs = append(sel.out.Runs, s.left...)
	sel.out.RunsOf = make(map[string][]string, len(turns))
	for _, turn := range turns {
		sel.out.RunsOf[turn] = nil
	}
	for _, r := range runs {
		for _, turn := range turns {
			if slices.Contains(r.Turns, turn) {
				sel.out.RunsOf[turn] = append(sel.out.RunsOf[turn], r.ID)
			}
		}
	}
	return sel.out
}

// withoutRow returns the results that requests showed up to a row and no row has.
func (s *Session) withoutRow(upTo int64) (list []record.Shown) {
	for shown, of := range s.noRow {
		if of.shown <= upTo && (of.given == 0 || of.given > upTo) {
			list = append(list, shown)
		}
	}
	slices.SortFunc(list, func(a, b record.Shown) int {
		return cmp.Or(cmp.Compare(s.noRow[a].shown, s.noRow[b].shown), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Call, b.Call),
			cmp.Compare(a.Args, b.Args), cmp.Compare(a.Result, b.Result))
	})
	return list
}

// timeOf returns the time of the row with a number, of the next one if it is of another session, and
// of the last one for 0.
func (s *Session) timeOf(seq int64) time.Time {
	if len(s.rows) == 0 {
		return time.Time{}
	}
	i := len(s.rows) - 1
	if seq > 0 && seq < s.rows[i].seq {
		i, _ = slices.BinarySearchFunc(s.rows, seq, func(r rowOf, seq int64) int { return cmp.Compare(r.seq, seq) })
	}
	return time.UnixMicro(s.rows[i].time).UTC()
}

// selector selects the evidence of one decision.
type selector struct {
	s    *Session
	x    *Extractor
	d    record.Decision
	upTo int64
	// shown are the results that the deciding request showed, known also those that the requests of the
	// steps showed whose output it showed. everything says that all count as shown, where no step decided.
	shown, known []interval
	everything   bool
	named        map[string][]entity.Entity // by key
	// shows has the lists that show what the action names. spent has those that earlier actions have spent, with
	// what the models had read that asked for them, taken what these named.
	shows map[entry]bool
	spent map[entry][]*numbers
	taken map[string]bool
	now   time.Time // of the last row that counts
	out   Selection
}

// reads finds the results that the deciding step knew.
func (sel *selector) reads() {
	s, d := sel.s, sel.d
	switch {
	case d.Answer != "":
		sel.out.Asked = true
		if i := s.callNamed(d.Answer); i >= 0 {
			sel.knows(s.calls[i])
		}
	case d.Run != "":
		run := s.runs[d.Run]
		at, known := s.at[d.After]
		if run == nil || !known || s.rows[at].run != run {
			return
		}
		var read *numbers
		for _, r := range run.results {
			if r.row <= s.rows[at].seq {
				read = union(read, numberOf(r.number))
			}
		}
		sel.shown = read.intervals()
		sel.known = sel.shown
	default:
		sel.everything = true
	}
}

// knows takes what a model call knew.
func (sel *selector) knows(c modelCall) {
	sel.shown, sel.known = c.shown.intervals(), union(c.shown, c.known).intervals()
}

// names finds the entities that the action names.
func (sel *selector) names() {
	named, err := sel.x.named(sel.d)
	if err != nil {
		sel.out.Counts.Failed++
		sel.out.Counts.Error = cmp.Or(sel.out.Counts.Error, err.Error())
	}
	sel.named, sel.out.Places, sel.out.Arguments = make(map[string][]entity.Entity), named.places, named.arguments
	for _, e := range named.entities {
		e.SeenAt = sel.now
		sel.named[e.Identity()] = append(sel.named[e.Identity()], e)
	}
	if sel.x.choosing() {
		sel.out.Counted = make(map[string]entity.Counted)
		sel.chosen()
	}
}

// found returns what a model found of a thing.
func (sel *selector) found(key string) []found {
	list, late := sel.s.found[key], func(f found) bool { return f.row > sel.upTo }
	if !slices.ContainsFunc(list, late) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), late)
}

// thing selects what counts of one thing.
func (sel *selector) thing(key string) {
	left := sel.notChosen(key)
	if left {
		if sel.out.NotChosen.Total++; sel.out.NotChosen.Total > maxNotChosen {
			return
		}
	}
	c := canonical{key: key}
	thing, byModel := sel.s.things[key], sel.found(key)
	if thing == nil {
		thing = new(seenThing)
	}
	for i := range thing.attributes {
		sel.attribute(&c, thing.attributes[i], byModel)
	}
	for _, name := range namesIn(byModel) {
		if _, seen := thing.find(name); !seen {
			sel.attribute(&c, seenAttribute{name: name}, byModel)
		}
	}
	c.name(sel.named[key])
	delete(sel.named, key)
	switch {
	case left:
		e := c.entity()
		sel.out.NotChosen.Entities = append(sel.out.NotChosen.Entities, entity.Alternative{Type: e.Type, Value: e.Value, Seen: e.Attributes, SeenAt: e.LastSeen})
	case c.counts():
		sel.out.Entities = append(sel.out.Entities, c.entity())
	}
}

// namesIn returns the attributes that a model found, sorted; "" stands for a thing without any.
func namesIn(list []found) (names []string) {
	for _, f := range list {
		if len(f.Attributes) == 0 {
			names = insertNew(names, "")
		}
		for name := range f.Attributes {
			names = insertNew(names, name)
		}
	}
	return names
}

// attribute takes what counts of one attribute: its readings, or else the latest claim.
func (sel *selector) attribute(c *canonical, seen seenAttribute, byModel []found) {
	name := seen.name
	list, absent := sel.readings(seen.said)
	if absent != nil {
		c.absent = append(c.absent, name)
	}
	for _, r := range list {
		e, rank := r.Entity, 0
		if e.Read = r.read; r.read {
			rank = 1
		}
		if r.read && sel.isShown(r.said) { // the model went by it, and not by a newer one
			rank = 2
		}
		c.read(name, r.value, e, rank)
	}
	if len(list) > 0 {
		return
	}
	for _, f := range byModel {
		if value, ok := f.Attributes[name]; ok || name == "" && len(f.Attributes) == 0 {
			c.claim(name, value, f.Entity)
		}
	}
	for s := range sel.latest(seen.said, false) {
		if s.absent {
			continue
		}
		c.claim(name, s.value, s.Entity)
		if s.echo && s.arg != "" {
			if sel.out.Echoed == nil {
				sel.out.Echoed = make(map[string]map[string]string)
			}
			if sel.out.Echoed[c.key] == nil {
				sel.out.Echoed[c.key] = make(map[string]string)
			}
			sel.out.Echoed[c.key][name] = s.arg
		}
		return
	}
}

// reading is a reading that counts.
type reading struct {
	*said
	read bool // by the deciding step
}

// readings returns the readings of an attribute that count, the latest last. Of readings with the
// same value it returns the latest that was read, or else the latest. It always returns the latest
// of all.
//
// A reading that the requests of the deciding step showed themselves is superseded only by another
// one that they showed. The step may know others through the words of an agent, and never have seen
// them.
//
// An absence, of an attribute that may be missing, supersedes the readings of its own tool alone: the
// results of another one may never have the attribute. absent is the latest where no reading counts.
func (sel *selector) readings(all []said) (out []reading, absent *said) {
	var list []reading
	var gone map[string]int64 // by tool: its readings recorded before it are superseded
	for s := range sel.latest(all, false) {
		if s.absent && s.Source.Proves() {
			absent = cmp.Or(absent, s)
			if tool := sel.s.toolOf(s); sel.isShown(s) {
				if gone == nil {
					gone = make(map[string]int64)
				}
				gone[tool] = max(gone[tool], s.start)
			}
		}
	}
	var shown, known int64 // readings recorded before it are superseded, if they were shown, and if not
	superseded := func(r reading) bool {
		if sel.isShown(r.said) {
			return r.row < shown
		}
		return r.row < known
	}
	for s := range sel.latest(all, true) {
		if s.row < shown || s.row < known && len(sel.shown) == 0 {
			break
		}
		if len(gone) > 0 && s.row < gone[sel.s.toolOf(s)] {
			continue
		}
		r := reading{s, s.Source.Proves() && (sel.everything || s.result != 0 && holds(sel.known, s.result))}
		if r.read && !r.near {
			known = max(known, r.start)
			if sel.isShown(s) {
				shown = max(shown, r.start)
			}
		}
		if !superseded(r) {
			list = append(list, r)
		}
	}
	type kind struct {
		value  entity.Value
		proves bool
	}
	place := make(map[kind]int) // in out
	for _, r := range list {
		if superseded(r) {
			continue
		}
		same := kind{r.value, r.Source.Proves()}
		at, known := place[same]
		switch {
		case !known:
			place[same] = len(out)
			out = append(out, r)
		case r.read && !out[at].read && at > 0:
			out[at] = r
		case r.read && !out[at].read:
			out = append(out, r)
			place[same] = len(out) - 1
		}
	}
	slices.SortStableFunc(out, func(a, b reading) int { return cmp.Compare(a.row, b.row) })
	if len(out) > 0 {
		absent = nil
	}
	return out, absent
}

// toolOf returns the tool of the call in whose result something was seen, "" where there is none.
func (s *Session) toolOf(of *said) string {
	if of.result == 0 {
		return ""
	}
	return s.results[of.result-1].tool
}

// void reports whether a sighting is of a result that only the history had until its row came.
func (s *Session) void(of *said) bool { return of.result != 0 && s.results[of.result-1].void }

// isShown reports whether the deciding request showed a sighting itself.
func (sel *selector) isShown(s *said) bool {
	shows := func() bool {
		return holds(sel.shown, s.result) || holds(sel.shown, sel.s.results[s.result-1].early)
	}
	return sel.everything || !s.inner && s.result != 0 && shows()
}

// latest ranges over what is said of an attribute, the latest first: the readings, or the rest.
func (sel *selector) latest(list []said, readings bool) iter.Seq[*said] {
	return func(yield func(*said) bool) {
		for i := range slices.Backward(list) {
			if s := &list[i]; s.reading() == readings && s.row <= sel.upTo && !sel.s.void(s) && !yield(s) {
				return
			}
		}
	}
}
