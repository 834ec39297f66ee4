// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"
)

// A question is what a node asked a person.
type question struct {
	id, run, path string
	call          *genai.FunctionCall // by which it was asked; nil for none
	schema        *jsonschema.Schema  // of the answer
	answered      bool
	value         any  // the answer
	withdrawn     bool // nobody has to answer any more
	decided       bool // of a paused run: the answer is carried out
	own           bool // of the node of the level, and not of one in it
}

// questions are those of a history, by id: the newest of each.
type questions map[string]*question

// take gives the questions the answers of an event. The first that fits counts.
func (qs questions) take(ev *session.Event) {
	for fr := range responses(ev.Content) {
		if q := qs[fr.ID]; q != nil && !q.answered && !q.withdrawn {
			v, err := q.answer(fr)
			q.value, q.answered = v, err == nil
		}
	}
}

// withdraw takes note of the questions that an event withdraws.
func (qs questions) withdraw(ev *session.Event) {
	for _, id := range texts(meta(ev)[keyWithdrawn]) {
		if q := qs[id]; q != nil {
			q.withdrawn = true
		}
	}
}

// questionsOf returns the questions of an event.
func questionsOf(ev *session.Event) []*question {
	var qs []*question
	for _, id := range ev.LongRunningToolIDs {
		q := &question{id: id, run: noted(ev, keyRun), path: pathOf(ev)}
		if r := ev.RequestedInput; r != nil && r.InterruptID == id {
			q.schema = r.ResponseSchema
		}
		if ev.Content != nil {
			for _, p := range ev.Content.Parts {
				if p != nil && p.FunctionCall != nil && p.FunctionCall.ID == id {
					q.call = p.FunctionCall
				}
			}
		}
		qs = append(qs, q)
	}
	return qs
}

// answer returns the answer that a response gives to the question. An answer that does not fit the schema is none:
// the question stays open.
func (q *question) answer(fr *genai.FunctionResponse) (any, error) {
	if q.call != nil && q.call.Name != fr.Name {
		return nil, fmt.Errorf("%w: question %q was asked by %s, and not by %s", workflow.ErrInvalidResumeResponse, q.id, q.call.Name, fr.Name)
	}
	var value any = fr.Response
	if raw, ok := fr.Response["response"]; ok {
		value = raw
		if s, isText := raw.(string); isText {
			var decoded any
			if json.Unmarshal([]byte(s), &decoded) == nil {
				value = decoded
			}
		}
	} else if payload, ok := fr.Response["payload"]; ok {
		value = payload
	}
	if q.pause() != nil {
		return q.decide(value)
	}
	if q.schema == nil {
		return value, nil
	}
	resolved, err := q.schema.Resolve(nil)
	if err == nil {
		err = resolved.Validate(value)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: question %q: %w", workflow.ErrInvalidResumeResponse, q.id, err)
	}
	return value, nil
}

// says returns what the question asks, for a person.
func (q *question) says() string {
	var about any
	if q.call != nil {
		about = q.call.Name
		if m, ok := q.call.Args["message"].(string); ok && m != "" {
			about = m
		}
		if data, err := json.Marshal(q.call.Args["toolConfirmation"]); err == nil {
			var c struct{ Hint string }
			if json.Unmarshal(data, &c) == nil && c.Hint != "" {
				about = c.Hint
			}
		}
	}
	return fmt.Sprintf("%v (question %q of %s)", about, q.id, q.path)
}

// An activation is what history says about a node: how it ended last, and what it did since.
type activation struct {
	// Of the last end. At is -1 before it; later ends have greater numbers.
	at      int
	output  any
	route   *session.Event // that carries routes
	failed  string         // with what error
	refused string         // why a call was
	// Since the last end.
	begun   bool
	asked   []*question
	routing *session.Event
	branch  string
}

// open returns the ids of the questions without an answer.
func (a *activation) open() (ids []string) {
	for _, q := range a.asked {
		if !q.answered && !q.withdrawn {
			ids = append(ids, q.id)
		}
	}
	return ids
}

// answeredBy says whether one of the answers is to a question of the node.
func (a *activation) answeredBy(answers map[string]any) bool {
	return slices.ContainsFunc(a.asked, func(q *question) bool { _, ok := answers[q.id]; return ok })
}

// level is the history of the nodes below one path.
type level struct {
	nodes map[string]*activation
	steps []step
}

// A step is a node that has ended.
type step struct {
	node, to    string
	output      any
	atCap, jump bool
}

// read reads the history of a level from the events of the run.
func (t *turn) read(path string) *level {
	lv := &level{nodes: make(map[string]*activation)}
	all := make(questions)
	events := t.session.Events()
	for i := range events.Len() {
		ev := events.At(i)
		if fromUser(ev) {
			all.take(ev)
			continue
		}
		if !t.has(ev) {
			continue
		}
		all.withdraw(ev)
		at := pathOf(ev)
		if below(path, at) && (isEnd(ev) || meta(ev)[keyAgain] != nil) {
			// The node around the level has ended, or is run again: what follows is a new iteration.
			lv = &level{nodes: make(map[string]*activation)}
			continue
		}
		name, own := child(at, path)
		if name == "" {
			continue
		}
		a := lv.nodes[name]
		if a == nil {
			a = &activation{at: -1}
			lv.nodes[name] = a
		}
		a.add(ev, i, own, all)
		if own && isEnd(ev) {
			atCap, _ := meta(ev)[keyAtCap].(bool)
			lv.steps = append(lv.steps, step{node: name, to: noted(ev, keyTo), output: a.output, atCap: atCap, jump: meta(ev)[keyJump] != nil})
		}
	}
	return lv
}

// add adds an event of the node, or of a node in it.
func (a *activation) add(ev *session.Event, i int, own bool, all questions) {
	a.begun = true
	if a.branch == "" {
		a.branch = ev.Branch
	}
	for _, q := range questionsOf(ev) {
		q.own = own
		a.asked = append(slices.DeleteFunc(a.asked, func(old *question) bool { return old.id == q.id }), q)
		all[q.id] = q
	}
	if id := noted(ev, keyDecided); own && id != "" {
		for _, q := range a.asked {
			q.decided = q.decided || q.id == id
		}
		if meta(ev)[keyAgain] != nil {
			a.asked = nil
		}
	}
	if own && ev.Routes != nil {
		a.routing = ev
	}
	if !own || !isEnd(ev) {
		return
	}
	out, _ := outputOf(ev)
	*a = activation{at: i, output: out, route: a.routing, branch: a.branch, failed: noted(ev, keyFailed), refused: noted(ev, keyRefused)}
}

// isEnd says whether the event ends its node.
func isEnd(ev *session.Event) bool {
	if _, ok := outputOf(ev); ok {
		return true
	}
	return meta(ev)[keyDone] != nil
}
