// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// RecorderDataset is the recorder of a graph that was made from the rows in the dataset,
// which are those of all journals. Other recorders are ids of journals.
const RecorderDataset = "dataset"

// ErrNoRows is returned for a session without rows. An empty graph is not brought to a
// dataset: it would say that everything known of the session is out of date.
var ErrNoRows = errors.New("the session has no rows")

// SessionGraph holds the rows of the tables of the graph for one session. All keys are
// computed from what they name, so that the same graph always has the same rows, and
// every key occurs once per table.
type SessionGraph struct {
	Session record.Session
	// Recorder is the id of the journal whose rows the graph was made from, or
	// [RecorderDataset]. A journal knows its own rows only, so what another recorder
	// brought to the dataset is not out of date because this one does not have it.
	Recorder string
	// Partial is true for a graph that was made from a part of the recorder's rows: it
	// adds what is missing in the dataset, and changes and removes nothing.
	Partial bool
	// ReadAt is when the rows were read, UTC. What was brought to the dataset from a
	// later reading is newer: it is neither changed nor removed.
	ReadAt time.Time
	// From and To are the earliest and the latest time in any row below, UTC.
	From, To time.Time
	// Failed are the keys of nodes with an event that could not be read. Their entities
	// are not out of date because this graph does not have them.
	Failed []string

	Nodes    []TechNodeRow
	Edges    []CausedEdgeRow
	Entities []BizNodeRow
	Links    []CrossLinkRow
	Checks   []WorldChangeCheckRow
}

// GraphOptions say where a graph comes from, for [NewSessionGraph].
type GraphOptions struct {
	// Recorder, Partial and Failed are those of the SessionGraph. Recorder is required.
	Recorder string
	Partial  bool
	Failed   []string
	// ReadAt is when the rows were read. Required.
	ReadAt time.Time
}

// NewSessionGraph makes the rows of a session from its graph, such as the one that
// [graphsync.Syncer.Sync] returns, which has all entities of the journal, also those
// that a model found and those it kept of rows that failed. The error wraps
// [ErrNoRows] when the graph is empty.
func NewSessionGraph(s record.Session, g *graphsync.Graph, o GraphOptions) (SessionGraph, error) {
	if o.Recorder == "" || o.ReadAt.IsZero() {
		return SessionGraph{}, fmt.Errorf("warehouse: graph of session %s: who recorded it and when it was read are missing", s.ID)
	}
	at := micros(o.ReadAt)
	out := SessionGraph{Session: s, Recorder: o.Recorder, Partial: o.Partial, ReadAt: at, Failed: slices.Clone(o.Failed)}
	nodes := make(map[string]graphsync.TechNode)
	tools := make(map[string]string)
	for i, n := range g.Nodes() {
		if n.Session != s {
			return SessionGraph{}, fmt.Errorf("warehouse: graph of session %s: node %s belongs to session %s", s.ID, n.Key, n.Session.ID)
		}
		nodes[n.Key] = n
		if n.Kind == graphsync.KindTool && n.CallID != "" && tools[n.CallID] == "" {
			tools[n.CallID] = n.Name
		}
		out.Nodes = append(out.Nodes, techNodeRow(n, i, o.Recorder, at))
	}
	if len(out.Nodes) == 0 {
		return SessionGraph{}, fmt.Errorf("warehouse: graph of session %s: %w", s.ID, ErrNoRows)
	}
	timeline := g.Trace().Timeline
	decided, asked := decisions(timeline), requests(timeline)
	for i := range out.Nodes {
		n := &out.Nodes[i]
		n.decided(decided)
		n.Requests = append(n.Requests, asked[n.NodeKey]...)
		out.cover(n.StartTime, n.EndTime)
	}
	for _, e := range g.Edges() {
		out.Edges = append(out.Edges, CausedEdgeRow{
			EdgeKey: EdgeKey(e.From, e.Kind, e.To), FromKey: e.From, ToKey: e.To, Kind: string(e.Kind), sessionColumns: columnsOf(s),
			OccurredAt: micros(nodes[e.To].Start), Recorder: o.Recorder, CreatedAt: at,
		})
	}
	traces := make(map[string]string, len(nodes))
	for key, n := range nodes {
		traces[key] = n.TraceID
	}
	var err error
	if out.Entities, out.Links, err = entityRows(s, g.Entities(), g.Sightings(), traces, o.Recorder, at); err != nil {
		return SessionGraph{}, err
	}
	for i := range out.Entities {
		out.cover(out.Entities[i].EvaluatedAt)
	}
	for i := range timeline {
		e := &timeline[i]
		if e.EventType == record.WorldChangeCheck {
			out.Checks = append(out.Checks, worldChangeCheckRow(e, tools, o.Recorder, at))
			out.cover(e.Time())
		}
	}
	return out, nil
}

