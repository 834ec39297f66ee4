// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// RowSource gives the rows of sessions, and the entities that models found in them.
type RowSource interface {
	Flush(ctx context.Context) error
	Events(ctx context.Context, s record.Session) ([]record.Event, error)
	Entities(ctx context.Context, s record.Session) ([]entity.Entity, error)
}

// Recorded is an [EvidenceStore] in memory. It takes the rows of a session from a source
// when it is first asked for the session, and writes nothing: it is for whoever looks at a
// record without changing it. It is safe for concurrent use.
type Recorded struct {
	source RowSource

	mu       sync.Mutex
	sessions map[record.Session]*recorded
}

// NewRecorded returns a Recorded over a source.
func NewRecorded(source RowSource) *Recorded {
	return &Recorded{source: source, sessions: make(map[record.Session]*recorded)}
}

// recorded is the evidence of one session.
type recorded struct {
	source   *Recorded
	rows     []record.Event // numbered
	index    map[string]int // row by event id
	found    []Sighting
	progress Progress
	results  []Result
	calls    []ModelCall
	// sightings has the sightings of each thing by attribute, in order.
	sightings map[string]map[string][]Sighting
	choices   map[string][]Choice // by key, in order
	runs      map[string]*Run
}

// Waiting implements [EvidenceStore]. It cannot tell.
func (m *Recorded) Waiting(record.Session) (rows []record.Event, known bool) { return nil, false }

// Settle implements [EvidenceStore].
func (m *Recorded) Settle(ctx context.Context, s record.Session, f func(EvidenceReader) (Advance, bool, error)) error {
	if err := m.source.Flush(ctx); err != nil {
		return err
	}
	var a Advance
	var ok bool
	err := m.View(ctx, s, func(r EvidenceReader) (err error) {
		a, ok, err = f(r)
		return err
	})
	if err != nil || !ok {
		return err
	}
	return m.Advance(ctx, a)
}

// View implements [EvidenceStore].
func (m *Recorded) View(ctx context.Context, s record.Session, f func(EvidenceReader) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.open(ctx, s)
	if err != nil {
		return err
	}
	return f(r)
}

// open takes the rows of a session from the source, once.
func (m *Recorded) open(ctx context.Context, s record.Session) (*recorded, error) {
	if r := m.sessions[s]; r != nil {
		return r, nil
	}
	rows, err := m.source.Events(ctx, s)
	if err != nil {
		return nil, err
	}
	r := &recorded{source: m, index: make(map[string]int)}
	r.reset()
	for i, e := range inOrder(rows) {
		row := *e
		if row.Seq == 0 {
			row.Seq = int64(i) + 1
		}
		r.index[row.EventID] = len(r.rows)
		r.rows = append(r.rows, row)
	}
	entities, err := m.source.Entities(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, e := range entities {
		if i, known := r.index[e.EventID]; known && e.Source == entity.SourceModel {
			r.found = append(r.found, Sighting{Entity: e, Key: e.Identity(), Row: r.rows[i].Seq})
		}
	}
	m.sessions[s] = r
	return r, nil
}

func (r *recorded) reset() {
	r.progress, r.results, r.calls = Progress{}, nil, nil
	r.sightings, r.choices, r.runs = make(map[string]map[string][]Sighting), make(map[string][]Choice), make(map[string]*Run)
}

// Advance implements [EvidenceStore].
func (m *Recorded) Advance(ctx context.Context, a Advance) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.open(ctx, a.Session)
	if err != nil {
		return err
	}
	if a.To.Version != r.progress.Version && a.From == 0 {
		r.reset()
	} else if a.From != r.progress.Watermark || a.To.Version != r.progress.Version {
		return ErrMoved
	}
	r.progress = a.To
	r.results = append(r.results, a.Results...)
	r.calls = append(r.calls, a.Calls...)
	for name, id := range a.Names {
		for i := range r.calls {
			if r.calls[i].EventID == id {
				r.calls[i].Names = appendNew(slices.Clip(r.calls[i].Names), name)
			}
		}
	}
	for _, s := range a.Sightings {
		r.add(s)
	}
	for _, c := range a.Choices {
		r.choose(c)
	}
	for id, digest := range a.Rewritten {
		r.rewrite(id, digest)
	}
	for _, run := range a.Runs {
		r.run(run)
	}
	return nil
}

func (r *recorded) add(s Sighting) {
	byName := r.sightings[s.Key]
	if byName == nil {
		byName = make(map[string][]Sighting)
		r.sightings[s.Key] = byName
	}
	names := slices.Sorted(maps.Keys(s.Attributes))
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		list := byName[name]
		i := len(list)
		for i > 0 && list[i-1].Row > s.Row {
			i--
		}
		byName[name] = slices.Insert(list, i, s)
	}
}

func (r *recorded) choose(c Choice) {
	list := r.choices[c.Key]
	i, known := slices.BinarySearchFunc(list, c, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Result, b.Result), cmp.Compare(a.Rule, b.Rule))
	})
	if known {
		list[i].Reading = list[i].Reading || c.Reading
		return
	}
	r.choices[c.Key] = slices.Insert(list, i, c)
}

func (r *recorded) rewrite(eventID, digest string) {
	for i := range r.results {
		if r.results[i].EventID != eventID {
			continue
		}
		r.results[i].Digest = digest
		for _, list := range r.choices {
			for j := range list {
				if list[j].Result == r.results[i].Number {
					list[j].Reading = false
				}
			}
		}
		for _, byName := range r.sightings {
			for _, list := range byName {
				for j := range list {
					if list[j].Result == r.results[i].Number && list[j].Source == entity.SourceRule {
						list[j].Source = entity.SourceClaim
					}
				}
			}
		}
	}
}

