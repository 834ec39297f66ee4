// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Evidence extracts what the rows of sessions show, each row once, and selects what a
// decision rests on. It is safe for concurrent use, also by several processes that share a
// store: whoever comes first extracts a row, and the others go on behind it.
type Evidence struct {
	// Tallied is called after each extraction with what the rules have read and found in the
	// session so far; nil calls nothing. Several goroutines may call it at once. It must not block,
	// and is set before the first extraction.
	Tallied func(record.Session, []Tally)

	store   EvidenceStore
	extract *Extractor
	// busy lets one call of this process at a time extract the rows of a session. The others would
	// extract the same, so they wait.
	busy busy
}

// NewEvidence returns the evidence in a store. A nil Extractor finds declared entities only.
func NewEvidence(store EvidenceStore, x *Extractor) *Evidence {
	return &Evidence{store: store, extract: x}
}

// advanceRows bounds the rows that one [Advance] is made from.
const advanceRows = 500

// maxNested bounds how deep agents run as tools of agents that run as tools.
const maxNested = 16

// errNested is for a record that says so of itself.
var errNested = fmt.Errorf("agents run as tools more than %d deep", maxNested)

// CatchUp extracts the stored rows of a session that were not extracted. A row that cannot
// be read is no error: the progress counts it.
func (ev *Evidence) CatchUp(ctx context.Context, s record.Session) error {
	return ev.extractAll(ctx, s, false)
}

// Follow is CatchUp for whoever extracts before anybody asks. Where other rules extracted
// last it does nothing: another process that goes by them would only take it back, and the
// two would go on like that.
func (ev *Evidence) Follow(ctx context.Context, s record.Session) error {
	return ev.extractAll(ctx, s, true)
}

func (ev *Evidence) extractAll(ctx context.Context, s record.Session, yield bool) error {
	if err := ev.catchUp(ctx, s, 0, yield); err != nil {
		return fmt.Errorf("extract the rows of session %s: %w", s.ID, err)
	}
	return nil
}

func (ev *Evidence) catchUp(ctx context.Context, s record.Session, depth int, yield bool) error {
	if depth > maxNested {
		return errNested
	}
	if depth == 0 { // who holds one session and waits for another might wait for ever
		release, err := ev.busy.acquire(ctx, s)
		if err != nil {
			return err
		}
		defer release()
	}
	begun := make(map[string]*record.Event)
	for anew := 0; ; {
		b := &batch{ev: ev, session: s, begun: begun}
		err := ev.store.View(ctx, s, func(r EvidenceReader) error {
			if err := b.read(r, advanceRows); err != nil || b.ranAgents() {
				return err
			}
			return b.build(r)
		})
		if err != nil {
			return err
		}
		if len(b.rows) == 0 || yield && b.anew {
			return nil
		}
		if b.anew {
			if anew++; anew > 1 { // somebody who goes by other rules is at it too
				if err := pause(ctx, anew); err != nil {
					return err
				}
			}
		}
		if b.ranAgents() {
			if err := b.nested(ctx, depth); err != nil {
				return err
			}
			if err := ev.store.View(ctx, s, b.build); err != nil {
				return err
			}
		}
		err = ev.store.Advance(ctx, b.out)
		if errors.Is(err, ErrMoved) {
			continue
		}
		if err != nil {
			return err
		}
		ev.tell(b)
		if len(b.rows) < advanceRows && !b.anew {
			return nil // rows that came meanwhile were not asked for
		}
	}
}

// tell says what the rules have found after b.
func (ev *Evidence) tell(b *batch) {
	if ev.Tallied != nil {
		ev.Tallied(b.session, b.out.To.Rules)
	}
}

// settleRows and settleBytes bound the rows that are extracted while everybody who records waits,
// and the bytes of their content.
const (
	settleRows  = 64
	settleBytes = 256 << 10
)

