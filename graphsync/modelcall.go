// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// modelCall is a call of a model that ended, with the results that it had read.
type modelCall struct {
	at int // the place of the row that ended it
	// read are the results that it had read, by number. own are those that its own requests showed. It
	// knew the others through the answers of calls that had read them.
	read, own *numbers
}

// several stands for the place of a model call where more than one has the name.
const several = -1

// modelCall adds a model call with everything that it had read. Later requests name it "r:" and the
// id of its row, or "c:" and the id of a call that it asked for.
func (s *Session) modelCall(e *record.Event, attrs *schema.Attributes) {
	c := modelCall{at: s.at[e.EventID]}
	read := &attrs.ADK.Read
	s.counts.Unmatched += read.Unmatched
	if read.Base != "" {
		before := s.knownCall(read.Base)
		c.read, c.own = before.read, before.own
	}
	for _, name := range read.Answers {
		c.read = union(c.read, s.knownCall(name).read)
	}
	for _, callID := range slices.Sorted(maps.Keys(read.Results)) {
		n := s.resultOf(callID, read.Results[callID])
		if n == 0 {
			s.counts.Unmatched++
			continue
		}
		same := c.read == c.own
		c.own = union(c.own, &numbers{first: n, last: n})
		if same {
			c.read = c.own
		} else {
			c.read = union(c.read, &numbers{first: n, last: n})
		}
	}
	s.calls = append(s.calls, c)
	s.bytes += sizeOfCall
	for _, f := range attrs.FunctionCalls {
		if f.ID != "" {
			s.addName(len(s.calls)-1, "c:"+f.ID)
		}
	}
}

// nameCall adds a name to the model call that ended with a row.
func (s *Session) nameCall(eventID, name string) {
	if i := s.callNamed("r:" + eventID); i >= 0 {
		s.addName(i, name)
	}
}

func (s *Session) addName(call int, name string) {
	if other, known := s.named[name]; known && other != call {
		call = several
	} else if !known {
		s.bytes += sizeOfName
	}
	s.named[name] = call
}

// callNamed returns the place of the model call with a name. It is negative if none or several have
// the name.
func (s *Session) callNamed(name string) int {
	if id, byRow := strings.CutPrefix(name, "r:"); byRow {
		if at, known := s.at[id]; known {
			i, ended := slices.BinarySearchFunc(s.calls, at, func(c modelCall, at int) int { return cmp.Compare(c.at, at) })
			if ended {
				return i
			}
		}
	} else if i, known := s.named[name]; known {
		return i
	}
	return -1
}

// knownCall returns the model call with a name. If none or several have it, that is counted, and
// nothing counts as read.
func (s *Session) knownCall(name string) modelCall {
	if i := s.callNamed(name); i >= 0 {
		return s.calls[i]
	}
	s.counts.Unmatched++
	return modelCall{}
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

// numbers are numbers of results, as intervals from the greatest down. They are never changed: the
// model calls of a session share what they have in common.
type numbers struct {
	first, last int64
	lower       *numbers // without a number next to first
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
