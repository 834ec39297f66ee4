// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Selection is the evidence of a decision.
type Selection struct {
	// Entities are the things that the session recorded before the decision, by type and
	// key, one for each [entity.Entity.Identity].
	//
	// Seen holds the readings that count, by time: of several that say the same one, the
	// latest that the deciding step had read, if any. It also holds what the arguments of the
	// action name, with the node of the decision. Attributes holds each attribute that any
	// sighting has: by the latest reading that counts, or else by the latest sighting.
	Entities []entity.Canonical
	// NotChosen are things that do not count because the decision chose others. Counted has, by
	// Key, the things that count although the action does not name them and a rule with
	// [config.Extract.Alternatives] finds their type, and says why.
	NotChosen NotChosen
	Counted   map[string]Counted
	// Places has, by Key, the normalized paths of the nodes in which the action names things.
	Places map[string][]string
	// Asked says that a model asked.
	Asked bool
	// Progress is the progress of the extraction behind the selection.
	Progress Progress
	// OpenRuns are the runs with gaps in their record.
	OpenRuns []Run
	// RunsOf are the runs of the turns that were asked for.
	RunsOf map[string][]string
}

// keysAtOnce and sightingsAtOnce bound what is read at a time.
const (
	keysAtOnce      = 100
	sightingsAtOnce = 8
)

// errBehind says that the evidence has to catch up once more.
var errBehind = errors.New("rows were recorded in between, or other rules extracted them")

// Select extracts the rest of a session and selects the evidence of a decision. RunsOf is filled
// for the turns. Rows that excluded reports count as never recorded; nil excludes none.
//
// Every thing recorded up to d.UpTo counts, in whatever run, turn, branch or agent, with one
// exception: a thing that was not chosen. A thing was not chosen if all of this holds. The action
// does not name it. Every sighting of it comes from rules with [config.Extract.Alternatives]. Each
// of those rows also shows, by the same rule and as a reading, an entity that the action names. Two
// kinds of sightings are left aside here: the arguments of other actions, and the values in a
// refusal for drift, which only repeat things that counted by other sightings. For an agent that
// ran as a tool, the rows of its own session are looked at.
//
// A reading is superseded by a reading of the same attribute that the deciding step had read, if
// the call that gave it began after the first was recorded. All others count.
func (ev *Evidence) Select(ctx context.Context, s record.Session, d Decision, turns []string, excluded func(row int64) bool) (Selection, error) {
	if excluded == nil {
		excluded = func(int64) bool { return false }
	}
	waiting, known := ev.store.Waiting(s)
	for behind := !known; ; behind = true {
		sel := selector{ev: ev, d: d, x: ev.extract, excluded: excluded, waiting: waiting}
		var err error
		if behind {
			sel.waiting = nil
			err = ev.settle(ctx, s)
		}
		if err == nil {
			err = ev.store.View(ctx, s, func(r EvidenceReader) error {
				sel.r = r
				return sel.all(s, turns)
			})
		}
		switch {
		case err == nil:
			return sel.out, nil
		case errors.Is(err, errBehind) && ctx.Err() == nil:
			continue
		}
		return Selection{}, fmt.Errorf("select the evidence of session %s: %w", s.ID, err)
	}
}

// selector selects at one moment.
type selector struct {
	ev       *Evidence
	r        EvidenceReader
	x        *Extractor
	d        Decision
	excluded func(row int64) bool
	// waiting are rows that are not stored, later the runs of all rows that are not extracted.
	waiting []record.Event
	later   []*Run
	upTo    int64
	// read are the results that the deciding step had read, own those that its own requests
	// showed; everything says that it counts as having read all, where no step decided.
	read, own  []Span
	everything bool
	named      map[string][]entity.Entity // by key
	shows      map[entry]bool             // where rules show what the action names
	found      map[string][]Sighting      // by a model, by key
	now        time.Time                  // of the last row that counts
	out        Selection
}