// settle stores the rows of a session that wait, and extracts all that are stored. It does both at
// once where they are few.
func (ev *Evidence) settle(ctx context.Context, s record.Session) error {
	release, err := ev.busy.acquire(ctx, s)
	if err != nil {
		return err
	}
	b := &batch{ev: ev, session: s, begun: make(map[string]*record.Event)}
	settled := false
	err = ev.store.Settle(ctx, s, func(r EvidenceReader) (Advance, bool, error) {
		if err := b.read(r, settleRows+1); err != nil {
			return Advance{}, false, err
		}
		if settled = len(b.rows) == 0 && !b.anew; settled || b.long() || b.anew || b.ranAgents() {
			return Advance{}, false, nil
		}
		if err := b.build(r); err != nil {
			return Advance{}, false, err
		}
		settled = true
		return b.out, true, nil
	})
	release()
	switch {
	case err != nil && !errors.Is(err, ErrMoved):
		return err
	case err == nil && settled:
		if len(b.rows) > 0 {
			ev.tell(b)
		}
		return nil
	}
	return ev.CatchUp(ctx, s)
}

// long reports whether the rows are too many to be extracted while others wait.
func (b *batch) long() bool {
	size := 0
	for i := range b.rows {
		size += len(b.rows[i].Content)
	}
	return len(b.rows) > settleRows || size > settleBytes
}

// longestPause bounds how long an extraction waits for another one.
const longestPause = time.Second

