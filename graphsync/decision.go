// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"
	"errors"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// ErrMoved is returned by [EvidenceStore.Advance] when somebody else advanced the session in
// between.
var ErrMoved = errors.New("the session was advanced by somebody else")

// Progress says how far the rows of a session were extracted. The zero Progress stands for a
// session without extracted rows.
type Progress struct {
	// Watermark is the number of the last row that was extracted. Rows counts the rows up to
	// it, Failed those that gave nothing because of an error, Truncated those that rules read
	// although some of their content is lost.
	Watermark int64
	Rows      int
	Failed    int
	Truncated int
	// Error is the first error, for people.
	Error string
	// Version is the digest of the rules that extracted.
	Version string
	// Results counts the results of the session.
	Results int64
	// Unmatched counts what requests of models held and no row on record explains.
	Unmatched int
	// Rules says what the rules read and found. It lacks those that read no row.
	Rules []Tally
	// Rewritten are the tools whose results models read in another form than the record has,
	// sorted.
	Rewritten []string
}

// Result is a tool call that ended.
type Result struct {
	// Number counts the results of the session, from 1.
	Number int64
	// Row is the number of the row that ended the call, Start the number of the row that began it.
	// Start is 0 if the record does not have it: such a result supersedes nothing.
	Row, Start int64
	EventID    string
	RunID      string
	CallID     string
	// Digest is the digest of the response as models read it; "" if the row lacks it.
	Digest string
}

// Span is an interval of numbers, with both ends.
type Span struct{ First, Last int64 }

// ModelCall is a call of a model that ended, with the results that it had read.
type ModelCall struct {
	// EventID is the row that ended it, Row the number of that row.
	EventID string
	Row     int64
	// Names are the names that later requests use for it: "r:" and its EventID, "c:" and the id of
	// a call that it asked for.
	Names []string
	// Read are the results that it had read, by Result.Number, sorted, each once. Own are those
	// that its own requests showed. It knew the others through the answers of calls that had read
	// them.
	Read, Own []Span
}

// Sighting is one thing that one row shows or names.
type Sighting struct {
	entity.Entity
	// Key is the [entity.Entity.Identity].
	Key string
	// Row is the number of the row that recorded it, Start the number of the row at which its
	// reading began; 0 means unknown.
	Row, Start int64
	// Result is the Number of the result that shows it; 0 where none does.
	Result int64
}

// Choice is a sighting of a thing by one rule, if any rule with [config.Extract.Alternatives] finds its
// type. Two sightings are no Choice: the arguments of an action, by rules with [config.InAction], and
// the values in a refusal for drift.
type Choice struct {
	// Key is the [entity.Entity.Identity], Row the number of the row.
	Key string
	Row int64
	// Result is the Number of the result that shows it; 0 where none does.
	Result int64
	// Rule is the number of the rule, from 1 in the order of the rules; 0 where none found
	// it.
	Rule int
	// Reading says that the rule shows it there, and does not only name it.
	Reading bool
}

// Advance is the addition of a batch of rows to the evidence of a session.
type Advance struct {
	Session record.Session
	// From is the Watermark after which the batch begins, To the progress at its end. If To
	// has another Version than the stored progress, From is 0 and the stored evidence of
	// the session is removed first.
	From int64
	To   Progress
	// Results, Calls, Sightings and Choices are added. Choices that differ in Reading alone
	// are one, and a Reading if one of them is.
	Results   []Result
	Calls     []ModelCall
	Sightings []Sighting
	Choices   []Choice
	// Names adds names to model calls: the EventID of the call by name.
	Names map[string]string
	// Rewritten has the results that models read in another form than the row has: the digest that
	// they read, by the EventID of the result. Sightings in such a result are no readings, except
	// those of [entity.SourceDeclared]. Its Choices count as little.
	Rewritten map[string]string
	// Runs are added to the stored ones: new Turns are appended, the earlier of Started and First
	// stays, Completed is set if either is, the greater Expected stays, Stored is summed.
	Runs []Run
	// Children are sessions of agents that ran as tools of this one.
	Children []record.Session
}

