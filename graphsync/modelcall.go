// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// modelCall is a call of a model that ended, with the results that it had read.
type modelCall struct {
	id string // of the row that ended it
	// read are the results that it had read, by number. own are those that its own requests showed. It
	// knew the others through the answers of calls that had read them.
	read, own []interval
}

// modelCall adds a model call with everything that it had read. Later requests name it "r:" and the
// id of its row, or "c:" and the id of a call that it asked for.
func (s *Session) modelCall(e *record.Event, attrs *schema.Attributes) {
	c := &modelCall{id: e.EventID}
	read := &attrs.ADK.Read
	s.counts.Unmatched += read.Unmatched
	if read.Base != "" {
		if before := s.callNamed(read.Base); before != nil {
			c.read, c.own = before.read, before.own
		}
	}
	for _, name := range read.Answers {
		if before := s.callNamed(name); before != nil {
			c.read = union(c.read, before.read)
		}
	}
	for _, callID := range slices.Sorted(maps.Keys(read.Results)) {
		if n := s.resultOf(callID, read.Results[callID]); n > 0 {
			c.own = union(c.own, []interval{{n, n}})
		} else {
			s.counts.Unmatched++
		}
	}
	c.read = union(c.read, c.own)
	s.calls = append(s.calls, c)
	s.addName(c, "r:"+e.EventID)
	for _, f := range attrs.FunctionCalls {
		if f.ID != "" {
			s.addName(c, "c:"+f.ID)
		}
	}
}

// nameCall adds a name to the model call that ended with a row.
func (s *Session) nameCall(eventID, name string) {
	for _, c := range s.named["r:"+eventID] {
		s.addName(c, name)
	}
}

func (s *Session) addName(c *modelCall, name string) {
	if !slices.Contains(s.named[name], c) {
		s.named[name] = append(s.named[name], c)
		s.bytes += sizeOfChoice
	}
}

// callNamed returns the model call with a name. If none or several have it, that is counted, and
// nothing counts as read.
func (s *Session) callNamed(name string) *modelCall {
	calls := s.named[name]
	if len(calls) != 1 {
		s.counts.Unmatched++
		return nil
	}
	return calls[0]
}

// resultOf returns the number of the latest result with a call id and a digest, 0 if there is none.
// Models that give calls no ids of their own use one again: of several results the latest counts if
// they are of calls with the same arguments. Otherwise nobody can tell which of them was read, and
// none counts.
func (s *Session) resultOf(callID, digest string) int64 {
	same := s.same[answer{callID, digest}]
	if digest == "" || same == nil || same.mixed || len(same.results) == 0 {
		return 0
	}
	return same.results[len(same.results)-1].number
}

// interval is an interval of numbers, with both ends.
type interval struct{ first, last int64 }

// union returns the numbers of both, in order and apart. It changes neither.
func union(a, b []interval) []interval {
	if len(a) == 0 || len(b) == 0 {
		return slices.Concat(a, b)
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y interval) int { return cmp.Compare(x.first, y.first) })
	out := all[:1]
	for _, i := range all[1:] {
		if last := &out[len(out)-1]; i.first <= last.last+1 {
			last.last = max(last.last, i.last)
		} else {
			out = append(out, i)
		}
	}
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
