// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
)

// view runs f on the evidence of testSession.
func view(tb testing.TB, j *journal.Journal, f func(r graphsync.EvidenceReader) error) {
	tb.Helper()
	if err := j.Evidence().View(tb.Context(), testSession, f); err != nil {
		tb.Fatal(err)
	}
}

// read returns what one look at the evidence of testSession gives.
func read[T any](tb testing.TB, j *journal.Journal, look func(r graphsync.EvidenceReader) (T, error)) (v T) {
	tb.Helper()
	view(tb, j, func(r graphsync.EvidenceReader) (err error) {
		v, err = look(r)
		return err
	})
	return v
}

func extracted(tb testing.TB, j *journal.Journal, a graphsync.Advance) {
	tb.Helper()
	if err := j.Evidence().Advance(tb.Context(), a); err != nil {
		tb.Fatal(err)
	}
}

// step is an Advance of testSession that adds nothing.
func step(from, to int64) graphsync.Advance {
	return graphsync.Advance{Session: testSession, From: from, To: graphsync.Progress{Watermark: to, Rows: int(to), Version: "v1"}}
}

// sighted is a sighting of a product in a row with its attributes.
func sighted(value string, row int64, source entity.Source, attributes ...string) graphsync.Sighting {
	e := found("Product", value, "a", fmt.Sprint("e-", row), source)
	e.Norm, e.Attributes = entity.Value{}, nil
	for i, name := range attributes {
		if e.Attributes == nil {
			e.Attributes = make(map[string]entity.Value)
		}
		e.Attributes[name] = entity.Text(fmt.Sprint(row, " ", i))
	}
	return graphsync.Sighting{Entity: e, Key: e.Identity(), Row: row}
}

