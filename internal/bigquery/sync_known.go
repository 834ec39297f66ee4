// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// KnownGraphs says which steps of some sessions the dataset has in graphs, and under which days.
type KnownGraphs struct {
	// Version is the time of BigQuery's clock at which this was read, in microseconds: the version of
	// a graph that is made of rows of the dataset which are read after it.
	Version  int64
	sessions map[record.Session]*knownGraph
}

// knownGraph is what is known of one session.
type knownGraph struct {
	first time.Time            // of the first step
	day   time.Time            // the first
	days  map[string]time.Time // by the key of the step
}

// KnownGraphs reads what the dataset has of sessions, those under days since 90 days before a time.
// One query reads the graphs of at most 100 sessions, which is how many may be given.
func (d *Dataset) KnownGraphs(ctx context.Context, sessions []record.Session, from time.Time) (KnownGraphs, error) {
	known := KnownGraphs{sessions: make(map[record.Session]*knownGraph)}
	err := d.query(ctx, job{
		statement: "sync_known", feature: featureSync, params: manyParams(sessions, from.Add(-graphAge), d.now().Add(skew)),
	}, func(r *row) error {
		known.Version = value[int64](r, "now")
		node := r.text("node_key")
		if node == "" {
			return nil // no session is known
		}
		s := r.session("app", "user", "session")
		k := known.sessions[s]
		if k == nil {
			k = &knownGraph{days: make(map[string]time.Time)}
			known.sessions[s] = k
		}
		day := value[civil.Date](r, "day").In(time.UTC)
		k.days[node] = day
		if k.day.IsZero() || day.Before(k.day) {
			k.day = day
		}
		if at := r.time("first"); !at.IsZero() && (k.first.IsZero() || at.Before(k.first)) {
			k.first = at
		}
		return nil
	})
	return known, err
}

// Spans returns the times from which the rows of sessions are to be read: from the first step that
// their graph in the dataset has, if that is before from, else from that time. A graph of
// [warehouse.WriterDataset] has to be made of the rows since then: one of later rows would lack the
// earlier steps, and take their place.
func (k *KnownGraphs) Spans(sessions []record.Session, from time.Time) []SessionSpan {
	spans := make([]SessionSpan, len(sessions))
	for i, s := range sessions {
		spans[i] = SessionSpan{s, from}
		if known := k.sessions[s]; known != nil && !known.first.IsZero() && known.first.Before(from) {
			spans[i].From = known.first
		}
	}
	return spans
}

// Split puts each step of a graph under the day that it has in the dataset, so that no step stands
// under two: one graph for each day. A step that is not there yet goes to the first day of its
// session, and where there is none, to the day of g.
func (k *KnownGraphs) Split(g warehouse.SessionGraph) []warehouse.SessionGraph {
	known := k.sessions[g.Session]
	if known == nil {
		known = &knownGraph{day: g.Day}
	}
	nodes := make(map[time.Time][]warehouse.NodeRow)
	for _, n := range g.Nodes {
		day, there := known.days[n.NodeKey]
		if !there {
			day = known.day
		}
		nodes[day] = append(nodes[day], n)
	}
	var out []warehouse.SessionGraph
	for _, day := range slices.SortedFunc(maps.Keys(nodes), time.Time.Compare) {
		part := g
		part.Day, part.Nodes = day, nodes[day]
		out = append(out, part)
	}
	return out
}

// SessionGraphs is the graph of a session: one for each day under which the dataset has its steps.
type SessionGraphs struct {
	Session record.Session
	Graphs  []warehouse.SessionGraph
	// Found are the rows of the dataset that say what models found in the session.
	Found []record.Event
}

// SessionGraphs makes graphs of [warehouse.WriterDataset] of the rows in the dataset: those that all
// hosts streamed between two times, and those since the first step of a session that has a graph. A
// nil x finds what tools declared. Errors are those of [Dataset.ReadSessions].
func (d *Dataset) SessionGraphs(ctx context.Context, sessions []record.Session, x *graphsync.Extractor, from, to time.Time) iter.Seq2[SessionGraphs, error] {
	return func(yield func(SessionGraphs, error) bool) {
		for chunk := range slices.Chunk(sessions, readAtOnce) {
			known, err := d.KnownGraphs(ctx, chunk, from)
			if err != nil {
				yield(SessionGraphs{}, err)
				return
			}
			for read, err := range d.ReadSessions(ctx, known.Spans(chunk, from), to) {
				out := SessionGraphs{Session: read.Session}
				for _, e := range read.Rows {
					if e.EventType == record.EntitiesFound {
						out.Found = append(out.Found, e)
					}
				}
				var g warehouse.SessionGraph
				if err == nil {
					g, err = warehouse.NewSessionGraph(read.Session, graphsync.Fold(x, read.Rows))
				}
				if err == nil {
					g.Writer, g.Version = warehouse.WriterDataset, known.Version
					out.Graphs = known.Split(g)
				}
				if !yield(out, err) || out.Session == (record.Session{}) {
					return
				}
			}
		}
	}
}
