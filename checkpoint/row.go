// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// What a row AGENT_STATE_CHECKPOINT says in attributes.adk.checkpoint.
const (
	created  = "created"
	deleted  = "deleted"
	rewound  = "rewound"
	forked   = "forked"
	imported = "imported"
)

// said is what such a row says besides; of the row of a call it is the id.
type said struct {
	Checkpoint string   `json:"checkpoint"`
	Name       string   `json:"name"`
	Of         string   `json:"of"`     // the named row
	Hidden     string   `json:"hidden"` // ids of events, a line each
	Left       []string `json:"left"`   // runs
	More       string   `json:"more"`   // a row with more of both
	Redo       string   `json:"redo"`   // the approval whose turn is done again
	CallID     string   `json:"call_id"`
}

func readSaid(e *record.Event) said {
	var attributes struct {
		ADK said `json:"adk"`
	}
	_ = json.Unmarshal(e.Attributes, &attributes) // of a row of another recorder nothing is known
	return attributes.ADK
}

// note writes a row, and waits until it is stored. It returns the id of the row; "" has one made.
func (c *Checkpoints) note(ctx context.Context, s record.Session, id, what string, more plugin.Object) (string, error) {
	who, authenticated := c.host.Who(ctx, s)
	adk := append(plugin.Object{
		{Key: "checkpoint", Value: what}, {Key: "by", Value: who}, {Key: "authenticated", Value: authenticated},
	}, more...)
	id, err := c.host.Recorder.Store(ctx, c.host.Recorder.NoRun(s), plugin.Row{
		Type: record.AgentStateCheckpoint, ID: id, ADK: adk,
		Content: plugin.Object{{Key: "agent_state", Value: nil}, {Key: "end_of_agent", Value: false}},
	})
	if err != nil {
		return "", fmt.Errorf("checkpoint: %w", err)
	}
	return id, nil
}

// mark is a named position: the row that named it.
type mark struct {
	said
	id  string
	seq int64
	at  time.Time
}

// marks returns the rows of the messages of a session, and its named positions, both in the order of the record.
func (c *Checkpoints) marks(ctx context.Context, s record.Session) (messages []record.Event, marks []mark, err error) {
	if err := c.host.Store.Flush(ctx); err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %w", err)
	}
	found, err := c.host.Store.Standings(ctx, []record.Session{s})
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %w", err)
	}
	rows := found[0].Rows
	for i := range rows {
		e := &rows[i]
		if e.EventType != record.AgentStateCheckpoint {
			continue
		}
		switch m := (mark{readSaid(e), e.EventID, e.Seq, e.Time()}); m.Checkpoint {
		case created:
			marks = append(marks, m)
		case deleted:
			marks = slices.DeleteFunc(marks, func(old mark) bool { return old.id == m.Of })
		}
	}
	messages = slices.DeleteFunc(rows, func(e record.Event) bool { return e.EventType != record.UserMessageReceived })
	return messages, marks, nil
}

// rewind is what one rewind left.
type rewind struct {
	hidden, left []string
	redo         string // the approval whose turn is done again, "" for none
}

// perRow is how many events and runs one row names; a rewind that leaves more has more rows.
const perRow = 2000

// write writes the rows of a rewind. It returns the id of the last one, which leads to the others.
func (c *Checkpoints) write(ctx context.Context, s record.Session, to string, r *rewind) (id string, err error) {
	for from := 0; from == 0 || from < max(len(r.hidden), len(r.left)); from += perRow {
		adk := plugin.Object{{Key: "source_event_id", Value: r.hidden[0]}, {Key: "of", Value: to}, {Key: "hidden", Value: strings.Join(chunk(r.hidden, from), "\n")}, {Key: "left", Value: chunk(r.left, from)}}
		for _, more := range []plugin.Member{{Key: "more", Value: id}, {Key: "redo", Value: r.redo}} {
			if more.Value != "" {
				adk = append(adk, more)
			}
		}
		if id, err = c.note(ctx, s, "", rewound, adk); err != nil {
			return "", err
		}
	}
	// A row is bounded and redacted. If that took anything away, nobody may go by it.
	is, err := c.rewind(ctx, s, id)
	if err == nil && (is == nil || !sameSet(is.hidden, r.hidden) || !sameSet(is.left, r.left)) {
		err = fmt.Errorf("checkpoint: the row of the rewind does not hold what it should; record.max_string and record.redact say what of a row is left out")
	}
	return id, err
}

func chunk(list []string, from int) []string {
	return list[min(from, len(list)):min(from+perRow, len(list))]
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// rewind returns a rewind of a session by the id of its row, nil if there is none.
func (c *Checkpoints) rewind(ctx context.Context, s record.Session, id string) (*rewind, error) {
	key := fmt.Sprintf("%q", [...]string{s.App, s.User, s.ID, id})
	if r, known := c.rewinds.Get(key); known {
		return r, nil
	}
	if c.host.Store == nil {
		return nil, nil
	}
	r := new(rewind)
	for next := id; next != ""; {
		row, found, err := c.host.Store.Row(ctx, next)
		if err != nil {
			return nil, fmt.Errorf("checkpoint: %w", err)
		}
		m := readSaid(&row)
		if !found || row.Session() != s || row.EventType != record.AgentStateCheckpoint || m.Checkpoint != rewound {
			return nil, nil
		}
		if m.Hidden != "" {
			r.hidden = append(r.hidden, strings.Split(m.Hidden, "\n")...)
		}
		r.left, r.redo, next = append(r.left, m.Left...), m.Redo, m.More
	}
	c.rewinds.Add(key, r)
	return r, nil
}