func TestEvidenceComesBackAsItWas(t *testing.T) {
	j := openJournal(t, nil)
	full := sighted("A", 5, entity.SourceRule, "price", "reach")
	full.Start, full.Result, full.Echoes, full.Repeats, full.ArtifactURI = 4, 1, []string{"reach"}, 2, "file:///a"
	full.Norm = entity.Bool(true)
	full.Read = true // never stored
	bare := graphsync.Sighting{Entity: entity.Entity{Type: "T", Value: "b", Source: entity.SourceClaim}, Key: "T:text:b", Row: 6}
	a := step(0, 7)
	a.To = graphsync.Progress{Watermark: 7, Rows: 7, Failed: 1, Truncated: 2, Error: "row 3", Version: "v1", Results: 2, Unmatched: 3, Rewritten: []string{"look", "search"}}
	a.Results = []graphsync.Result{
		{Number: 1, Row: 5, Start: 4, EventID: "e-5", RunID: "r", CallID: "c", Digest: "d"},
		{Number: 2, Row: 6, EventID: "e-6", RunID: "r", CallID: "c"},
	}
	a.Calls = []graphsync.ModelCall{
		{EventID: "m-3", Row: 3, Names: []string{"c:c", "r:m-3"}},
		{EventID: "m-7", Row: 7, Names: []string{"c:c"}, Read: []graphsync.Span{{First: 1, Last: 1}, {First: 3, Last: 9}}},
	}
	a.Names = map[string]string{"e:x": "m-3", "e:y": "unknown"}
	a.Sightings = []graphsync.Sighting{full, bare}
	a.Runs = []graphsync.Run{
		{ID: "r", Turn: "t2", Turns: []string{"t2", "t1"}, Started: testTime, Expected: 7, Stored: 6},
		{ID: "done", Turn: "t1", Turns: []string{"t1"}, Started: testTime, Completed: true, Expected: 2, Stored: 2},
		{ID: "short", Turns: []string{"t3"}, Completed: true, Expected: 2, Stored: 1},
	}
	extracted(t, j, a)

	full.Read = false
	first, second := a.Calls[0], a.Calls[1]
	first.Names = []string{"c:c", "e:x", "r:m-3"}
	want := map[string]any{
		"progress":            a.To,
		"results":             a.Results[:1],
		"results not known":   a.Results[1:],
		"results of run":      a.Results,
		"results of run to 5": a.Results[:1],
		"results of no run":   []graphsync.Result(nil),
		"calls":               []graphsync.ModelCall{first, second},
		"calls by later name": []graphsync.ModelCall{first},
		"calls by no name":    []graphsync.ModelCall(nil),
		"keys":                []string{full.Key, "T:text:b"},
		"keys to 5":           []string{full.Key},
		"one key":             []string{full.Key},
		"keys after":          []string{"T:text:b"},
		"attributes":          []string{"price", "reach"},
		"attributes of bare":  []string{""},
		"reading":             []graphsync.Sighting{full},
		"reading to 4":        []graphsync.Sighting(nil),
		"echo":                []graphsync.Sighting(nil),
		"echo, no reading":    []graphsync.Sighting{full},
		"bare":                []graphsync.Sighting{bare},
		"open runs":           []graphsync.Run{a.Runs[0], a.Runs[2]},
		"runs of turn":        []string{"r", "done"},
	}
	got := make(map[string]any)
	view(t, j, func(r graphsync.EvidenceReader) error {
		var errs []error
		note := func(name string) func(v any, err error) {
			return func(v any, err error) {
				got[name] = v
				errs = append(errs, err)
			}
		}
		set := func(name string, v any, err error) { note(name)(v, err) }
		p, err := r.Progress()
		set("progress", p, err)
		for name, args := range map[string][2]string{"results": {"c", "d"}, "results not known": {"c", ""}} {
			v, err := r.Results(args[0], args[1])
			set(name, v, err)
		}
		for name, run := range map[string]string{"results of run": "r", "results of no run": "x"} {
			v, err := r.ResultsOfRun(run, 6)
			set(name, v, err)
		}
		results, err := r.ResultsOfRun("r", 5)
		set("results of run to 5", results, err)
		for name, of := range map[string]string{"calls": "c:c", "calls by later name": "e:x", "calls by no name": "e:y"} {
			v, err := r.ModelCalls(of)
			set(name, v, err)
		}
		for name, args := range map[string]struct {
			after string
			upTo  int64
			limit int
		}{"keys": {"", 9, 9}, "keys to 5": {"", 5, 9}, "one key": {"", 9, 1}, "keys after": {full.Key, 9, 9}} {
			v, err := r.Keys(args.after, args.upTo, args.limit)
			set(name, v, err)
		}
		for name, key := range map[string]string{"attributes": full.Key, "attributes of bare": bare.Key} {
			v, err := r.Attributes(key)
			set(name, v, err)
		}
		for name, args := range map[string]struct {
			key, attribute string
			readings       bool
			upTo           int64
		}{
			"reading": {full.Key, "price", true, 5}, "reading to 4": {full.Key, "price", true, 4}, "echo": {full.Key, "reach", true, 9},
			"echo, no reading": {full.Key, "reach", false, 9}, "bare": {bare.Key, "", false, 9},
		} {
			v, err := r.Sightings(args.key, args.attribute, args.readings, args.upTo, 0, 9)
			set(name, v, err)
		}
		open, err := r.OpenRuns()
		set("open runs", open, err)
		runs, err := r.RunsOfTurn("t1")
		set("runs of turn", runs, err)
		return errors.Join(errs...)
	})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("what is read differs (-want +got):\n%s", d)
	}
}