func (r *recorded) run(added Run) {
	known := r.runs[added.ID]
	if known == nil {
		r.runs[added.ID] = &added
		return
	}
	for _, turn := range added.Turns {
		known.Turns = appendNew(slices.Clip(known.Turns), turn)
	}
	known.Turn = max(known.Turn, added.Turn)
	if added.Started.Before(known.Started) {
		known.Started = added.Started
	}
	known.First = min(known.First, added.First)
	known.Completed = known.Completed || added.Completed
	known.Expected = max(known.Expected, added.Expected)
	known.Stored += added.Stored
}

// Progress implements [EvidenceReader].
func (r *recorded) Progress() (Progress, error) { return r.progress, nil }

// LastRow implements [EvidenceReader].
func (r *recorded) LastRow() (int64, error) {
	if len(r.rows) == 0 {
		return 0, nil
	}
	return r.rows[len(r.rows)-1].Seq, nil
}

// Rows implements [EvidenceReader].
func (r *recorded) Rows(after int64, limit int) ([]record.Event, error) {
	i, _ := slices.BinarySearchFunc(r.rows, after+1, func(e record.Event, n int64) int { return int(e.Seq - n) })
	return slices.Clone(r.rows[i:min(i+limit, len(r.rows))]), nil
}

// Row implements [EvidenceReader].
func (r *recorded) Row(eventID string) (record.Event, bool, error) {
	for _, of := range append([]*recorded{r}, slices.Collect(maps.Values(r.source.sessions))...) {
		if i, known := of.index[eventID]; known && eventID != "" {
			return of.rows[i], true, nil
		}
	}
	return record.Event{}, false, nil
}

func (r *recorded) filter(keep func(Result) bool) []Result {
	return slices.DeleteFunc(slices.Clone(r.results), func(x Result) bool { return !keep(x) })
}

// Results implements [EvidenceReader].
func (r *recorded) Results(callID, digest string) ([]Result, error) {
	return r.filter(func(x Result) bool { return x.CallID == callID && x.Digest == digest }), nil
}

// Result implements [EvidenceReader].
func (r *recorded) Result(eventID string) (Result, bool, error) {
	list := r.filter(func(x Result) bool { return x.EventID == eventID })
	if len(list) == 0 {
		return Result{}, false, nil
	}
	return list[0], true, nil
}

// ResultsOfRun implements [EvidenceReader].
func (r *recorded) ResultsOfRun(run string, upTo int64) ([]Result, error) {
	return r.filter(func(x Result) bool { return x.RunID == run && x.Row <= upTo }), nil
}

// ModelCalls implements [EvidenceReader].
func (r *recorded) ModelCalls(name string) ([]ModelCall, error) {
	return slices.DeleteFunc(slices.Clone(r.calls), func(c ModelCall) bool { return !slices.Contains(c.Names, name) }), nil
}

// LastModelCall implements [EvidenceReader].
func (r *recorded) LastModelCall() (ModelCall, bool, error) {
	if len(r.calls) == 0 {
		return ModelCall{}, false, nil
	}
	return r.calls[len(r.calls)-1], true, nil
}

// Run implements [EvidenceReader].
func (r *recorded) Run(id string) (Run, bool, error) {
	if known := r.runs[id]; known != nil {
		return *known, true, nil
	}
	return Run{}, false, nil
}

// Keys implements [EvidenceReader].
func (r *recorded) Keys(after string, upTo int64, limit int) ([]string, error) {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(r.sightings)) {
		seen := false
		for _, list := range r.sightings[key] {
			seen = seen || list[0].Row <= upTo
		}
		if key > after && seen && len(out) < limit {
			out = append(out, key)
		}
	}
	return out, nil
}

// Attributes implements [EvidenceReader].
func (r *recorded) Attributes(key string) ([]string, error) {
	return slices.Sorted(maps.Keys(r.sightings[key])), nil
}

// Sightings implements [EvidenceReader].
func (r *recorded) Sightings(key, attribute string, readings bool, upTo int64, skip, limit int) ([]Sighting, error) {
	var out []Sighting
	for _, s := range slices.Backward(r.sightings[key][attribute]) {
		reading := s.Source.Reading() && !slices.Contains(s.Echoes, attribute)
		if reading != readings || s.Row > upTo {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if len(out) == limit {
			break
		}
		out = append(out, s)
	}
	return out, nil
}

// Choices implements [EvidenceReader].
func (r *recorded) Choices(key string, upTo int64, skip, limit int) ([]Choice, error) {
	list := r.choices[key]
	end, _ := slices.BinarySearchFunc(list, upTo, func(c Choice, upTo int64) int {
		if c.Row <= upTo {
			return -1
		}
		return 1
	})
	skip = min(skip, end)
	return slices.Clone(list[skip:min(skip+limit, end)]), nil
}

// Found implements [EvidenceReader].
func (r *recorded) Found() ([]Sighting, error) { return slices.Clone(r.found), nil }

// OpenRuns implements [EvidenceReader].
func (r *recorded) OpenRuns() ([]Run, error) {
	var out []Run
	for _, id := range slices.Sorted(maps.Keys(r.runs)) {
		if run := r.runs[id]; !run.Completed || run.Stored < run.Expected {
			out = append(out, *run)
		}
	}
	return out, nil
}

// RunsOfTurn implements [EvidenceReader].
func (r *recorded) RunsOfTurn(turn string) ([]string, error) {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(r.runs)) {
		if slices.Contains(r.runs[id].Turns, turn) {
			out = append(out, id)
		}
	}
	return out, nil
}
