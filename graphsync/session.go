// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Session is the fold of the rows of one session: what they show by the rules of an [Extractor]. It
// is made of the rows alone, so the same rows give the same Session. It keeps what the rows show,
// and not the rows. All methods are safe for concurrent use.
type Session struct {
	x      *Extractor
	counts Counts
	rows   []rowOf
	at     map[string]int // place in rows by event id

	// begun has the latest row that began a call, by the key of its span.
	begun    map[string]*begun
	declared declarations           // of calls under way
	results  []*result              // by number, from 1
	bearing  map[string]*result     // by the id of the row that brought it
	same     map[answer]*sameAnswer // by call id and digest
	calls    []*modelCall
	named    map[string][]*modelCall // by name
	runs     map[string]*sessionRun
	order    []*sessionRun // by their first rows

	things  map[string]*seenThing // by the identity of the thing
	choices map[string][]*Choice  // by the identity of the thing
	found   map[string][]*sighted // by a model, by the identity of the thing

	// bytes is about the size of all this in memory.
	bytes int64
	// spans is nil where nobody needs the graph.
	spans *spans
}

// Counts says what a [Session] was made of.
type Counts struct {
	// Watermark is the number of the last row. Rows counts the rows, Failed those that gave nothing
	// because of an error, Truncated those that rules read although some of their content is lost.
	Watermark int64
	Rows      int
	Failed    int
	Truncated int
	// Error is the first error, for people.
	Error string
	// Unmatched counts what requests of models held and no row on record explains.
	Unmatched int
	// Rules says what the rules read and found. It lacks those that read no row.
	Rules []Tally
	// Tools are the tools that were called, sorted.
	Tools []string
	// Rewritten are the tools whose results models read in another form than the record has,
	// sorted.
	Rewritten []string
}

// Rule returns what the rule with a name read and found.
func (c Counts) Rule(name string) Tally {
	for _, t := range c.Rules {
		if t.Rule == name {
			return t
		}
	}
	return Tally{Rule: name}
}

// rowOf is what a session keeps of each row.
type rowOf struct {
	seq, time int64 // its number, and its time in microseconds
	id        string
	run       *sessionRun // nil without a run
}

// begun is a row that began a call.
type begun struct {
	id  string
	row *record.Event // nil after the call ended
}

// result is a call that ended.
type result struct {
	number int64
	// row is the number of the row that ended the call, start that of the row that began it. start is
	// 0 if the record does not have it: such a result supersedes nothing.
	row, start int64
	// began is the digest of the row at start: its tool and its arguments.
	began  digest
	call   string
	digest string // of the response as models read it; "" if the row lacks it
	// failed says that the call failed or was refused.
	failed    bool
	sightings []*sighted
	choices   []*Choice
}

// answer is what a request of a model says of a result.
type answer struct{ call, digest string }

// sameAnswer has the results that one answer may be, in order. Nobody can tell which of them a model
// read if they are of calls with different arguments.
type sameAnswer struct {
	results []*result
	mixed   bool
}

// digest is a part of a SHA-256, zero for nothing.
type digest [16]byte

func digestOf(content []byte) (d digest) {
	if len(content) > 0 {
		sum := sha256.Sum256(content)
		copy(d[:], sum[:])
	}
	return d
}

// sighted is one thing that one row shows or names.
type sighted struct {
	entity.Entity
	// row is the number of the row that recorded it, start the number of the row at which its reading
	// began; 0 means unknown.
	row, start int64
	// result is the number of the result that shows it; 0 where none does.
	result int64
}

// seenThing has the sightings of one thing.
type seenThing struct {
	names []string              // of attributes, sorted; "" stands for a sighting without any
	of    map[string][]*sighted // by attribute, in the order of their rows
	first int64                 // the least row
}

// rest gives what a fold needs beside the row at hand.
type rest interface {
	// row returns a row that was added before; false if it is gone.
	row(eventID string) (record.Event, bool, error)
	// child returns the fold of the session of an agent that ran as a tool.
	child(record.Session) (*Session, error)
}

