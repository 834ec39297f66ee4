// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Writer is who reads the rows of a session and appends a graph of it.
type Writer string

// The writers.
const (
	// WriterJournal has the rows that one journal recorded. Its id is that of the journal.
	WriterJournal Writer = "journal"
	// WriterDataset has the rows in the dataset, which are those of all journals. It needs
	// no id.
	WriterDataset Writer = "dataset"
)

// ErrNoRows is returned for a session without rows. An empty graph is not brought to a
// dataset: it would say that everything known of the session is out of date.
var ErrNoRows = errors.New("the session has no rows")

// SessionGraph is one version of the graph of one session, as one writer read it. Its keys
// are computed from what they name, so that the same graph always has the same rows, and
// every key occurs once.
type SessionGraph struct {
	Session record.Session
	// Day is the day of the first row that the writer has of the session: midnight, UTC. It stays the
	// same for all versions, because the table is partitioned by it.
	Day time.Time
	// Writer and WriterID say who read the rows.
	Writer   Writer
	WriterID string
	// SyncID is another one for each graph that is written: its parts have it in common. Of two graphs
	// with one Version, readers see that with the greater SyncID.
	SyncID string
	// Version is greater for a graph of more rows of the same writer and session.
	Version int64
	// ReadTo is the time of the latest row that was read, UTC. It is no time of a clock
	// of the sync.
	ReadTo time.Time

	Nodes []NodeRow
	// Failed counts the rows that gave no entities because of an error. It is for people.
	Failed int
}

// NewSessionGraph makes the graph of a session for a dataset. Day is the day of the first row in the
// order of recording, and ReadTo the latest time of a row. The caller sets what says who wrote it:
// Writer, WriterID, SyncID and Version. The error wraps [ErrNoRows] when the graph is empty.
//
// Edges, entities and checks stand in the step that they belong to. An entity or a check
// of a step that the graph does not have is left out.
func NewSessionGraph(s record.Session, folded *graphsync.Session) (SessionGraph, error) {
	g, out := folded.Graph(), SessionGraph{Session: s, Failed: folded.Counts().Failed}
	at := make(map[string]int) // places of nodes by key
	tools := make(map[string]string)
	for i, n := range g.Nodes() {
		if n.Session != s {
			return SessionGraph{}, fmt.Errorf("warehouse: graph of session %s: node %s belongs to session %s", s.ID, n.Key, n.Session.ID)
		}
		at[n.Key] = i
		if n.Kind == graphsync.KindTool && n.CallID != "" && tools[n.CallID] == "" {
			tools[n.CallID] = n.Name
		}
		out.Nodes = append(out.Nodes, nodeRow(n, i))
	}
	if len(out.Nodes) == 0 {
		return SessionGraph{}, fmt.Errorf("warehouse: graph of session %s: %w", s.ID, ErrNoRows)
	}
	timeline := g.Trace().Timeline
	out.Day = dayOf(timeline[0].Time())
	decided := decisions(timeline)
	for i := range out.Nodes {
		n := &out.Nodes[i]
		n.decided(decided)
		out.cover(n.StartTime)
		out.cover(n.EndTime)
	}
	for _, e := range g.Edges() {
		if i, ok := at[e.To]; ok {
			to := &out.Nodes[i]
			to.CausedBy = append(to.CausedBy, CauseRow{EdgeKey: EdgeKey(e.From, e.Kind, e.To), FromKey: e.From, Kind: string(e.Kind)})
		}
	}
	known := g.Sightings()
	for i, e := range g.Entities() {
		if err := out.add(at, e, known[i]); err != nil {
			return SessionGraph{}, err
		}
	}
	for i := range timeline {
		e := &timeline[i]
		if place, ok := at[graphsync.RowNodeKey(e)]; ok && e.EventType == record.WorldChangeCheck {
			n := &out.Nodes[place]
			n.Checks = append(n.Checks, checkRow(e, tools))
		}
	}
	return out, nil
}

// add puts an entity into its step, with what the step knew of it before.
func (g *SessionGraph) add(at map[string]int, e entity.Entity, known []graphsync.Known) error {
	place, ok := at[e.TechNode]
	if !ok {
		return nil
	}
	row, err := entityRow(e, g.ReadTo)
	if err == nil {
		err = row.seen(known)
	}
	if err != nil {
		return fmt.Errorf("warehouse: session %s: %w", g.Session.ID, err)
	}
	n := &g.Nodes[place]
	if !slices.ContainsFunc(n.Entities, func(r EntityRow) bool { return r.BizKey == row.BizKey }) {
		n.Entities = append(n.Entities, row)
	}
	return nil
}

// cover widens ReadTo to the time of a row.
func (g *SessionGraph) cover(t time.Time) {
	if t = micros(t); t.After(g.ReadTo) {
		g.ReadTo = t
	}
}

// dayOf returns the midnight, UTC, before a time.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Parts splits the graph into rows of session_graphs whose nodes have at most maxBytes as
// JSON, which the encoded message of a row does not exceed but for a few bytes a string.
// A node is in one part. One that is larger alone has a part of its own.
func (g *SessionGraph) Parts(maxBytes int) ([]SessionGraphRow, error) {
	var rows []SessionGraphRow
	size := maxBytes
	for i := range g.Nodes {
		text, err := json.Marshal(&g.Nodes[i])
		if err != nil {
			return nil, fmt.Errorf("warehouse: session %s: node %s: %w", g.Session.ID, g.Nodes[i].NodeKey, err)
		}
		if size += len(text); size > maxBytes {
			size = len(text)
			rows = append(rows, SessionGraphRow{
				sessionColumns: columnsOf(g.Session), SessionDay: g.Day.UTC().Format(time.DateOnly), Writer: g.Writer, WriterID: g.WriterID,
				SyncID: g.SyncID, Version: g.Version, ReadTo: g.ReadTo, Part: len(rows),
			})
		}
		row := &rows[len(rows)-1]
		row.Nodes = append(row.Nodes, g.Nodes[i])
	}
	for i := range rows {
		rows[i].Parts = len(rows)
	}
	return rows, nil
}

// EdgeKey returns the key of an edge: the first 32 hexadecimal digits of
// the SHA-256 of from, kind and to, each with its length in bytes and a colon before
// it, as in "3:abc".
func EdgeKey(from string, kind graphsync.EdgeKind, to string) string {
	return rowKey(from, string(kind), to)
}

// BizKey returns the key of an entity and of the link to it, made like [EdgeKey] from the key of the node that saw it, its
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