func (sel *selector) all(s record.Session, turns []string) error {
	if err := sel.begin(); err != nil {
		return err
	}
	if err := sel.keys(sel.thing); err != nil {
		return err
	}
	// The rest was found by a model, or is named by the action alone.
	for _, key := range slices.Sorted(maps.Keys(sel.found)) {
		if err := sel.thing(key); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(sel.named)) {
		if err := sel.thing(key); err != nil {
			return err
		}
	}
	slices.SortFunc(sel.out.Entities, func(a, b entity.Canonical) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Key, b.Key))
	})
	var err error
	if sel.out.OpenRuns, err = sel.openRuns(); err != nil {
		return err
	}
	sel.out.RunsOf = make(map[string][]string, len(turns))
	for _, turn := range turns {
		if sel.out.RunsOf[turn], err = sel.runsOf(turn); err != nil {
			return err
		}
	}
	return nil
}

// keys calls f with the keys of all things, in order.
func (sel *selector) keys(f func(key string) error) error {
	for after, more := "", true; more; {
		keys, err := sel.r.Keys(after, sel.upTo, keysAtOnce)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := f(key); err != nil {
				return err
			}
			after = key
		}
		more = len(keys) == keysAtOnce
	}
	return nil
}

// begin finds the results that the deciding step had read, and the entities that the action names.
func (sel *selector) begin() error {
	p, err := sel.r.Progress()
	if err != nil {
		return err
	}
	if sel.upTo = sel.d.UpTo; sel.upTo == 0 {
		sel.upTo = math.MaxInt64
	}
	later, err := sel.notExtracted(p)
	if err != nil {
		return err
	}
	p.Version = sel.x.Version()
	sel.out.Progress = p
	if rows, err := sel.r.Rows(min(sel.upTo, p.Watermark)-1, 1); err != nil {
		return err
	} else if len(rows) > 0 {
		sel.now = rows[0].Time()
	}
	for i := range later {
		if later[i].Seq <= sel.upTo && later[i].Seq > 0 || sel.d.UpTo == 0 {
			sel.now = later[i].Time()
		}
	}
	if err := sel.reads(); err != nil {
		return err
	}
	found, err := sel.r.Found()
	if err != nil {
		return err
	}
	sel.found = make(map[string][]Sighting)
	for _, s := range found {
		if s.Row <= sel.upTo && !sel.excluded(s.Row) {
			sel.found[s.Identity()] = append(sel.found[s.Identity()], s)
		}
	}
	named, places, err := sel.x.named(sel.d)
	if err != nil {
		sel.out.Progress.Failed++
		sel.out.Progress.Error = cmp.Or(sel.out.Progress.Error, err.Error())
	}
	sel.named, sel.out.Places = make(map[string][]entity.Entity), places
	for _, e := range named {
		e.SeenAt = sel.now
		sel.named[e.Identity()] = append(sel.named[e.Identity()], e)
	}
	if !sel.x.choosing() {
		return nil
	}
	sel.out.Counted = make(map[string]Counted)
	return sel.chosen()
}

// reads finds the results that the deciding step had read.
func (sel *selector) reads() error {
	switch d := sel.d; {
	case d.Answer != "":
		sel.out.Asked = true
		calls, err := sel.r.ModelCalls(answerName(d.Answer))
		if err == nil && len(calls) == 1 {
			sel.read, sel.own = calls[0].Read, calls[0].Own
		}
		return err
	case d.Run != "":
		var upTo int64
		if row, ok, err := sel.r.Row(d.After); err != nil {
			return err
		} else if ok && row.RunID == d.Run {
			upTo = row.Seq
		}
		results, err := sel.r.ResultsOfRun(d.Run, upTo)
		for _, r := range results {
			sel.read = union(sel.read, []Span{{r.Number, r.Number}})
		}
		sel.own = sel.read
		return err
	default:
		sel.everything = true
		return nil
	}
}

// answerName returns the name of the model call that a [Decision] names.
func answerName(answer string) string {
	if strings.HasPrefix(answer, "c:") || strings.HasPrefix(answer, "e:") {
		return answer
	}
	return "r:" + answer
}