func newSession(x *Extractor) *Session {
	return &Session{
		x: x, at: make(map[string]int), begun: make(map[string]*begun), declared: make(declarations), bearing: make(map[string]*result), same: make(map[answer]*sameAnswer),
		named: make(map[string][]*modelCall), runs: make(map[string]*sessionRun), things: make(map[string]*seenThing),
		choices: make(map[string][]*Choice), found: make(map[string][]*sighted), bytes: sizeOfSession,
	}
}

// Counts returns what the session was made of.
func (s *Session) Counts() Counts {
	c := s.counts
	c.Rules, c.Tools, c.Rewritten = slices.Clone(c.Rules), slices.Clone(c.Tools), slices.Clone(c.Rewritten)
	return c
}

// Sizes in memory, about, for the limit of the cache.
const (
	sizeOfSession  = 2048
	sizeOfRow      = 160
	sizeOfSighting = 640
	sizeOfResult   = 320
	sizeOfChoice   = 128
)

// add adds the next row, in time that depends on the row alone. After an error it has added nothing.
func (s *Session) add(e *record.Event, others rest) error {
	attrs, node := attributesOf(e), RowNodeKey(e)
	start, err := s.started(e, attrs, node, others)
	if err != nil {
		return err
	}
	var of basis
	if child, ran := schema.ChildSession(e); ran {
		fold, err := others.child(child)
		if err != nil {
			return fmt.Errorf("session %s, which ran as a tool: %w", child.ID, err)
		}
		of = fold.basis(child)
	}
	var about *record.Event
	if _, known := s.at[attrs.ADK.Of]; known && e.EventType == record.EntitiesFound {
		row, ok, err := others.row(attrs.ADK.Of)
		if err != nil {
			return err
		}
		if ok {
			about = &row
		}
	}
	run := s.addRow(e)
	switch e.EventType {
	case record.ToolStarting:
		row := *e // and not the memory of the rows around it
		s.begun[node] = &begun{id: e.EventID, row: &row}
	case record.EntitiesDeclared:
		s.declared.add(e, attrs)
	case record.EntitiesFound:
		if about != nil {
			s.find(e, attrs, about)
		}
	case record.LLMResponse:
		if !attrs.ADK.Partial {
			s.modelCall(e, attrs)
		}
	case record.AgentResponse:
		if attrs.ADK.AnswerOf != "" && attrs.ADK.SourceEventID != "" {
			s.nameCall(attrs.ADK.AnswerOf, "e:"+attrs.ADK.SourceEventID)
		}
	case record.ToolResultRewritten:
		s.counts.Rewritten = insertNew(s.counts.Rewritten, toolName(e.Content))
		// The present values in a refusal are true, whatever models read. But if a model got the refusal
		// in other words, nobody has read it.
		if r := s.bearing[attrs.ADK.Of]; r != nil {
			s.rewritten(r, attrs.ADK.Result)
		}
	}
	if isTool(e.EventType) {
		if name := toolName(e.Content); name != "" {
			s.counts.Tools = insertNew(s.counts.Tools, name)
		}
	}
	var r *result
	if endsReading(e, attrs) {
		r = s.result(e, attrs, start, run)
	}
	var pending []json.RawMessage
	if endsCall(e.EventType) {
		pending = s.declared.take(e, attrs)
	}
	read, err := s.x.row(e, start, pending)
	s.counts.Rules = tallied(s.counts.Rules, read.rules, read.rule, err)
	// The calls in an answer tie the results of tools to the steps before them.
	if e.IsTruncated && (read.relevant || e.EventType == record.LLMResponse) {
		s.counts.Truncated++
	}
	var seen []entity.Entity
	if err != nil {
		s.failed(1, (&RowError{EventID: e.EventID, Rule: read.rule, Err: err}).Error())
	} else {
		seen = bySource(e, node, read.entities)
		s.see(e, seen, read.choices, r)
		if r != nil {
			s.inherit(of, r)
		}
	}
	if s.spans != nil {
		s.spans.add(e, node, attrs, seen)
	}
	return nil
}

