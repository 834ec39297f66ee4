// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// modelCall is a call of a model that ended, with the results that it knew, by number.
type modelCall struct {
	at int // the place of the row that ended it
	// shown are the results that its request showed. known are those that the requests of the steps
	// showed whose output it showed.
	shown, known *numbers
}

// several stands for the place of a model call where more than one has the name.
const several = -1

// shownKey is what a request says of the value of a result.
type shownKey struct{ tool, digest string }

// output is something that a step gave and a later request may show.
type output struct {
	by string // the agent, or the node
	// shown are the results that the step had before it. result is the number of the output itself where
	// it is one, else 0.
	shown  *numbers
	result int64
}

// modelCall adds a model call with everything that its request showed.
func (s *Session) modelCall(e *record.Event, attrs *schema.Attributes) {
	c := modelCall{at: s.at[e.EventID]}
	list := &attrs.ADK.Shown
	if list.Base != "" {
		if i := s.callNamed(list.Base); i >= 0 {
			c.shown, c.known = s.calls[i].shown, s.calls[i].known
		}
	}
	for i := range list.Results {
		c.shown = union(c.shown, s.tie(e, &list.Results[i], c.shown))
	}
	for _, w := range list.Words {
		if o := s.outputOf(w); o != nil {
			c.known = union(c.known, o.shown)
			c.shown = union(c.shown, numberOf(o.result))
		}
	}
	s.calls = append(s.calls, c)
	s.bytes += sizeOfCall
	for _, f := range attrs.FunctionCalls {
		if f.ID != "" {
			s.addName(len(s.calls)-1, f.ID)
		}
	}
	for _, digest := range attrs.ADK.Said {
		s.gave(digest, output{by: e.Agent, shown: c.shown})
	}
}

// tie returns the result that a request shows, as a set; nil if it cannot be told. It is the earliest one
// with the value that the request does not show yet: an earlier one replaces less. If the request does not
// show the arguments of the call, all results with the value must be of the same. A request names no calls of other
// agents: of two runs side by side it may show a result behind a call that it is not of. So if no result is of these
// arguments, the request does not show them.
func (s *Session) tie(e *record.Event, shown *record.Shown, taken *numbers) *numbers {
	all := s.same[shownKey{shown.Tool, shown.Result}]
	if len(all) == 0 {
		return s.unexplained(e.Seq, shown)
	}
	var first, free *result
	for _, r := range all {
		switch {
		case r.client != shown.Client, shown.By != "" && r.agent != shown.By, shown.Call != "" && r.call != shown.Call:
			continue
		case shown.Args != "" && !r.client && r.args != shown.Args:
			continue
		case shown.Args == "" && first != nil && r.args != first.args:
			return nil
		case first == nil:
			first = r
		}
		if free == nil && !taken.has(r.number) && !taken.has(r.early) {
			free = r
		}
		if free != nil && shown.Args != "" {
			break
		}
	}
	switch {
	case free != nil:
		return numberOf(free.number)
	case first == nil && shown.By != "" && shown.Args != "":
		other := *shown
		other.Args = ""
		return s.tie(e, &other, taken)
	}
	return nil
}

// unexplained notes that a request shows a result that no row has. It returns the number of the value: a row that
// comes later may have it from the history of the session, at an earlier place.
func (s *Session) unexplained(row int64, shown *record.Shown) *numbers {
	key := *shown
	key.By, key.Client = "", false
	if s.noRow == nil {
		s.noRow, s.early = make(map[record.Shown]*noRow), make(map[shownKey]int64)
	}
	if s.noRow[key] == nil && !shown.Agent {
		s.noRow[key] = &noRow{shown: row}
		s.bytes += sizeOfOutput
	}
	value := shownKey{shown.Tool, shown.Result}
	if s.early[value] == 0 {
		s.early[value] = -int64(len(s.early)) - 1
		s.bytes += sizeOfOutput
	}
	return numberOf(s.early[value])
}

// noRow is a result that a request showed before a row had it: the rows that show it, and that have it, 0 if none
// has.
type noRow struct{ shown, given int64 }

