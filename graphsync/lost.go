// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"slices"
)

// lost is a match of a rule that gave nothing, because its value could not be read.
type lost struct {
	rule *compiled
	err  error
	why  string // err, with the row and the rule
	// hidden says that a part of the row was left out there: more than one thing may be lost.
	hidden bool
	// nothing says that the result has neither the value nor any attribute. about is the identity of the thing that the
	// arguments of the call name.
	nothing bool
	about   string
	row     int64
	result  *result
	// again are the later results of the same tool, arguments and rule of which nothing was lost.
	again []*result
}

// lose adds the matches that a row lost. A result that its rules read in full stands in for those that they lost before.
func (s *Session) lose(row int64, read rowRead, r *result) {
	for _, of := range read.rules {
		reading := r != nil && (!r.given || r.answers && of.rule.FromClient)
		if reading && of.found > 0 && of.flaw == "" && s.fits[of.rule] == 0 {
			s.fits[of.rule] = row
		}
		if r == nil || r.given || r.args == "" || of.lost > 0 || of.found == 0 && of.nearly != "" {
			continue
		}
		for _, l := range s.lost {
			if b := l.result; l.rule == of.rule && b != nil && b.tool == r.tool && b.args == r.args && r.start > l.row {
				l.again = append(l.again, r)
			}
		}
	}
	for _, l := range read.lost {
		s.keepLost(l, row, r)
	}
}

func (s *Session) keepLost(l lost, row int64, r *result) {
	l.row, l.result, l.again = row, r, nil
	s.lost = append(s.lost, &l)
	s.bytes += sizeOfSighting + int64(len(l.why))
}

// losses returns the lost matches that count.
func (sel *selector) losses() (list []*lost) {
	for _, l := range sel.s.lost {
		if l.row <= sel.upTo && (l.result == nil || !l.result.void) && !sel.readAgain(l) && !sel.foundNothing(l) {
			list = append(list, l)
		}
	}
	return list
}

// foundNothing reports whether a result says that there is no such thing: its rule has read a good result, so it fits,
// and nothing had shown the thing before.
func (sel *selector) foundNothing(l *lost) bool {
	fits := sel.s.fits[l.rule]
	if thing := sel.s.things[l.about]; thing != nil {
		for _, a := range thing.attributes {
			if slices.ContainsFunc(a.said, func(s said) bool { return s.reading() && s.row < l.row }) {
				return false
			}
		}
	}
	return l.nothing && fits > 0 && fits <= sel.upTo
}

// lacks adds the lost matches that count. A list shows choices by a rule with alternatives, and nobody can choose
// what has no name: of such a thing the person is told.
func (sel *selector) lacks() {
	var last int64
	for _, l := range sel.losses() {
		if l.rule.Alternatives != "" && !l.hidden {
			if sel.out.Unnamed == nil {
				sel.out.Unnamed = make(map[string]string)
			}
			sel.out.Unnamed[l.rule.Type] = cmp.Or(sel.out.Unnamed[l.rule.Type], l.why)
			continue
		}
		if l.row != last {
			sel.out.Counts.Failed++
		}
		last = l.row
		sel.out.Counts.Error = cmp.Or(sel.out.Counts.Error, l.why)
	}
}

// readAgain reports whether the deciding step knew a later result that stands in for a lost match; one that its request
// showed itself, if it showed the match.
func (sel *selector) readAgain(l *lost) bool {
	for _, r := range l.again {
		known := sel.known
		if holds(sel.shown, l.result.number) {
			known = sel.shown
		}
		if r.row <= sel.upTo && !r.void && (sel.everything || holds(known, r.number)) {
			return true
		}
	}
	return false
}