// pause waits at random, and on the average twice as long each time, so that one of two
// comes to an end.
func pause(ctx context.Context, times int) error {
	t := time.NewTimer(rand.N(min(time.Millisecond<<min(times, 10), longestPause)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// batch makes an [Advance] from the next rows of a session.
type batch struct {
	ev      *Evidence
	session record.Session
	reader  EvidenceReader
	rows    []record.Event
	out     Advance
	// anew says that other rules extracted what is stored.
	anew bool
	// begun has the rows that began calls, by the key of their span, for rows that do not name
	// theirs. children has the basis of agents that ran as tools, by the row of the tool.
	begun    map[string]*record.Event
	declared declarations // of the rows so far
	children map[string]basisOfChild
	runs     map[string]*Run
}

// read takes the next rows, at most limit.
func (b *batch) read(r EvidenceReader, limit int) error {
	p, err := r.Progress()
	if err != nil {
		return err
	}
	if version := b.ev.extract.Version(); p.Version != version {
		b.anew = p.Watermark > 0
		p = Progress{Version: version}
	}
	b.out = Advance{Session: b.session, From: p.Watermark, To: p, Names: make(map[string]string), Rewritten: make(map[string]string)}
	b.rows, err = r.Rows(p.Watermark, limit)
	return err
}

// ranAgents reports whether agents ran as tools. Their sessions have to be extracted first.
func (b *batch) ranAgents() bool {
	return slices.ContainsFunc(b.rows, func(e record.Event) bool { return b.ranAgent(&e) })
}

func (b *batch) ranAgent(e *record.Event) bool {
	if e.EventType != record.ToolCompleted {
		return false
	}
	child, ok := childSession(e)
	return ok && child != b.session
}

// nested brings the sessions of agents that ran as tools up to date, and takes what they
// rest on.
func (b *batch) nested(ctx context.Context, depth int) error {
	b.children = make(map[string]basisOfChild)
	for i := range b.rows {
		e := &b.rows[i]
		if !b.ranAgent(e) {
			continue
		}
		child, _ := childSession(e)
		basis, err := b.ev.basisOfChild(ctx, child, depth+1)
		if err != nil {
			return fmt.Errorf("session %s, which ran as a tool: %w", child.ID, err)
		}
		b.children[e.EventID] = basis
		b.out.Children = append(b.out.Children, child)
	}
	return nil
}

// build extracts the rows.
func (b *batch) build(r EvidenceReader) error {
	b.reader, b.runs, b.declared = r, make(map[string]*Run), make(declarations)
	b.out.Results, b.out.Calls, b.out.Sightings, b.out.Choices, b.out.Runs = nil, nil, nil, nil, nil
	for i := range b.rows {
		if err := b.row(&b.rows[i]); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.runs)) {
		b.out.Runs = append(b.out.Runs, *b.runs[id])
	}
	return nil
}

// row adds one row.
func (b *batch) row(e *record.Event) error {
	p := &b.out.To
	p.Watermark, p.Rows = e.Seq, p.Rows+1
	b.run(e)
	attrs := attributesOf(e)
	var result *Result
	switch e.EventType {
	case record.ToolStarting:
		b.begun[RowNodeKey(e)] = e
	case record.EntitiesDeclared:
		b.declared.add(e, attrs)
	case record.LLMResponse:
		if !attrs.ADK.Partial {
			if err := b.modelCall(e, attrs); err != nil {
				return err
			}
		}
	case record.AgentResponse:
		if attrs.ADK.AnswerOf != "" && attrs.ADK.SourceEventID != "" {
			b.out.Names["e:"+attrs.ADK.SourceEventID] = attrs.ADK.AnswerOf
		}
	case record.ToolResultRewritten:
		if i, known := slices.BinarySearch(p.Rewritten, toolName(e.Content)); !known {
			p.Rewritten = slices.Insert(slices.Clip(p.Rewritten), i, toolName(e.Content))
		}
		if failed, err := b.failed(attrs.ADK.Of); err != nil {
			return err
		} else if !failed {
			b.rewritten(attrs.ADK.Of, attrs.ADK.Result)
		}
	}
	start, err := b.started(e, attrs)
	if err != nil {
		return err
	}
	if endsReading(e, attrs) {
		result = b.result(e, attrs, start)
	}
	var pending []json.RawMessage
	if endsCall(e.EventType) {
		if pending, err = b.pending(e, attrs, start); err != nil {
			return err
		}
	}
	read, err := b.ev.extract.row(e, start, pending)
	p.Rules = tallied(p.Rules, read.rules, read.rule, err)
	// The calls in an answer tie the results of tools to the steps before them.
	if e.IsTruncated && (read.relevant || e.EventType == record.LLMResponse) {
		p.Truncated++
	}
	if err != nil {
		p.Failed++
		if p.Error == "" {
			p.Error = (&RowError{EventID: e.EventID, Rule: read.rule, Err: err}).Error()
		}
		return nil
	}
	for _, found := range bySource(e, read.entities) {
		b.see(Sighting{Entity: found, Row: e.Seq}, result)
	}
	for _, c := range read.choices {
		c.Row = e.Seq
		if result != nil {
			c.Result = result.Number
		}
		b.out.Choices = append(b.out.Choices, c)
	}
	if child, ran := b.children[e.EventID]; ran && result != nil {
		for _, s := range child.sightings {
			s.Result = result.Number
			b.out.Sightings = append(b.out.Sightings, s)
		}
		for _, c := range child.choices {
			c.Result = result.Number
			b.out.Choices = append(b.out.Choices, c)
		}
		p.Failed, p.Truncated, p.Error = p.Failed+child.failed, p.Truncated+child.truncated, cmp.Or(p.Error, child.err)
	}
	return nil
}

func (b *batch) see(s Sighting, result *Result) {
	s.Key = s.Identity()
	if result != nil {
		s.Start, s.Result = result.Start, result.Number
	}
	b.out.Sightings = append(b.out.Sightings, s)
}

// run counts the row for its run.
func (b *batch) run(e *record.Event) {
	if e.RunID == "" {
		return
	}
	r := b.runs[e.RunID]
	if r == nil {
		r = &Run{ID: e.RunID, Started: e.Time(), First: e.Seq}
		b.runs[e.RunID] = r
	}
	r.add(e)
	if e.RunSeq > 0 {
		r.Stored++
	}
}

// result adds the result that a row brings.
func (b *batch) result(e *record.Event, attrs *schema.Attributes, start *record.Event) *Result {
	b.out.To.Results++
	r := Result{
		Number: b.out.To.Results, Row: e.Seq, EventID: e.EventID, RunID: e.RunID,
		CallID: attrs.ADK.CallID(), Digest: attrs.ADK.Result,
	}
	switch {
	case start != nil:
		r.Start = start.Seq
	case e.EventType == record.HITLInputRequestCompleted:
		r.Start = e.Seq // a person said it there and then
	case e.EventType == record.NodeOutput:
		r.Start = b.firstOf(e) // a node began after its run
	}
	b.out.Results = append(b.out.Results, r)
	return &b.out.Results[len(b.out.Results)-1]
}

// firstOf returns the number of the first row of the run of e.
func (b *batch) firstOf(e *record.Event) int64 {
	if run, known, err := b.reader.Run(e.RunID); err == nil && known {
		return run.First
	}
	if r := b.runs[e.RunID]; r != nil {
		return r.First
	}
	return 0
}

// started returns the row that began the call which e ends; nil where the record does not
// say it.
func (b *batch) started(e *record.Event, attrs *schema.Attributes) (*record.Event, error) {
	if !endsCall(e.EventType) {
		return nil, nil
	}
	if attrs.ADK.Started == "" {
		return b.begun[RowNodeKey(e)], nil
	}
	begun := func(o *record.Event) bool { return o.EventType == record.ToolStarting && o.Seq < e.Seq }
	if i := slices.IndexFunc(b.rows, func(o record.Event) bool { return o.EventID == attrs.ADK.Started }); i >= 0 {
		if begun(&b.rows[i]) {
			return &b.rows[i], nil
		}
		return nil, nil
	}
	row, ok, err := b.reader.Row(attrs.ADK.Started)
	if err != nil || !ok || row.Session() != e.Session() || !begun(&row) {
		return nil, err
	}
	return &row, nil
}

// pending returns what the call has declared that e ends. Its rows may have been extracted before,
// as far back as the row that began the call. If e names that row and the record lacks it, nobody
// can tell how far.
func (b *batch) pending(e *record.Event, attrs *schema.Attributes, start *record.Event) ([]json.RawMessage, error) {
	switch {
	case start == nil && attrs.ADK.Started != "":
		return nil, nil
	case start == nil || start.Seq > b.out.From:
		return b.declared.of(e, attrs), nil
	}
	before := make(declarations)
	for after := start.Seq; after < b.out.From; {
		rows, err := b.reader.Rows(after, advanceRows)
		if err != nil {
			return nil, err
		}
		after = b.out.From // unless there are more
		for i := range rows {
			if rows[i].EventType == record.EntitiesDeclared && rows[i].Seq <= b.out.From {
				before.add(&rows[i], attributesOf(&rows[i]))
			}
			after = rows[i].Seq
		}
	}
	return append(before.of(e, attrs), b.declared.of(e, attrs)...), nil
}

// rewritten makes what a result shows no reading, because models read something else.
// What the tool itself declared stays.
func (b *batch) rewritten(eventID, digest string) {
	i := slices.IndexFunc(b.out.Results, func(r Result) bool { return r.EventID == eventID })
	if i < 0 {
		b.out.Rewritten[eventID] = digest
		return
	}
	b.out.Results[i].Digest = digest
	for j := range b.out.Sightings {
		if s := &b.out.Sightings[j]; s.Result == b.out.Results[i].Number && s.Source == entity.SourceRule {
			s.Source = entity.SourceClaim
		}
	}
	for j := range b.out.Choices {
		if c := &b.out.Choices[j]; c.Result == b.out.Results[i].Number {
			c.Reading = false
		}
	}
}

// finished gives the entities of a row their place, each type and value once.
func finished(e *record.Event, found []entity.Entity) []entity.Entity {
	return mergeRow(placed(e, found))
}

// bySource is finished, but keeps apart what different sources say: of a result that models
// read otherwise only what the tool declared is a reading.
func bySource(e *record.Event, found []entity.Entity) (out []entity.Entity) {
	found = placed(e, found)
	for len(found) > 0 {
		source := found[0].Source
		var same, others []entity.Entity
		for _, en := range found {
			if en.Source == source {
				same = append(same, en)
			} else {
				others = append(others, en)
			}
		}
		out, found = append(out, mergeRow(same)...), others
	}
	return out
}

func placed(e *record.Event, found []entity.Entity) []entity.Entity {
	node := RowNodeKey(e)
	for i := range found {
		en := &found[i]
		en.EventID, en.TechNode, en.SpanID, en.SeenAt = e.EventID, node, e.SpanID, e.Time()
	}
	return found
}