// GraphOfRows makes the graph of a session from rows, in any order, finding entities
// with the rules of x; a nil x finds what tools declared. It is for the rows of a
// dataset; a journal has more than its rows, see [NewSessionGraph].
func GraphOfRows(s record.Session, rows []record.Event, x *graphsync.Extractor, o GraphOptions) (SessionGraph, error) {
	found := x.Extract(rows)
	for i := range found.Failed {
		if node := found.Failed[i].TechNode; !slices.Contains(o.Failed, node) {
			o.Failed = append(slices.Clip(o.Failed), node)
		}
	}
	return NewSessionGraph(s, graphsync.Build(rows, found.Entities), o)
}

// cover widens From and To to times that are set.
func (g *SessionGraph) cover(times ...time.Time) {
	for _, t := range times {
		if t.IsZero() {
			continue
		}
		if g.From.IsZero() || t.Before(g.From) {
			g.From = t
		}
		if t.After(g.To) {
			g.To = t
		}
	}
}

// EdgeKey returns the key of an edge in caused_edges: the first 32 hexadecimal digits of
// the SHA-256 of from, kind and to, each with its length in bytes and a colon before
// it, as in "3:abc".
func EdgeKey(from string, kind graphsync.EdgeKind, to string) string {
	return rowKey(from, string(kind), to)
}

// BizKey returns the key of an entity in extracted_biz_nodes and of the link to it in
// context_cross_links, made like [EdgeKey] from the key of the node that saw it, its
// type and its value. In SQL it is
//
//	LEFT(TO_HEX(SHA256(CONCAT(
//	  CAST(BYTE_LENGTH(node_key) AS STRING), ':', node_key,
//	  CAST(BYTE_LENGTH(node_type) AS STRING), ':', node_type,
//	  CAST(BYTE_LENGTH(node_value) AS STRING), ':', node_value))), 32)
func BizKey(nodeKey, nodeType, nodeValue string) string {
	return rowKey(nodeKey, nodeType, nodeValue)
}

func rowKey(fields ...string) string {
	var buf []byte
	for _, f := range fields {
		buf = strconv.AppendInt(buf, int64(len(f)), 10)
		buf = append(buf, ':')
		buf = append(buf, f...)
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:16])
}

// decisions returns the times of the rows that ask for a confirmation, by event id.
func decisions(rows []record.Event) map[string]time.Time {
	out := make(map[string]time.Time)
	for i := range rows {
		if rows[i].EventType == record.HITLConfirmationRequest {
			out[rows[i].EventID] = rows[i].Time()
		}
	}
	return out
}

// micros returns t as a TIMESTAMP column holds it.
func micros(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// EntityRows returns the rows of entities that were found otherwise than with the graph,
// and the links to them: those that a model found in the rows of a dataset. TechNode,
// SpanID, EventID and SeenAt of each entity are set; traces has the trace ids of the
// nodes by key. An entity that occurs twice counts once.
func EntityRows(s record.Session, es []entity.Entity, traces map[string]string, recorder string, at time.Time) ([]BizNodeRow, []CrossLinkRow, error) {
	return entityRows(s, es, nil, traces, recorder, at)
}

// entityRows is EntityRows with what the steps knew of each entity; nil for entities that
// were seen once.
func entityRows(s record.Session, es []entity.Entity, known [][]graphsync.Known, traces map[string]string, recorder string, at time.Time) ([]BizNodeRow, []CrossLinkRow, error) {
	var rows []BizNodeRow
	var links []CrossLinkRow
	seen := make(map[string]bool)
	for i, e := range es {
		row, err := bizNodeRow(e, s, traces[e.TechNode], recorder, micros(at))
		if err == nil && known != nil {
			err = row.seen(known[i])
		}
		if err != nil {
			return nil, nil, fmt.Errorf("warehouse: session %s: %w", s.ID, err)
		}
		if !seen[row.BizKey] {
			seen[row.BizKey] = true
			rows, links = append(rows, row), append(links, row.link(e))
		}
	}
	return rows, links, nil
}
