// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package writefake

import "slices"

// Connection is what the server knows of one connection.
type Connection struct {
	// Routing holds the values of the header x-goog-request-params.
	Routing []string
	// Stream and TraceID are those of the first request.
	Stream, TraceID string
	// Schemas counts the requests that had a writer schema.
	Schemas int
	// Requests counts all requests.
	Requests int
	// Err is what the connection ended with on the server's side; nil while it lasts or
	// when it ended in order.
	Err error
}

// Request is one request that was received.
type Request struct {
	// Connection and Number say which one, from 0.
	Connection, Number int
	// Rows and Bytes are its size; Bytes is that of the whole message.
	Rows, Bytes int
	// Stream is what the rows are for: .../tables/agent_events/streams/_default.
	Stream string
}

// record is what the server remembers. It is guarded by the lock of the server.
type record struct {
	rows        []Row
	ids         map[string]int // event_id -> times it was applied
	seen        map[string]bool
	arrived     []Row // each event_id once
	connections []*Connection
	lookups     int

	unanswered, maxUnanswered int // bytes
}

// locked reads something of a server.
func locked[T any](s *Server, read func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return read()
}

// see notes a row that was read.
func (r *record) see(row Row) {
	if !r.seen[row.EventID] {
		r.seen[row.EventID] = true
		r.arrived = append(r.arrived, row)
	}
}

// apply adds a row to the table.
func (r *record) apply(row Row) {
	r.rows = append(r.rows, row)
	r.ids[row.EventID]++
}

// Arrived returns each row once, in the order in which the server first read them,
// whatever became of them then.
func (s *Server) Arrived() []Row {
	return locked(s, func() []Row { return slices.Clone(s.record.arrived) })
}

// Rows returns the rows of the table in the order in which they were applied, with
// those that were applied more than once.
func (s *Server) Rows() []Row { return locked(s, func() []Row { return slices.Clone(s.record.rows) }) }

// EventIDs returns each event_id of the table once, in the order of first application.
func (s *Server) EventIDs() (ids []string) {
	seen := make(map[string]bool)
	for _, r := range s.Rows() {
		if !seen[r.EventID] {
			seen[r.EventID] = true
			ids = append(ids, r.EventID)
		}
	}
	return ids
}

// Distinct counts the event_ids of the table.
func (s *Server) Distinct() int { return locked(s, func() int { return len(s.record.ids) }) }

// Applied counts how often the row of an event_id was applied.
func (s *Server) Applied(eventID string) int {
	return locked(s, func() int { return s.record.ids[eventID] })
}

// Connections returns what is known of each connection, in order.
func (s *Server) Connections() []Connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Connection, len(s.record.connections))
	for i, c := range s.record.connections {
		out[i] = *c
		out[i].Routing = slices.Clone(c.Routing)
	}
	return out
}

// LookupCount counts the calls of GetWriteStream.
func (s *Server) LookupCount() int { return locked(s, func() int { return s.record.lookups }) }

// MaxUnanswered returns the most bytes of requests that ever waited for their answers
// at one time, over all connections.
func (s *Server) MaxUnanswered() int { return locked(s, func() int { return s.record.maxUnanswered }) }
