// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	paused   map[string]paused      // long-running calls that nobody has answered, by id
	results  []*result              // by number, from 1, in the order of their rows
	same     map[shownKey][]*result // by tool and digest, in the order of their rows
	noRow    map[record.Shown]*noRow
	early    map[shownKey]int64  // the numbers of values that a request showed before a row had them, from -1 down
	outputs  map[string][]output // by digest, in the order of their rows
	calls    []modelCall         // in the order of their rows
	named    map[string]int      // place in calls by the ids of the calls that they ask for
	runs     map[string]*sessionRun
	closed   []closing
	order    []*sessionRun // by their first rows

	things  map[string]*seenThing // by the identity of the thing
	choices map[string][]*choice  // by the identity of the thing
	found   map[string][]found    // by a model, by the identity of the thing
	lost    []*lost               // in the order of their rows
	fits    map[*compiled]int64   // the first row of which a rule read all that it should
	// left are the runs that the rewinds of the branch left, sorted; their rows are not added.
	left []string
	// executed are the approved calls that ran to their end, in the order of their rows.
	executed []execution

	// bytes is about the size of all this in memory.
	bytes int64
	// spans is nil where nobody needs the graph.
	spans *spans
}

// rowOf is what a session keeps of each row.
type rowOf struct {
	seq, time int64 // its number, and its time in microseconds
	id        string
	run       *sessionRun // nil without a run
}

// begun is a row that began a call.
type begun struct {
	id      string
	content []byte // nil after the call ended
	replay  string // as the row says it
}

// beginning is what the end of a call needs of the row that began it. The zero beginning is none.
type beginning struct {
	row     int64 // its number
	content []byte
	replay  string // "" if its tool was not registered with Replayable
}

// result is what a step can read: a call that ended, or what was given in the place of one.
type result struct {
	number int64
	// early is the number by which requests showed the value of a result that was given before a row had it, 0 for none.
	early int64
	// row is the number of the row that has the result, start that of the row at which its call began. start is
	// 0 if the record does not have it: such a result supersedes nothing.
	row, start int64
	tool, call string
	agent      string // that called
	// digest is that of the response as models read it, args that of the arguments; "" if the row lacks it.
	digest, args string
	// given says that no tool that was called here gave it: it proves nothing. client says that a user's
	// message brought it.
	given, client bool
	// answers says that it is a client's answer to an open long-running call.
	answers bool
	// told says that it is a refusal with the present values.
	told bool
	// history says that only the history of the session has it. void says that a row has it after all.
	history, void bool
	// place is the number of the row at which it counts as seen, 0 for row.
	place int64
	// declared are the sightings that the tool declared.
	declared []*sighted
	choices  []*choice
}

// paused is a long-running call: its tool, and the row that says so.
type paused struct {
	tool string
	row  int64
}

// Extractor returns the rules that the session was folded by.
func (s *Session) Extractor() *Extractor { return s.x }

// rest gives what a fold needs beside the row at hand.
type rest interface {
	// row returns a row that was added before; false if it is gone.
	row(eventID string) (record.Event, bool, error)
	// children returns the sessions of agents that ran as the tool of a call, by its span, or by its id if span
	// is "".
	children(span, call string) ([]record.Session, error)
	// child returns the fold of one of them.
	child(record.Session) (*Session, error)
}

func newSession(x *Extractor) *Session {
	return &Session{
		x: x, counts: Counts{Receipt: record.Receipt{Version: x.Version()}}, at: make(map[string]int), begun: make(map[string]*begun), declared: newDeclarations(), paused: make(map[string]paused), same: make(map[shownKey][]*result),
		outputs: make(map[string][]output), named: make(map[string]int), runs: make(map[string]*sessionRun), things: make(map[string]*seenThing),
		choices: make(map[string][]*choice), found: make(map[string][]found), fits: make(map[*compiled]int64), bytes: sizeOfSession,
	}
}

// Sizes in memory, about, for the limit of the cache. Texts of any length are counted beside them.
const (
	sizeOfSession  = 2048
	sizeOfRow      = 128
	sizeOfRun      = 256
	sizeOfBegun    = 128
	sizeOfResult   = 288
	sizeOfCall     = 64
	sizeOfName     = 64
	sizeOfOutput   = 96
	sizeOfThing    = 192
	sizeOfSighting = 320
	sizeOfSaid     = 96
	sizeOfFound    = 1024
	sizeOfChoice   = 128
)