// TestSightingsAreReadFromTheLast reads what several rows show of one attribute.
func TestSightingsAreReadFromTheLast(t *testing.T) {
	j := openJournal(t, nil)
	a := step(0, 9)
	for row := range int64(5) {
		a.Sightings = append(a.Sightings, sighted("A", row+1, entity.SourceRule, "price"))
	}
	twice := sighted("A", 5, entity.SourceDeclared, "price")
	a.Sightings = append(a.Sightings, twice, sighted("A", 4, entity.SourceClaim, "price"), sighted("B", 5, entity.SourceRule, "price"))
	extracted(t, j, a)
	b := step(9, 12)
	b.Sightings = []graphsync.Sighting{sighted("A", 11, entity.SourceRule, "price", "reach"), sighted("A", 12, entity.SourceRule)}
	extracted(t, j, b)

	key := twice.Key
	for name, tt := range map[string]struct {
		attribute   string
		readings    bool
		upTo        int64
		skip, limit int
		want        []int64
	}{
		"all":             {"price", true, 99, 0, 99, []int64{11, 5, 5, 4, 3, 2, 1}},
		"at most":         {"price", true, 99, 0, 2, []int64{11, 5}},
		"after the first": {"price", true, 99, 2, 3, []int64{5, 4, 3}},
		"beyond the last": {"price", true, 99, 7, 3, nil},
		"up to a row":     {"price", true, 3, 0, 99, []int64{3, 2, 1}},
		"no readings":     {"price", false, 99, 0, 99, []int64{4}},
		"another":         {"reach", true, 99, 0, 99, []int64{11}},
		"none":            {"", true, 99, 0, 99, []int64{12}},
		"unknown":         {"x", true, 99, 0, 99, nil},
	} {
		t.Run(name, func(t *testing.T) {
			list := read(t, j, func(r graphsync.EvidenceReader) ([]graphsync.Sighting, error) {
				return r.Sightings(key, tt.attribute, tt.readings, tt.upTo, tt.skip, tt.limit)
			})
			var rows []int64
			for _, s := range list {
				rows = append(rows, s.Row)
			}
			if d := cmp.Diff(tt.want, rows); d != "" {
				t.Errorf("rows differ (-want +got):\n%s", d)
			}
		})
	}
	latest := read(t, j, func(r graphsync.EvidenceReader) ([]graphsync.Sighting, error) {
		return r.Sightings(key, "price", true, 5, 0, 1)
	})
	if len(latest) != 1 || latest[0].Source != entity.SourceDeclared {
		t.Errorf("the latest of one row is %+v, want the one stored last", latest)
	}
}

// TestRewrittenResultIsNoReading tells of results that models read otherwise.
func TestRewrittenResultIsNoReading(t *testing.T) {
	j := openJournal(t, nil)
	a := step(0, 3)
	for n := range int64(3) {
		a.Results = append(a.Results, graphsync.Result{Number: n + 1, Row: n + 1, EventID: fmt.Sprint("e-", n+1), CallID: "c", Digest: "d"})
	}
	for _, s := range []graphsync.Sighting{
		sighted("A", 1, entity.SourceRule, "price"), sighted("A", 2, entity.SourceDeclared, "price"),
		sighted("A", 2, entity.SourceRule, "price", "reach"), sighted("A", 3, entity.SourceRule, "price"), sighted("B", 2, entity.SourceRule),
	} {
		s.Result = s.Row
		a.Sightings = append(a.Sightings, s)
	}
	a.Rewritten = map[string]string{"e-3": "same batch", "unknown": "x"}
	extracted(t, j, a)
	b := step(3, 4)
	b.Rewritten = map[string]string{"e-2": "other"}
	extracted(t, j, b)

	sources := func(value, attribute string, readings bool) string {
		var out []string
		for _, s := range read(t, j, func(r graphsync.EvidenceReader) ([]graphsync.Sighting, error) {
			return r.Sightings("Product:text:"+value, attribute, readings, 99, 0, 99)
		}) {
			out = append(out, fmt.Sprint(s.Row, " ", s.Source))
		}
		return strings.Join(out, ", ")
	}
	for _, tt := range []struct {
		value, attribute string
		readings         bool
		want             string
	}{
		{"A", "price", true, "2 declared, 1 rule"},
		{"A", "price", false, "3 claim, 2 claim"},
		{"A", "reach", true, ""},
		{"A", "reach", false, "2 claim"},
		{"B", "", true, ""},
		{"B", "", false, "2 claim"},
	} {
		if got := sources(tt.value, tt.attribute, tt.readings); got != tt.want {
			t.Errorf("%s of %s, readings %t: %q, want %q", tt.attribute, tt.value, tt.readings, got, tt.want)
		}
	}
	for digest, want := range map[string]int64{"d": 1, "other": 2, "same batch": 3} {
		list := read(t, j, func(r graphsync.EvidenceReader) ([]graphsync.Result, error) { return r.Results("c", digest) })
		if len(list) != 1 || list[0].Number != want {
			t.Errorf("results with digest %q: %+v, want number %d", digest, list, want)
		}
	}
}