// explained notes that a row has the value of a result that a request showed, with or without its call and the
// arguments.
func (s *Session) explained(r *result) {
	if len(s.noRow) == 0 {
		return
	}
	for _, call := range []string{"", r.call} {
		for _, args := range []string{"", r.args} {
			if of := s.noRow[record.Shown{Tool: r.tool, Call: call, Args: args, Result: r.digest}]; of != nil && of.given == 0 {
				of.given = r.row
			}
		}
	}
}

// gave adds what a step gave.
func (s *Session) gave(digest string, o output) {
	s.outputs[digest] = append(s.outputs[digest], o)
	s.bytes += sizeOfOutput
}

// outputOf returns the output that a request shows. If the steps that gave it had been shown different
// results, it cannot be told whose it is, and there is none.
func (s *Session) outputOf(w schema.Words) *output {
	var found *output
	for i := range s.outputs[w.Said] {
		o := &s.outputs[w.Said][i]
		switch {
		case w.By != "" && o.by != w.By:
		case found == nil:
			found = o
		case o.result != 0 && found.result != 0 && o.shown.equal(found.shown): // the earlier one
		case o.result != found.result || !o.shown.equal(found.shown):
			return nil
		}
	}
	return found
}

func (s *Session) addName(call int, id string) {
	if other, known := s.named[id]; known && other != call {
		call = several
	} else if !known {
		s.bytes += sizeOfName
	}
	s.named[id] = call
}

// callNamed returns the place of the model call that ended with a row, or of the one that asked for a
// call: then the name is "c:" and the id of the call. It is negative if none or several have the name.
func (s *Session) callNamed(name string) int {
	if id, byCall := strings.CutPrefix(name, "c:"); byCall {
		if i, known := s.named[id]; known {
			return i
		}
		return -1
	}
	at, known := s.at[name]
	if !known {
		return -1
	}
	i, ended := slices.BinarySearchFunc(s.calls, at, func(c modelCall, at int) int { return cmp.Compare(c.at, at) })
	if !ended {
		return -1
	}
	return i
}

// interval is an interval of numbers, with both ends.
type interval struct{ first, last int64 }

// numbers are numbers of results, as intervals from the greatest down. They are never changed: the
// model calls of a session share what they have in common.
type numbers struct {
	first, last int64
	lower       *numbers // without a number next to first
}

// numberOf returns the set of one number, the empty one for 0.
func numberOf(n int64) *numbers {
	if n == 0 {
		return nil
	}
	return &numbers{first: n, last: n}
}

// union returns the numbers of both.
func union(a, b *numbers) *numbers {
	var greater []interval // than what is left of a and b
	for a != nil && b != nil && a != b {
		if a.last < b.last {
			a, b = b, a
		}
		greater = append(greater, interval{a.first, a.last})
		a = a.lower
	}
	out := cmp.Or(a, b)
	for _, i := range slices.Backward(greater) {
		for out != nil && out.last >= i.first-1 {
			i.first, i.last = min(i.first, out.first), max(i.last, out.last)
			out = out.lower
		}
		out = &numbers{i.first, i.last, out}
	}
	return out
}

// has reports whether n is one of the numbers.
func (n *numbers) has(number int64) bool {
	for ; n != nil && n.last >= number; n = n.lower {
		if n.first <= number {
			return true
		}
	}
	return false
}

// equal reports whether both have the same numbers.
func (n *numbers) equal(other *numbers) bool {
	for ; n != nil && other != nil && n != other; n, other = n.lower, other.lower {
		if n.first != other.first || n.last != other.last {
			return false
		}
	}
	return n == other
}

// intervals returns the numbers in order.
func (n *numbers) intervals() (out []interval) {
	for ; n != nil; n = n.lower {
		out = append(out, interval{n.first, n.last})
	}
	slices.Reverse(out)
	return out
}

// holds reports whether a number is in one of the intervals.
func holds(list []interval, n int64) bool {
	_, found := slices.BinarySearchFunc(list, n, func(i interval, n int64) int {
		switch {
		case i.last < n:
			return -1
		case i.first > n:
			return 1
		}
		return 0
	})
	return found
}
