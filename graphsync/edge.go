// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// EdgeKind says how one span caused another.
type EdgeKind string

// The kinds of edges.
const (
	// Contains leads from a span to a span inside it.
	Contains EdgeKind = "contains"
	// Informs leads from a step to a step that knew its outcome: from a user message to the first
	// model call, from a model call to the tools that it asked for, from a tool to the model call
	// that read its result.
	Informs EdgeKind = "informs"
	// Resumes leads from a request for approval to the run that answers it.
	Resumes EdgeKind = "resumes"
)

// Edge says that one node caused another. From and To are keys of nodes; From
// started before To.
type Edge struct {
	From string
	To   string
	Kind EdgeKind
}

// LinkKind is the relation of a span to an entity.
type LinkKind string

// The kinds of links.
const (
	// Evaluated leads from a span to an entity that its result showed, or that a model found
	// in it.
	Evaluated LinkKind = "evaluated"
	// Named leads from a span to an entity that only words of the span name: the arguments of
	// a call, which may be what the call acts on, a message, or a result that repeats them.
	Named LinkKind = "named"
)

// LinkOf returns the kind of the link to an entity from the span that saw it.
func LinkOf(e entity.Entity) LinkKind {
	if e.Shows() || e.Source == entity.SourceModel {
		return Evaluated
	}
	return Named
}

// arc is an edge between indexes of spans.
type arc struct {
	from, to int
	kind     EdgeKind
}

// linker collects the edges between spans.
type linker struct {
	spans []*span
	index map[string]int // span by key
	arcs  []arc
}

// link returns the edges between spans, each once, sorted. No edge leads
// backwards in the order of recording, so the graph has no cycles; and rows that
// are recorded later add edges but never take one away, so the reasons for a
// decision stay what they were.
func link(spans []*span, index map[string]int) []arc {
	l := &linker{spans: spans, index: index}
	l.contains()
	l.informs()
	l.resumes()
	slices.SortFunc(l.arcs, compareArcs)
	return slices.Compact(l.arcs)
}

func compareArcs(a, b arc) int {
	return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from), cmp.Compare(a.kind, b.kind))
}

func (l *linker) add(from, to int, kind EdgeKind) {
	if l.spans[from].first < l.spans[to].first {
		l.arcs = append(l.arcs, arc{from, to, kind})
	}
}

func (l *linker) contains() {
	for i, s := range l.spans {
		if parent, ok := l.index[s.parentKey()]; ok {
			l.add(parent, i, Contains)
		}
	}
}

func (l *linker) resumes() {
	requests := make(map[string][]int)
	for i, s := range l.spans {
		for _, id := range s.requests {
			requests[id] = append(requests[id], i)
		}
	}
	for i, s := range l.spans {
		for _, id := range s.answers {
			for _, from := range requests[id] {
				l.add(from, i, Resumes)
			}
		}
	}
}

func (l *linker) informs() {
	var llms []int
	llmsOfRun := make(map[string][]int)
	nextRoot := make(map[int]int)
	lastRoot := make(map[string]int)
	for i, s := range l.spans {
		switch s.Kind {
		case KindLLM:
			llms = append(llms, i)
			llmsOfRun[s.run] = append(llmsOfRun[s.run], i)
		case KindInvocation:
			if last, ok := lastRoot[s.run]; ok {
				nextRoot[last] = s.first
			}
			lastRoot[s.run] = i
		}
	}
	all := newBranches(l.spans, llms)
	finished := l.calls()

	for i, s := range l.spans {
		switch s.Kind {
		case KindInvocation:
			before := math.MaxInt
			if p, ok := nextRoot[i]; ok {
				before = p
			}
			for _, to := range newBranches(l.spans, llmsOfRun[s.run]).readers(s.Branch, s.first, before) {
				l.add(i, to, Informs)
			}
		case KindTool:
			if s.ended < 0 {
				continue
			}
			for _, to := range all.readers(s.Branch, s.ended, math.MaxInt) {
				l.add(i, to, Informs)
			}
		case KindLLM:
			// A model call with ended tools informs the next model call through them. A model call
			// that asked for none, failed, or whose tools never ended informs it directly: its
			// content is in the history all the same.
			end, ok := finished[i]
			for _, to := range all.readers(s.Branch, s.last, math.MaxInt) {
				if !ok || end > l.spans[to].first {
					l.add(i, to, Informs)
				}
			}
		}
	}
}

// calls links model calls to the tools they asked for. It returns, for each model
// call, the position at which the first of its tools ended.
func (l *linker) calls() map[int]int {
	type asker struct{ llm, pos int }
	askers := make(map[string][]asker)
	for i, s := range l.spans {
		if s.Kind != KindLLM {
			continue
		}
		for _, a := range s.asked {
			askers[a.callID] = append(askers[a.callID], asker{i, a.pos})
		}
	}
	finished := make(map[int]int)
	for i, s := range l.spans {
		if s.Kind != KindTool || s.CallID == "" {
			continue
		}
		best := asker{llm: -1}
		var bestRank [3]int
		for _, a := range askers[s.CallID] {
			if a.pos >= s.first {
				continue
			}
			// Some models number their calls anew in every turn: of several that
			// asked for this id, the one of the same run of thought counts.
			from := l.spans[a.llm]
			rank := [3]int{btoi(from.InvocationID == s.InvocationID), btoi(from.Branch == s.Branch), a.pos}
			if best.llm < 0 || slices.Compare(rank[:], bestRank[:]) > 0 {
				best, bestRank = a, rank
			}
		}
		if best.llm < 0 {
			continue
		}
		l.add(best.llm, i, Informs)
		if end, ok := finished[best.llm]; s.ended >= 0 && (!ok || s.ended < end) {
			finished[best.llm] = s.ended
		}
	}
	return finished
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// branches finds model calls by branch and position.
type branches struct {
	spans []*span
	llms  map[string][]int // by branch, in order
	names []string         // of all branches, shorter ones first
}

func newBranches(spans []*span, llms []int) *branches {
	b := &branches{spans: spans, llms: make(map[string][]int)}
	for _, i := range llms {
		b.llms[spans[i].Branch] = append(b.llms[spans[i].Branch], i)
	}
	b.names = slices.Sorted(maps.Keys(b.llms))
	slices.SortStableFunc(b.names, func(x, y string) int { return cmp.Compare(len(x), len(y)) })
	return b
}

// next returns the first model call on branch between the positions, or -1.
func (b *branches) next(branch string, after, before int) int {
	list := b.llms[branch]
	i := sort.Search(len(list), func(i int) bool { return b.spans[list[i]].first > after })
	if i == len(list) || b.spans[list[i]].first >= before {
		return -1
	}
	return list[i]
}

// readers returns the model calls between two positions that are the first to
// know what happened on branch: the next one on the branch itself, or one on the
// branch it returned to before that, and the first ones on branches split off
// before that. Later ones know it through these.
func (b *branches) readers(branch string, after, before int) []int {
	var out []int
	take := func(name string, before int) int {
		if n := b.next(name, after, before); n >= 0 {
			out = append(out, n)
			return b.spans[n].first
		}
		return before
	}
	for a := range schema.Branches(branch) {
		before = take(a, before)
	}
	for _, name := range b.names {
		if !schema.BranchIn(name, branch) {
			continue
		}
		limit := before
		for a := range schema.Branches(name) {
			if a == name {
				continue
			}
			if !schema.BranchIn(a, branch) {
				break
			}
			if n := b.next(a, after, limit); n >= 0 {
				limit = b.spans[n].first
			}
		}
		take(name, limit)
	}
	return out
}