// TestChoicesComeBackInOrder reads the choices of a thing, each once, up to a row.
func TestChoicesComeBackInOrder(t *testing.T) {
	j := openJournal(t, nil)
	choice := func(key string, row, result int64, rule int, reading bool) graphsync.Choice {
		return graphsync.Choice{Key: key, Row: row, Result: result, Rule: rule, Reading: reading}
	}
	a := step(0, 5)
	for n := range int64(3) {
		a.Results = append(a.Results, graphsync.Result{Number: n + 1, Row: n + 1, EventID: fmt.Sprint("e-", n+1)})
	}
	a.Choices = []graphsync.Choice{
		choice("a", 3, 3, 2, true), choice("a", 3, 3, 1, false), choice("a", 3, 3, 1, true), choice("a", 3, 3, 1, false),
		choice("a", 1, 1, 1, true), choice("a", 1, 2, 1, true), choice("b", 2, 2, 1, true),
	}
	a.Rewritten = map[string]string{"e-1": "x"}
	extracted(t, j, a)
	b := step(5, 6)
	b.Choices = []graphsync.Choice{choice("a", 2, 0, 0, false), choice("a", 1, 2, 1, false)}
	extracted(t, j, b)
	all := []graphsync.Choice{
		choice("a", 1, 1, 1, false), choice("a", 1, 2, 1, true), choice("a", 2, 0, 0, false), choice("a", 3, 3, 1, true), choice("a", 3, 3, 2, true),
	}
	for name, tt := range map[string]struct {
		upTo        int64
		skip, limit int
		want        []graphsync.Choice
	}{
		"all":              {9, 0, 9, all},
		"up to a row":      {2, 0, 9, all[:3]},
		"at most":          {9, 0, 2, all[:2]},
		"after the first":  {9, 3, 9, all[3:]},
		"beyond the last":  {9, 5, 9, nil},
		"before the first": {0, 0, 9, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, j, func(r graphsync.EvidenceReader) ([]graphsync.Choice, error) {
				return r.Choices("a", tt.upTo, tt.skip, tt.limit)
			})
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("choices differ (-want +got):\n%s", d)
			}
		})
	}
	// The second result is rewritten in a later batch.
	c := step(6, 7)
	c.Rewritten = map[string]string{"e-2": "y", "e-3": "y"}
	extracted(t, j, c)
	for _, got := range read(t, j, func(r graphsync.EvidenceReader) ([]graphsync.Choice, error) { return r.Choices("a", 9, 0, 9) }) {
		if got.Reading {
			t.Errorf("%+v is a reading of a result that models read otherwise", got)
		}
	}
}

func TestRunsAddUp(t *testing.T) {
	j := openJournal(t, nil)
	a := step(0, 1)
	a.Runs = []graphsync.Run{
		{ID: "r", Turn: "t1", Turns: []string{"t1"}, Started: testTime, Expected: 5, Stored: 2},
		{ID: "q", Turn: "t1", Turns: []string{"t1"}, Started: testTime, Expected: 1, Stored: 1},
	}
	extracted(t, j, a)
	b := step(1, 2)
	b.Runs = []graphsync.Run{
		{ID: "r", Turn: "t0", Turns: []string{"t0", "t1"}, Started: testTime.Add(-time.Hour), Completed: true, Expected: 4, Stored: 2},
		{ID: "q", Expected: 2, Stored: 1, Completed: true},
	}
	extracted(t, j, b)
	open := func() []graphsync.Run { return read(t, j, graphsync.EvidenceReader.OpenRuns) }
	want := []graphsync.Run{{
		ID: "r", Turn: "t1", Turns: []string{"t1", "t0"}, Started: testTime.Add(-time.Hour), Completed: true, Expected: 5, Stored: 4,
	}}
	if d := cmp.Diff(want, open()); d != "" {
		t.Errorf("open runs differ (-want +got):\n%s", d)
	}
	c := step(2, 3)
	c.Runs = []graphsync.Run{{ID: "r", Started: testTime, Stored: 1}}
	extracted(t, j, c)
	if got := open(); len(got) != 0 {
		t.Errorf("open runs %+v, want none", got)
	}
}