// find adds what a model found in another row of the session. It counts from that row on.
func (s *Session) find(e *record.Event, attrs *schema.Attributes, about *record.Event) {
	at := s.at[about.EventID]
	found, err := readEntities([]json.RawMessage{attrs.Entities}, entity.SourceModel)
	if err != nil {
		s.failed(1, (&RowError{EventID: e.EventID, Err: err}).Error())
		return
	}
	found = mergeRow(placed(about, RowNodeKey(about), found))
	for _, en := range found {
		key := en.Identity()
		s.found[key] = append(s.found[key], &sighted{Entity: en, row: s.rows[at].seq})
		s.bytes += sizeOfSighting
	}
	if s.spans != nil {
		s.spans.find(at, found)
	}
}

// addRow adds what is kept of every row, and returns its run.
func (s *Session) addRow(e *record.Event) *sessionRun {
	var run *sessionRun
	if e.RunID != "" {
		if run = s.runs[e.RunID]; run == nil {
			run = &sessionRun{Run: Run{ID: e.RunID, Started: e.Time(), First: e.Seq}, began: digestOf(e.Content)}
			s.runs[e.RunID] = run
			s.order = append(s.order, run)
		}
		run.add(e)
	}
	s.at[e.EventID] = len(s.rows)
	s.rows = append(s.rows, rowOf{e.Seq, e.Timestamp, e.EventID, run})
	s.counts.Watermark = e.Seq
	s.counts.Rows++
	s.bytes += sizeOfRow
	return run
}

// failed counts rows that gave nothing.
func (s *Session) failed(n int, err string) {
	s.counts.Failed += n
	s.counts.Error = cmp.Or(s.counts.Error, err)
}

// started returns the row that began the call which e ends; nil where the record does not say it.
func (s *Session) started(e *record.Event, attrs *schema.Attributes, node string, others rest) (*record.Event, error) {
	if !endsCall(e.EventType) {
		return nil, nil
	}
	b, id := s.begun[node], attrs.ADK.Started
	switch {
	case b == nil && id == "":
		return nil, nil
	case b != nil && (id == "" || id == b.id):
		id = b.id
		if row := b.row; row != nil {
			b.row = nil
			return row, nil
		}
	}
	if _, known := s.at[id]; !known {
		return nil, nil
	}
	row, ok, err := others.row(id)
	if err != nil || !ok || row.EventType != record.ToolStarting {
		return nil, err
	}
	return &row, nil
}

// result adds the result that a row brings.
func (s *Session) result(e *record.Event, attrs *schema.Attributes, start *record.Event, run *sessionRun) *result {
	r := &result{
		number: int64(len(s.results)) + 1, row: e.Seq, call: attrs.ADK.CallID(), digest: attrs.ADK.Result, failed: e.EventType == record.ToolError,
	}
	switch {
	case start != nil:
		r.start, r.began = start.Seq, digestOf(start.Content)
	case e.EventType == record.HITLInputRequestCompleted: // a person said it there and then
		r.start, r.began = e.Seq, digestOf(e.Content)
	case e.EventType == record.NodeOutput && run != nil: // a node began after its run
		r.start, r.began = run.First, run.began
	}
	s.results = append(s.results, r)
	s.bearing[e.EventID] = r
	if run != nil {
		run.results = append(run.results, r)
	}
	s.answered(r)
	s.bytes += sizeOfResult
	return r
}