// thing selects what counts of one thing.
func (sel *selector) thing(key string) error {
	left, err := sel.notChosen(key)
	if err != nil {
		return err
	}
	if left {
		if sel.out.NotChosen.Total++; sel.out.NotChosen.Total > maxNotChosen {
			return nil
		}
	}
	c := canonical{key: key}
	names, err := sel.r.Attributes(key)
	if err != nil {
		return err
	}
	for _, s := range sel.found[key] {
		if len(s.Attributes) == 0 {
			names = appendName(names, "")
		}
		for name := range s.Attributes {
			names = appendName(names, name)
		}
	}
	for _, name := range names {
		if err := sel.attribute(&c, key, name); err != nil {
			return err
		}
	}
	c.name(sel.named[key])
	delete(sel.named, key)
	delete(sel.found, key)
	switch {
	case left:
		sel.out.NotChosen.Entities = append(sel.out.NotChosen.Entities, c.entity())
	case c.counts():
		sel.out.Entities = append(sel.out.Entities, c.entity())
	}
	return nil
}

// appendName adds a name that is not there; "" is one.
func appendName(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// attribute takes what counts of one attribute: its readings, or else the latest claim.
func (sel *selector) attribute(c *canonical, key, name string) error {
	list, err := sel.readings(key, name)
	if err != nil {
		return err
	}
	for _, s := range list {
		c.read(name, s.Entity)
	}
	if len(list) > 0 {
		return nil
	}
	for _, s := range sel.found[key] {
		if _, ok := s.Attributes[name]; ok || name == "" && len(s.Attributes) == 0 {
			c.claim(name, s.Entity)
		}
	}
	return sel.latest(key, name, false, func(s Sighting) bool {
		if s.Source == entity.SourceAction {
			// The deciding call's own arguments are read from the request. The arguments of another
			// call are no reason for this one.
			return true
		}
		c.claim(name, s.Entity)
		return false
	})
}

// readings returns the readings of an attribute that count, the latest last. Of readings with the
// same value it returns the latest that was read, or else the latest. It always returns the latest
// of all.
//
// A reading that the requests of the deciding step showed themselves is superseded only by another
// one that they showed. The step may know others through the words of an agent, and never have seen
// them.
func (sel *selector) readings(key, name string) ([]Sighting, error) {
	var list []Sighting
	var own, known int64 // readings recorded before it are superseded, if they were shown, and if not
	superseded := func(s Sighting) bool {
		if sel.shown(s) {
			return s.Row < own
		}
		return s.Row < known
	}
	err := sel.latest(key, name, true, func(s Sighting) bool {
		if s.Row < own || s.Row < known && len(sel.own) == 0 {
			return false
		}
		s.Read = sel.everything || s.Result != 0 && holds(sel.read, s.Result)
		if s.Read {
			known = max(known, s.Start)
			if sel.shown(s) {
				own = max(own, s.Start)
			}
		}
		if !superseded(s) {
			list = append(list, s)
		}
		return true
	})
	said := make(map[entity.Value]int) // index in out
	var out []Sighting
	for _, s := range list {
		if superseded(s) {
			continue
		}
		at, known := said[s.Attributes[name]]
		switch {
		case !known:
			said[s.Attributes[name]] = len(out)
			out = append(out, s)
		case s.Read && !out[at].Read && at > 0:
			out[at] = s
		case s.Read && !out[at].Read:
			out = append(out, s)
			said[s.Attributes[name]] = len(out) - 1
		}
	}
	slices.SortStableFunc(out, func(a, b Sighting) int { return cmp.Compare(a.Row, b.Row) })
	return out, err
}

// shown reports whether the requests of the deciding step showed a sighting.
func (sel *selector) shown(s Sighting) bool {
	return sel.everything || s.Result != 0 && holds(sel.own, s.Result)
}

// latest calls f with the sightings of an attribute, the latest first, until f returns
// false.
func (sel *selector) latest(key, name string, readings bool, f func(Sighting) bool) error {
	for skip, limit := 0, sightingsAtOnce; ; skip, limit = skip+limit, min(limit*4, 1000) {
		list, err := sel.r.Sightings(key, name, readings, sel.upTo, skip, limit)
		if err != nil {
			return err
		}
		for _, s := range list {
			if !sel.excluded(s.Row) && !f(s) {
				return nil
			}
		}
		if len(list) < limit {
			return nil
		}
	}
}