// TestAdvanceComparesAndSets begins at places that are not where the session is.
func TestAdvanceComparesAndSets(t *testing.T) {
	at := func(from, to int64, version string) graphsync.Advance {
		a := step(from, to)
		a.To.Version = version
		a.Sightings = []graphsync.Sighting{sighted(version, to, entity.SourceRule)}
		return a
	}
	first := at(0, 5, "v1")
	for name, tt := range map[string]struct {
		stored []graphsync.Advance
		next   graphsync.Advance
		moved  bool
		keys   []string
	}{
		"a new session":              {nil, first, false, []string{"v1"}},
		"a new session in its midst": {nil, at(5, 6, "v1"), true, nil},
		"on":                         {[]graphsync.Advance{first}, at(5, 6, "v1"), false, []string{"v1"}},
		"nothing new":                {[]graphsync.Advance{first}, at(5, 5, "v1"), false, []string{"v1"}},
		"too early":                  {[]graphsync.Advance{first}, at(4, 6, "v1"), true, []string{"v1"}},
		"too late":                   {[]graphsync.Advance{first}, at(6, 7, "v1"), true, []string{"v1"}},
		"again":                      {[]graphsync.Advance{first}, first, true, []string{"v1"}},
		"on by other rules":          {[]graphsync.Advance{first}, at(5, 6, "v2"), true, []string{"v1"}},
		"again by other rules":       {[]graphsync.Advance{first}, at(0, 3, "v2"), false, []string{"v2"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := openJournal(t, nil)
			var want graphsync.Progress
			for _, a := range tt.stored {
				extracted(t, j, a)
				want = a.To
			}
			err := j.Evidence().Advance(t.Context(), tt.next)
			if errors.Is(err, graphsync.ErrMoved) != tt.moved || (err != nil) != tt.moved {
				t.Fatalf("the error is %v, want ErrMoved: %t", err, tt.moved)
			}
			if !tt.moved {
				want = tt.next.To
			}
			if got := read(t, j, graphsync.EvidenceReader.Progress); !cmp.Equal(got, want) {
				t.Errorf("progress %+v, want %+v", got, want)
			}
			keys := read(t, j, func(r graphsync.EvidenceReader) ([]string, error) { return r.Keys("", 99, 9) })
			for i := range keys {
				keys[i] = strings.TrimPrefix(keys[i], "Product:text:")
			}
			if d := cmp.Diff(tt.keys, keys); d != "" {
				t.Errorf("keys differ (-want +got):\n%s", d)
			}
		})
	}
}

// filled is an Advance that adds to every table, n of each.
func filled(from int64, n int) graphsync.Advance {
	a := step(from, from+int64(n))
	for i := range int64(n) {
		row := from + i + 1
		s := sighted(fmt.Sprint("P", row), row, entity.SourceRule, "price", "reach")
		s.Result = row
		a.Sightings = append(a.Sightings, s)
		a.Choices = append(a.Choices, graphsync.Choice{Key: s.Key, Row: row, Result: row, Rule: 1, Reading: true})
		a.Results = append(a.Results, graphsync.Result{Number: row, Row: row, EventID: fmt.Sprint("e-", row), RunID: "r", CallID: "c"})
		a.Calls = append(a.Calls, graphsync.ModelCall{EventID: fmt.Sprint("m-", row), Row: row, Names: []string{fmt.Sprint("r:", row)}})
		run, turn := fmt.Sprint("r", row), fmt.Sprint("t", row)
		a.Runs = append(a.Runs, graphsync.Run{ID: run, Turn: turn, Turns: []string{turn}, Started: testTime, Expected: 1})
	}
	return a
}

// evidenceTables are those with rows of a session.
var evidenceTables = []string{
	"evidence_results", "evidence_calls", "evidence_names", "evidence_attributes", "evidence_sightings", "evidence_seen",
	"evidence_choices",
	"evidence_runs", "evidence_turns", "evidence_sessions",
}

// sizes counts the rows of all tables of the evidence.
func sizes(tb testing.TB, j *journal.Journal) map[string]int64 {
	tb.Helper()
	conn, out := connect(tb, j.Path()), make(map[string]int64)
	for _, table := range evidenceTables {
		if n := selectInt(tb, conn, "SELECT count(*) FROM "+table); n > 0 {
			out[table] = n
		}
	}
	return out
}