// answered lets requests of models find a result.
func (s *Session) answered(r *result) {
	if r.digest == "" {
		return
	}
	key := answer{r.call, r.digest}
	same := s.same[key]
	if same == nil {
		same = new(sameAnswer)
		s.same[key] = same
	}
	if len(same.results) > 0 && same.results[0].began != r.began {
		same.mixed = true
	}
	i := len(same.results)
	for i > 0 && same.results[i-1].number > r.number {
		i--
	}
	same.results = slices.Insert(same.results, i, r)
}

// rewritten makes what a result shows no reading, because models read something else. What the tool
// itself declared stays.
func (s *Session) rewritten(r *result, digest string) {
	if r.failed {
		return
	}
	if same := s.same[answer{r.call, r.digest}]; same != nil {
		same.results = slices.DeleteFunc(same.results, func(other *result) bool { return other == r })
		same.mixed = slices.ContainsFunc(same.results, func(other *result) bool { return other.began != same.results[0].began })
	}
	r.digest = digest
	s.answered(r)
	for _, seen := range r.sightings {
		if seen.Source == entity.SourceRule {
			seen.Source = entity.SourceClaim
		}
	}
	for _, c := range r.choices {
		c.Reading = false
	}
}

// see adds what a row shows.
func (s *Session) see(e *record.Event, found []entity.Entity, choices []Choice, r *result) {
	for _, en := range found {
		seen := &sighted{Entity: en, row: e.Seq}
		if r != nil {
			seen.start = r.start
		}
		s.sight(seen, r)
	}
	for _, c := range choices {
		c.Row = e.Seq
		s.choose(c, r)
	}
}

func (s *Session) sight(seen *sighted, r *result) {
	if r != nil {
		seen.result = r.number
		r.sightings = append(r.sightings, seen)
	}
	key := seen.Identity()
	thing := s.things[key]
	if thing == nil {
		thing = &seenThing{of: make(map[string][]*sighted), first: seen.row}
		s.things[key] = thing
	}
	thing.first = min(thing.first, seen.row)
	if len(seen.Attributes) == 0 {
		thing.add("", seen)
	}
	for name := range seen.Attributes {
		thing.add(name, seen)
	}
	s.bytes += sizeOfSighting
}

func (t *seenThing) add(name string, seen *sighted) {
	list, known := t.of[name]
	if !known {
		i, _ := slices.BinarySearch(t.names, name)
		t.names = slices.Insert(t.names, i, name)
	}
	i := len(list) // what an agent that ran as a tool saw stands before the row of the tool
	for i > 0 && list[i-1].row > seen.row {
		i--
	}
	t.of[name] = slices.Insert(list, i, seen)
}

func (s *Session) choose(c Choice, r *result) {
	if r != nil {
		c.Result = r.number
	}
	list := s.choices[c.Key]
	i, known := slices.BinarySearchFunc(list, c, func(a *Choice, b Choice) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Result, b.Result), cmp.Compare(a.Rule, b.Rule))
	})
	if known {
		list[i].Reading = list[i].Reading || c.Reading
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

// insertNew inserts a text into a sorted list that lacks it.
func insertNew(list []string, text string) []string {
	if i, known := slices.BinarySearch(list, text); !known {
		return slices.Insert(list, i, text)
	}
	return list
}

// endsReading reports whether a row brings a result that a step can read.
func endsReading(e *record.Event, attrs *schema.Attributes) bool {
	switch e.EventType {
	case record.ToolCompleted, record.ToolError, record.NodeOutput:
		return true
	case record.HITLInputRequestCompleted:
		return accepted(attrs)
	}
	return false
}

// accepted reports whether the row of an answer says that it was taken.
func accepted(attrs *schema.Attributes) bool {
	taken := attrs.ADK.Accepted.Bool()
	return taken != nil && *taken
}

// attributesOf reads attributes. What cannot be read is empty: then nothing was read and nothing
// supersedes. It is extraction that must not overlook a bad row, and it does not.
func attributesOf(e *record.Event) *schema.Attributes {
	a := new(schema.Attributes)
	_ = a.Read(e.Attributes)
	return a
}