// EvidenceStore holds the evidence of sessions: the content of their rows, each row extracted once.
// It is safe for concurrent use, also by several processes if the store allows that.
type EvidenceStore interface {
	// Waiting returns the rows of a session that were recorded before and are not stored, in order,
	// unless it cannot tell. Only this process's rows are among them.
	Waiting(s record.Session) (rows []record.Event, known bool)
	// Settle stores every row recorded before, and in the same step the Advance that f makes of the
	// evidence with these rows. It stores the rows alone if f returns false or an error, or if the
	// Advance cannot be stored; the error is then that one. f may run after Settle has returned, if
	// ctx has ended. Everybody who records waits for f.
	Settle(ctx context.Context, s record.Session, f func(EvidenceReader) (Advance, bool, error)) error
	// View calls f with the evidence of a session as it is at one moment.
	View(ctx context.Context, s record.Session, f func(EvidenceReader) error) error
	// Advance stores a, all of it or nothing. It returns [ErrMoved] if the Watermark of the
	// session is not a.From, or if its Version is not a.To.Version while a.From is not 0.
	Advance(ctx context.Context, a Advance) error
}

// EvidenceReader reads the evidence of one session at one moment. It must not be used
// after the call that it was given to.
type EvidenceReader interface {
	Progress() (Progress, error)
	// LastRow returns the number of the last row of the session, 0 if it has none.
	LastRow() (int64, error)
	// Rows returns the rows after a number, in order, at most limit.
	Rows(after int64, limit int) ([]record.Event, error)
	// Row returns the row with an event id, also of another session; false if there is none.
	Row(eventID string) (record.Event, bool, error)
	// Results returns the results with a call id and a digest, in order.
	Results(callID, digest string) ([]Result, error)
	// Result returns the result that a row brought; false if it brought none.
	Result(eventID string) (Result, bool, error)
	// ResultsOfRun returns the results of a run up to a row, in order.
	ResultsOfRun(run string, upTo int64) ([]Result, error)
	// ModelCalls returns the model calls with a name, in order.
	ModelCalls(name string) ([]ModelCall, error)
	// LastModelCall returns the model call with the greatest Row; false if there is none.
	LastModelCall() (ModelCall, bool, error)
	// Run returns the run with an id, as far as its rows were extracted; false if none was.
	Run(id string) (Run, bool, error)
	// Keys returns the keys of things after a key, in order, at most limit, of things with a
	// sighting up to a row.
	Keys(after string, upTo int64, limit int) ([]string, error)
	// Attributes returns the names of the attributes of a thing, in order: "" stands for
	// sightings without attributes.
	Attributes(key string) ([]string, error)
	// Sightings returns the sightings of an attribute of a thing up to a row, the latest
	// first, at most limit after the first skip: readings of it, or those that are none.
	Sightings(key, attribute string, readings bool, upTo int64, skip, limit int) ([]Sighting, error)
	// Choices returns the choices of a thing up to a row, in order of row, result and rule: at most
	// limit, after the first skip.
	Choices(key string, upTo int64, skip, limit int) ([]Choice, error)
	// Found returns what a model found in rows of the session, of [entity.SourceModel], each
	// with the number of its row.
	Found() ([]Sighting, error)
	// OpenRuns returns the runs with missing rows or without an end.
	OpenRuns() ([]Run, error)
	// RunsOfTurn returns the ids of the runs of a turn.
	RunsOfTurn(turn string) ([]string, error)
}

// Decision names the step that decided. The zero Decision is none: the latest reading of
// everything counts.
type Decision struct {
	// Node is the key of the asking node.
	Node string
	// Answer is the event id of the row that ended the model call which asked, or another
	// name of the call: "c:" and the id of a call that it asked for, "e:" and the id of its
	// event. It is "" if no model asked.
	Answer string
	// Run is the run that asked. After is the event id of its last row before the asking
	// step began, where no model asked; "" is the start of the run.
	Run, After string
	// UpTo is the number of the last row that counts; 0 counts all.
	UpTo int64
	// Tool is the called tool, Args its arguments, as JSON. The entities that they name are read
	// from here, by the rules with in: action, and from no row.
	Tool string
	Args string
}