// TestOtherRulesBeginAnew: nothing stays of what other rules extracted, and nothing of another
// session goes.
func TestOtherRulesBeginAnew(t *testing.T) {
	j := openJournal(t, nil)
	elsewhere := filled(0, 3)
	elsewhere.Session = named("elsewhere")
	extracted(t, j, elsewhere)
	before := sizes(t, j)
	for _, table := range evidenceTables {
		if before[table] == 0 {
			t.Errorf("%s is empty: the test shows little", table)
		}
	}
	extracted(t, j, filled(0, 300))
	anew := step(0, 1)
	anew.To.Version = "v2"
	extracted(t, j, anew)
	want := maps.Clone(before)
	want["evidence_sessions"] = 2
	if d := cmp.Diff(want, sizes(t, j)); d != "" {
		t.Errorf("what is left differs (-want +got):\n%s", d)
	}
}

// TestAdvanceFailsAsAWhole stores a result twice, at the end of much else.
func TestAdvanceFailsAsAWhole(t *testing.T) {
	j := openJournal(t, nil)
	a := filled(0, 3)
	a.Runs = append(a.Runs, graphsync.Run{ID: "x", Turns: []string{"t"}})
	alter(t, j, "CREATE TRIGGER broken BEFORE INSERT ON evidence_turns WHEN NEW.turn = 't' BEGIN SELECT raise(ABORT, 'broken'); END")
	if err := j.Evidence().Advance(t.Context(), a); err == nil || !strings.Contains(err.Error(), "broken") || errors.Is(err, graphsync.ErrMoved) {
		t.Errorf("the error is %v", err)
	}
	if d := cmp.Diff(map[string]int64{}, sizes(t, j)); d != "" {
		t.Errorf("something is stored (-want +got):\n%s", d)
	}
}