// add adds the next row, in time that depends on the row alone. After an error it has added nothing.
func (s *Session) add(e *record.Event, others rest) error {
	attrs, node := attributesOf(e), RowNodeKey(e)
	start, err := s.started(e, attrs, node, others)
	if err != nil {
		return err
	}
	of, err := childrenOf(e, attrs, others)
	if err != nil {
		return err
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
	if run != nil && len(attrs.ADK.Rewinds) > 0 {
		run.rewinds = attrs.ADK.Rewinds
	}
	switch e.EventType {
	case record.ToolStarting:
		s.begin(node, e, attrs)
	case record.EntitiesDeclared:
		s.declared.add(e, attrs)
		s.bytes += int64(len(attrs.Entities))
	case record.ToolPaused:
		if id := attrs.ADK.CallID(); id != "" && attrs.ADK.PauseKind == "tool" {
			s.paused[id] = paused{toolName(e.Content), e.Seq}
		}
	case record.TurnClosed:
		for _, id := range attrs.ADK.Closed {
			s.closed = append(s.closed, closing{by: e.RunID, run: id, row: e.Seq})
		}
	case record.InvocationStarting:
		if run != nil && attrs.ADK.Fresh {
			run.fresh = true
		}
	case record.EntitiesFound:
		if about != nil {
			s.find(e, attrs, about)
		}
	case record.LLMResponse:
		if !attrs.ADK.Partial {
			s.modelCall(e, attrs)
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
		for _, list := range pending {
			s.bytes -= int64(len(list))
		}
		if attrs.ADK.Started != "" && start.row == 0 { // other rows of the call may be missing as well
			pending = nil
		}
	}
	if r != nil && r.history {
		pending = s.declared.byCall[r.call]
		if attrs.ADK.Agent && len(of) == 0 {
			s.failed(1, fmt.Sprintf("the record lacks the run of agent %s, which ran as a tool in a turn that was broken off", r.tool))
		}
	}
	if e.EventType == record.ToolCompleted {
		s.execute(e, attrs, start.content)
	}
	read, err := s.x.row(e, start.content, pending)
	var sets []entity.Entity
	if err == nil && start.replay != "" {
		var content struct {
			Args map[string]any `json:"args"`
		}
		if err = json.Unmarshal(start.content, &content); err == nil {
			sets = s.x.sets(toolName(e.Content), content.Args, read.rules)
		}
	}
	s.counts.Rules = tallied(s.counts.Rules, read.rules, start.replay != "", read.rule, err)
	// The calls in an answer tie the results of tools to the steps before them.
	// What the rules of a result read shows by marks whether it was cut.
	if e.IsTruncated && (read.relevant && !endsReading(e, attrs) || e.EventType == record.LLMResponse) {
		s.counts.Truncated++
	}
	var seen []entity.Entity
	if r != nil && r.void {
		read, sets, of = rowRead{}, nil, nil
	}
	if err != nil {
		s.failed(1, (&RowError{EventID: e.EventID, Rule: read.rule, Err: err}).Error())
	} else {
		if r != nil && r.given {
			read.given(r.answers)
		}
		for _, part := range append(read.parts(), sets) {
			s.see(e, finished(e, part), r)
		}
		s.chooseIn(e, read.choices, r)
		s.lose(e.Seq, read, r)
		seen = bySource(e, node, read.entities)
		if r != nil {
			for _, child := range of {
				s.inherit(child, r)
			}
		}
	}
	if r != nil {
		s.readAs(r, attrs)
	}
	if s.spans != nil {
		s.spans.add(e, node, attrs, seen)
	}
	return nil
}

// readAs ties a rewritten result to the result of the call: models read it in the rewritten form. The entities
// that the tool declared were read with it. Neither form takes alternatives out: nobody knows which of them the
// model saw. The values that a refusal told stay those of the refusal.
func (s *Session) readAs(r *result, attrs *schema.Attributes) {
	of := s.resultIn(attrs.ADK.Of)
	if of == nil || of == r {
		return
	}
	for _, seen := range of.declared {
		if !of.told {
			seen.result = r.number
		}
	}
	for _, c := range slices.Concat(of.choices, r.choices) {
		c.Reading = false
	}
}

// find adds what a model found in another row of the session. It counts from that row on.
func (s *Session) find(e *record.Event, attrs *schema.Attributes, about *record.Event) {
	at := s.at[about.EventID]
	all, err := readEntities([]json.RawMessage{attrs.Entities}, entity.SourceModel)
	if err != nil {
		s.failed(1, (&RowError{EventID: e.EventID, Err: err}).Error())
		return
	}
	all = mergeRow(placed(about, RowNodeKey(about), all))
	for _, en := range all {
		key := en.Identity()
		s.found[key] = append(s.found[key], found{en, s.rows[at].seq})
		s.bytes += sizeOfFound + int64(len(attrs.Entities))
	}
	if s.spans != nil {
		s.spans.find(at, all)
	}
}

// addRow adds what is kept of every row, and returns its run.
func (s *Session) addRow(e *record.Event) *sessionRun {
	var run *sessionRun
	if e.RunID != "" {
		if run = s.runs[e.RunID]; run == nil {
			run = &sessionRun{Run: Run{ID: e.RunID, Started: e.Time(), First: e.Seq}}
			s.runs[e.RunID] = run
			s.order = append(s.order, run)
			s.bytes += sizeOfRun
		}
		run.add(e)
	}
	s.at[e.EventID] = len(s.rows)
	s.rows = append(s.rows, rowOf{e.Seq, e.Timestamp, e.EventID, run})
	s.counts.Watermark = e.Seq
	s.counts.RowsRead++
	s.bytes += sizeOfRow
	return run
}

// failed counts rows that gave nothing.
func (s *Session) failed(n int, err string) {
	s.counts.Failed += n
	s.counts.Error = cmp.Or(s.counts.Error, err)
}

// begin keeps the row that begins a call.
func (s *Session) begin(node string, e *record.Event, attrs *schema.Attributes) {
	b := s.begun[node]
	if b == nil {
		b = new(begun)
		s.begun[node] = b
		s.bytes += sizeOfBegun
	}
	s.bytes += int64(len(e.Content) - len(b.content))
	*b = begun{e.EventID, e.Content, attrs.ADK.Replay}
}

// started returns the beginning of the call that e ends, if the record says it.
func (s *Session) started(e *record.Event, attrs *schema.Attributes, node string, others rest) (beginning, error) {
	if !endsCall(e.EventType) && e.EventType != record.ToolResultRewritten || attrs.ADK.Given != "" {
		return beginning{}, nil
	}
	b, id := s.begun[node], attrs.ADK.Started
	switch {
	case b == nil && id == "":
		return beginning{}, nil
	case b != nil && (id == "" || id == b.id):
		id = b.id
		if content := b.content; content != nil {
			b.content = nil
			s.bytes -= int64(len(content))
			return beginning{s.rows[s.at[id]].seq, content, b.replay}, nil
		}
	}
	if _, known := s.at[id]; !known {
		return beginning{}, nil
	}
	row, ok, err := others.row(id)
	if err != nil || !ok || row.EventType != record.ToolStarting {
		return beginning{}, err
	}
	return beginning{row.Seq, row.Content, attributesOf(&row).ADK.Replay}, nil
}

// result adds the result that a row brings.
func (s *Session) result(e *record.Event, attrs *schema.Attributes, start beginning, run *sessionRun) *result {
	adk := &attrs.ADK
	r := &result{
		number: int64(len(s.results)) + 1, row: e.Seq, start: start.row, tool: toolName(e.Content), call: adk.CallID(), agent: e.Agent,
		digest: adk.Result, args: adk.ArgsDigest, history: adk.Given == schema.GivenByHistory, given: adk.Given != "", client: adk.Given == schema.GivenByClient, told: adk.Drift,
	}
	switch {
	case adk.Asked != "": // no callback told of its beginning
		if at, known := s.at[adk.Asked]; known && start.row > 0 {
			r.start = s.rows[at].seq
		} else {
			r.start = 0
		}
		r.given = r.start == 0
	case e.EventType == record.HITLInputRequestCompleted: // a person said it there and then
		r.start = e.Seq
	case e.EventType == record.NodeOutput:
		r.tool = ""
		if run != nil && !r.given { // a node began after its run
			r.start = run.First
		}
	default:
		r.given = r.given || start.row == 0 && r.digest != "" // the row that began it is lost
	}
	if at, known := s.at[adk.Place]; known && r.history {
		r.place = s.rows[at].seq
	}
	if call, open := s.paused[r.call]; r.client && open && call.tool == r.tool {
		delete(s.paused, r.call)
		r.answers, r.start = true, call.row
	}
	if r.given {
		r.early = s.early[shownKey{r.tool, r.digest}]
	}
	s.results = append(s.results, r)
	if run != nil {
		run.results = append(run.results, r)
	}
	switch {
	case r.digest == "":
	case e.EventType == record.NodeOutput:
		for _, other := range s.outputs[r.digest] {
			r.void = r.void || r.history && other.result != 0
		}
		o := output{by: e.Agent, result: r.number}
		if i := s.callNamed(adk.AnswerOf); adk.AnswerOf != "" && i >= 0 {
			o.shown = s.calls[i].shown
		}
		s.gave(r.digest, o)
	default:
		key := shownKey{r.tool, r.digest}
		for _, other := range s.same[key] { // a row that comes late may have what the history was asked for
			if other.call == r.call && other.history != r.history {
				other.void, r.void = other.void || other.history, r.history
			}
		}
		s.same[key] = append(s.same[key], r)
		s.explained(r)
	}
	s.bytes += sizeOfResult
	return r
}

// resultIn returns the result that a row brought, nil if it brought none.
func (s *Session) resultIn(eventID string) *result {
	at, known := s.at[eventID]
	if !known {
		return nil
	}
	i, brought := slices.BinarySearchFunc(s.results, s.rows[at].seq, func(r *result, row int64) int { return cmp.Compare(r.row, row) })
	if !brought {
		return nil
	}
	return s.results[i]
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
	case record.ToolCompleted, record.ToolError, record.ToolResultRewritten, record.NodeOutput:
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
