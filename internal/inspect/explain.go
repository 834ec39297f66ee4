// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// explain adds to the approvals what only the whole session can say: which of its
// entities they rest on, the paths to them, and the history.
func (x *builder) explain(s *Session) {
	known := thingsOf(s.Entities, x.graph.Entities())
	keys := make(map[string]bool, len(s.Entities))
	for i := range s.Entities {
		keys[s.Entities[i].Key] = true
	}
	for i := range s.Approvals {
		a := &s.Approvals[i]
		for n := range i {
			old := &s.Approvals[n]
			again := old.Status == StatusSuperseded && old.Tool == a.Tool && old.ArgsDigest == a.ArgsDigest && old.Agent == a.Agent
			if a.ID != "" && (old.ID == a.Replaces || again) {
				old.ReplacedBy = a.ID
			}
		}
		a.Why = x.why(a.Span)
		a.History = slices.Clone(x.History[a.ID])
		for n := range a.History {
			a.History[n].At = clock(a.History[n].At)
		}
		if n := len(a.History); n > 0 && a.Status == StatusSuperseded {
			why := "The same call was asked for again, and only the newer request counts."
			switch note := a.History[n-1].Note; {
			case strings.HasPrefix(note, safety.WentBack):
				why = "The session went back to before this request."
			case note == safety.Withdrawn:
				why = "The run went on without an answer to this request."
			}
			a.Explanation = why + fmt.Sprintf(notByAnswer, a.Tool)
		}
		keyed(known, keys, a.Entities)
		for n := range a.Checks {
			keyed(known, keys, a.Checks[n].Entities)
		}
	}
}

// keyed sets the keys of those entities that the session has.
func keyed(known things, keys map[string]bool, rested []Rested) {
	for i := range rested {
		if r := &rested[i]; !keys[r.Key] {
			r.Key = known[thing(r.Type, r.Value)]
		}
	}
}

// why returns the paths from the entities of a request to the request.
func (x *builder) why(span string) []Why {
	out := []Why{}
	reasons, err := x.graph.Why(span)
	if err != nil {
		return out // the span of the request is not on record
	}
	for _, r := range reasons {
		w := Why{
			Entity: r.Entity.Key, Type: r.Entity.Type, Value: r.Entity.Value, Origin: r.Origin.String(), Note: unshown(r.Origin),
			Hops: r.Hops, Path: []WhyStep{},
		}
		for _, step := range r.Path {
			w.Path = append(w.Path, WhyStep{Span: step.Node.Key, Edge: string(step.Edge)})
		}
		out = append(out, w)
	}
	return out
}

// unshown says that no result showed an entity, "" where one did.
func unshown(o graphsync.Origin) string {
	who := ""
	switch o {
	case graphsync.OriginNamed:
		who = "only named there"
	case graphsync.OriginAction:
		who = "named by the action"
	default:
		return ""
	}
	return fmt.Sprintf("%s; no result in the %d steps before the request shows it", who, graphsync.DefaultHops)
}