// TestAdvanceOfTwoProcesses lets two handles on one file extract one session: each batch
// is stored once, and whoever comes second is told.
func TestAdvanceOfTwoProcesses(t *testing.T) {
	const batches = 40
	j := openJournal(t, nil)
	other := reopen(t, journal.Config{Journal: config.Journal{Path: j.Path()}})
	var wg sync.WaitGroup
	moved := make([]int, 2)
	for i, j := range []*journal.Journal{j, other} {
		wg.Go(func() {
			for {
				var p graphsync.Progress
				err := j.Evidence().View(t.Context(), testSession, func(r graphsync.EvidenceReader) (err error) {
					p, err = r.Progress()
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
				if p.Watermark >= batches {
					return
				}
				switch err := j.Evidence().Advance(t.Context(), filled(p.Watermark, 1)); {
				case errors.Is(err, graphsync.ErrMoved):
					moved[i]++
				case err != nil:
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("the first was told %d times that the other had been faster, the second %d times", moved[0], moved[1])
	if got := sizes(t, j); got["evidence_sightings"] != batches || got["evidence_results"] != batches || got["evidence_sessions"] != 1 {
		t.Errorf("%v, want %d batches", got, batches)
	}
}

// TestViewIsOneMoment advances in the middle of a View.
func TestViewIsOneMoment(t *testing.T) {
	j := openJournal(t, nil)
	extracted(t, j, filled(0, 1))
	var kept graphsync.EvidenceReader
	view(t, j, func(r graphsync.EvidenceReader) error {
		kept = r
		extracted(t, j, filled(1, 1))
		appendAll(t, j, event(testSession, "r", 1, record.UserMessageReceived))
		flush(t, j)
		keys, err := r.Keys("", 99, 9)
		if p, _ := r.Progress(); err != nil || len(keys) != 1 || p.Watermark != 1 {
			t.Errorf("keys %q up to row %d, %v, want what there was at the beginning", keys, p.Watermark, err)
		}
		if last, err := r.LastRow(); last != 0 || err != nil {
			t.Errorf("the last row is %d, %v, want none", last, err)
		}
		return err
	})
	if _, err := kept.Keys("", 99, 9); err == nil {
		t.Error("a reader reads after its View")
	}
	if _, err := kept.Rows(0, 9); err == nil {
		t.Error("a reader reads rows after its View")
	}
	if keys := read(t, j, func(r graphsync.EvidenceReader) ([]string, error) { return r.Keys("", 99, 9) }); len(keys) != 2 {
		t.Errorf("keys %q, want two", keys)
	}
}

// TestViewGivesItsConnectionBack ends views in every way, on the only connection.
func TestViewGivesItsConnectionBack(t *testing.T) {
	j := openJournal(t, func(c *journal.Config) { c.Readers = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	broken := errors.New("broken")
	for name, end := range map[string]func() error{
		"error":   func() error { return broken },
		"panic":   func() error { panic(broken) },
		"context": func() error { cancel(); return ctx.Err() },
	} {
		func() {
			defer func() {
				if p := recover(); (p != nil) != (name == "panic") {
					t.Errorf("%s: panic: %v", name, p)
				}
			}()
			err := j.Evidence().View(ctx, testSession, func(r graphsync.EvidenceReader) error { return end() })
			if !errors.Is(err, broken) && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		}()
		if name == "context" {
			ctx = t.Context()
		}
	}
	extracted(t, j, filled(0, 1))
	if p := read(t, j, graphsync.EvidenceReader.Progress); p.Watermark != 1 {
		t.Errorf("progress %+v: the connection still reads what there was", p)
	}
}

func TestEvidenceReadsRows(t *testing.T) {
	j := openJournal(t, nil)
	other := event(named("other"), "o", 1, "X")
	rows := []record.Event{event(testSession, "r", 1, "X"), event(testSession, "r", 2, "X"), other, event(testSession, "r", 3, "X")}
	appendAll(t, j, rows...)
	flush(t, j)
	view(t, j, func(r graphsync.EvidenceReader) error {
		if p, err := r.Progress(); err != nil || !cmp.Equal(p, graphsync.Progress{}) {
			t.Errorf("progress %+v, %v, want none", p, err)
		}
		if last, err := r.LastRow(); last != 4 || err != nil {
			t.Errorf("the last row is %d, %v, want 4", last, err)
		}
		some, err := r.Rows(1, 1)
		if err != nil || len(some) != 1 || some[0].EventID != rows[1].EventID || some[0].Session() != testSession {
			t.Errorf("rows %+v, %v, want the second", some, err)
		}
		e, ok, err := r.Row(other.EventID)
		if err != nil || !ok || e.Session() != other.Session() || e.Seq != 3 {
			t.Errorf("row %+v, %t, %v, want that of the other session", e, ok, err)
		}
		_, ok, err = r.Row("unknown")
		if ok || err != nil {
			t.Errorf("an unknown row: %t, %v", ok, err)
		}
		return nil
	})
}

// TestDamagedEvidenceIsAnError puts something else where the lists of evidence are.
func TestDamagedEvidenceIsAnError(t *testing.T) {
	price := func(r graphsync.EvidenceReader) error {
		_, err := r.Sightings("Product:text:P1", "price", true, 9, 0, 1)
		return err
	}
	calls := func(r graphsync.EvidenceReader) error {
		_, err := r.ModelCalls("r:1")
		return err
	}
	for statement, look := range map[string]func(r graphsync.EvidenceReader) error{
		"UPDATE evidence_sightings SET norm = '{'":        price,
		"UPDATE evidence_sightings SET attributes = '[]'": price,
		"UPDATE evidence_sightings SET echoes = '{}'":     price,
		"UPDATE evidence_calls SET results = '[1]'":       calls,
		"UPDATE evidence_calls SET results = '{'":         calls,
	} {
		j := openJournal(t, nil)
		extracted(t, j, filled(0, 1))
		view(t, j, look)
		alter(t, j, statement)
		if err := j.Evidence().View(t.Context(), testSession, look); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v, want it said", statement, err)
		}
	}
}

// TestKeysOfRowsInAnyOrder finds a thing from its first row on, wherever that stands.
func TestKeysOfRowsInAnyOrder(t *testing.T) {
	j := openJournal(t, nil)
	keys := func(upTo int64) int {
		return len(read(t, j, func(r graphsync.EvidenceReader) ([]string, error) { return r.Keys("", upTo, 9) }))
	}
	a := step(0, 9)
	a.Sightings = []graphsync.Sighting{sighted("A", 9, entity.SourceRule), sighted("A", 4, entity.SourceRule)}
	extracted(t, j, a)
	if before, after := keys(3), keys(4); before != 0 || after != 1 {
		t.Errorf("%d keys up to row 3 and %d up to row 4, want 0 and 1", before, after)
	}
	b := step(9, 10)
	b.Sightings = []graphsync.Sighting{sighted("A", 2, entity.SourceRule)}
	extracted(t, j, b)
	if before, after := keys(1), keys(2); before != 0 || after != 1 {
		t.Errorf("%d keys up to row 1 and %d up to row 2, want 0 and 1", before, after)
	}
}
