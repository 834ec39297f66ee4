// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"encoding/json"
	"slices"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// packed is a session as the page gets it. It says the same as [inspect.Session] in fewer bytes:
// lists are tables, a span is referred to by its place in the list of spans, and what the page can
// take from elsewhere in the session is left out. The function unpack of the page undoes this.
type packed struct {
	inspect.Summary
	Problems     []inspect.Problem  `json:"problems"`
	Spans        table              `json:"spans"`
	Edges        table              `json:"edges"`
	Entities     []packedEntity     `json:"entities"`
	Approvals    []inspect.Approval `json:"approvals"`
	Thoughts     packedThoughts     `json:"thoughts"`
	CriticalPath table              `json:"critical_path"`
	// Rows have no payloads. Gists have what the views need of them before they are there.
	Rows  table `json:"rows"`
	Gists table `json:"gists"`
	// Payloads are those of the rows, in their order; nil where the page asks the server for them.
	Payloads []payload `json:"payloads,omitempty"`
}

type packedEntity struct {
	inspect.Entity
	Evaluated table `json:"evaluated"`
}

type packedThoughts struct {
	Nodes table `json:"nodes"`
	Edges table `json:"edges"`
}

// payload has the content, the content parts and the attributes of a row, without the last of them
// that are missing.
type payload []json.RawMessage

func payloadOf(r *inspect.Row) payload {
	p := payload{r.Content, r.ContentParts, r.Attributes}
	for len(p) > 0 && len(p[len(p)-1]) == 0 {
		p = p[:len(p)-1]
	}
	return p
}

// pack returns a session as the page gets it, with its payloads or without them.
func pack(s *inspect.Session, payloads bool) packed {
	k := packer{Session: s, spans: make(map[string]int, len(s.Spans))}
	for i := range s.Spans {
		k.spans[s.Spans[i].Key] = i
	}
	out := packed{
		Summary: s.Summary, Problems: s.Problems, Spans: k.packSpans(), Edges: k.packEdges(), Entities: make([]packedEntity, len(s.Entities)),
		Approvals: s.Approvals, Thoughts: k.packThoughts(payloads), CriticalPath: table{"key": k.refs(s.CriticalPath)}, Rows: k.packRows(), Gists: tableOf(gistsOf(s.Rows)),
	}
	for i := range s.Entities {
		out.Entities[i] = packedEntity{s.Entities[i], k.packSightings(s.Entities[i].Evaluated)}
	}
	if payloads {
		out.Payloads = make([]payload, len(s.Rows))
		for i := range s.Rows {
			out.Payloads[i] = payloadOf(&s.Rows[i])
		}
	}
	return out
}

// packer packs one session.
type packer struct {
	*inspect.Session
	spans map[string]int // by key
}

// ref returns the place of a span, or its key if the session does not have it.
func (k *packer) ref(key string) any {
	if i, ok := k.spans[key]; ok {
		return i
	}
	return key
}

func (k *packer) refs(keys []string) []any {
	out := make([]any, len(keys))
	for i, key := range keys {
		out[i] = k.ref(key)
	}
	return out
}

// row returns a row; ok is false if there is none with the index.
func (k *packer) row(i int) (r *inspect.Row, ok bool) {
	if i < 0 || i >= len(k.Rows) {
		return nil, false
	}
	return &k.Rows[i], true
}

// packRows leaves out payloads, and the ids that the span of a row has.
func (k *packer) packRows() table {
	t := tableOf(k.Rows)
	delete(t, "content")
	delete(t, "content_parts")
	delete(t, "attributes")
	for i := range k.Rows {
		r := &k.Rows[i]
		if at, ok := k.spans[r.Span]; ok {
			t["span"][i] = at
			if sp := &k.Spans[at]; sp.SpanID == r.SpanID && sp.TraceID == r.TraceID {
				t["span_id"][i], t["trace_id"][i] = nil, nil
			}
		}
	}
	return t
}

// packSpans leaves out the rows of a span, which name it, and its times where they are those of its
// rows.
func (k *packer) packSpans() table {
	t := tableOf(k.Spans)
	own := make(map[string][]int, len(k.Spans))
	for i := range k.Rows {
		own[k.Rows[i].Span] = append(own[k.Rows[i].Span], i)
	}
	for i := range k.Spans {
		s := &k.Spans[i]
		if slices.Equal(s.Rows, own[s.Key]) {
			t["rows"][i] = nil
		}
		if s.Parent != "" {
			t["parent"][i] = k.ref(s.Parent)
		}
		if len(s.Rows) == 0 {
			continue
		}
		if r, ok := k.row(s.Rows[0]); ok && s.Start.Equal(r.Timestamp) {
			t["start"][i] = nil
		}
		if r, ok := k.row(s.Rows[len(s.Rows)-1]); ok && s.End.Equal(r.Timestamp) {
			t["end"][i] = nil
		}
	}
	return t
}

func (k *packer) packEdges() table {
	t := tableOf(k.Edges)
	for i, e := range k.Edges {
		t["from"][i], t["to"][i] = k.ref(e.From), k.ref(e.To)
	}
	return t
}

// packSightings leaves out the span and the time that the row of a sighting has.
func (k *packer) packSightings(list []inspect.Sighting) table {
	t := tableOf(list)
	for i, x := range list {
		t["span"][i] = k.ref(x.Span)
		if r, ok := k.row(x.Row); ok {
			if x.Span == r.Span {
				t["span"][i] = nil
			}
			if x.SeenAt.Equal(r.Timestamp) {
				t["seen_at"][i] = nil
			}
		}
	}
	return t
}

// packThoughts leaves out what the row of a thought has: its span, its time and, if the page has
// payloads, the text of a call and of what came of it.
func (k *packer) packThoughts(payloads bool) packedThoughts {
	nodes, edges := tableOf(k.Thoughts.Nodes), tableOf(k.Thoughts.Edges)
	delete(nodes, "id") // it counts the nodes
	ids := make(map[string]int, len(k.Thoughts.Nodes))
	for i := range k.Thoughts.Nodes {
		n := &k.Thoughts.Nodes[i]
		ids[n.ID] = i
		if n.Label == shortened(n.Detail, maxLabel) {
			nodes["label"][i] = nil
		}
		r, ok := k.row(n.Row)
		if !ok {
			continue
		}
		if n.Span == r.Span {
			nodes["span"][i] = nil
		}
		if n.At.Equal(r.Timestamp) {
			nodes["at"][i] = nil
		}
		if payloads && (n.Kind == "TOOL_CALL" || n.Kind == "OBSERVATION") && n.Detail == called(r) {
			nodes["detail"][i] = nil
		}
	}
	for i, e := range k.Thoughts.Edges {
		edges["from"][i], edges["to"][i] = ids[e.From], ids[e.To]
	}
	return packedThoughts{nodes, edges}
}
