// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// What the journal answers where no method of the graph says it.

// first is the key of the step with the first message.
func (d *demo) first() string {
	for _, e := range d.graph.Trace().Timeline {
		if e.EventType == record.UserMessageReceived {
			return graphsync.RowNodeKey(&e)
		}
	}
	return ""
}

// decidedAt is the time of the request.
func (d *demo) decidedAt() (at time.Time) {
	node, _ := d.graph.Node(d.decision)
	for _, e := range d.graph.Trace().Timeline {
		if e.EventType == record.HITLConfirmationRequest && slices.Contains(node.EventIDs, e.EventID) {
			at = e.Time()
		}
	}
	return at
}

// seenBefore are the entities that the session saw before the request.
func (d *demo) seenBefore() (out []entity.Entity) {
	at := d.decidedAt()
	for _, e := range d.graph.Entities() {
		if !e.SeenAt.After(at) {
			out = append(out, e)
		}
	}
	return out
}

// product is a product that the request rests on.
func (d *demo) product() entity.Entity {
	reasons, err := d.graph.Why(d.decision)
	if err != nil {
		return entity.Entity{}
	}
	for _, r := range reasons {
		if r.Entity.Type == "Product" {
			return entity.Entity{Type: r.Entity.Type, Value: r.Entity.Value}
		}
	}
	return entity.Entity{}
}

// uses are the requests of all sessions that rest on the product.
func (d *demo) uses() (lines []string, err error) {
	key := d.product().CanonicalKey()
	for _, s := range d.sessions {
		for _, n := range d.graphs[s].Nodes() {
			if !slices.Contains(n.EventTypes, record.HITLConfirmationRequest) {
				continue
			}
			reasons, err := d.graphs[s].Why(n.Key)
			if err != nil {
				return nil, err
			}
			for _, r := range reasons {
				if r.Entity.Key == key {
					lines = append(lines, fmt.Sprintf("%s %s: %s, %d hops", s.ID, n.Key, r.Entity.Value, r.Hops))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// waits are the requests to people in groups, with the longest time until an answer.
func (d *demo) waits() (lines []string) {
	type group struct {
		requests, answered, confirmed, accepted int
		longest                                 time.Duration
	}
	groups := make(map[string]*group)
	of := make(map[string]*group) // by the id of the confirmation
	for i := range d.rows {
		e := &d.rows[i]
		var content struct {
			Args struct {
				Call struct {
					Name string `json:"name"`
				} `json:"originalFunctionCall"`
			} `json:"args"`
		}
		var attributes struct {
			ADK struct {
				Confirmation string  `json:"confirmation_id"`
				Confirmed    bool    `json:"confirmed"`
				Accepted     bool    `json:"accepted"`
				Waited       float64 `json:"waited_ms"`
			} `json:"adk"`
		}
		if json.Unmarshal(e.Content, &content) != nil || json.Unmarshal(e.Attributes, &attributes) != nil {
			continue
		}
		switch id := attributes.ADK.Confirmation; e.EventType {
		case record.HITLConfirmationRequest:
			key := fmt.Sprintf("CONFIRMATION %s %s", e.Agent, content.Args.Call.Name)
			if groups[key] == nil {
				groups[key] = new(group)
			}
			groups[key].requests++
			of[id] = groups[key]
		case record.HITLConfirmationRequestCompleted:
			g := of[id]
			if g == nil {
				continue
			}
			g.answered++
			g.longest = max(g.longest, time.Duration(attributes.ADK.Waited*float64(time.Millisecond)).Round(time.Millisecond))
			if attributes.ADK.Confirmed {
				g.confirmed++
			}
			if attributes.ADK.Accepted {
				g.accepted++
			}
		}
	}
	for key, g := range groups {
		lines = append(lines, fmt.Sprintf("%s: %d requests, 0 unpaired, %d answered, %d confirmed, %d accepted, %s", key, g.requests, g.answered, g.confirmed, g.accepted, g.longest))
	}
	slices.Sort(lines)
	return lines
}

// drift is what the checks of all sessions found.
func (d *demo) drift() (lines []string) {
	type verdicts struct{ safe, drift, failed, stale, entities int }
	days := make(map[string]*verdicts)
	changes := make(map[string]int)
	for _, s := range d.sessions {
		for _, p := range d.looks[s].Approvals {
			for _, c := range p.Checks {
				key := c.At.UTC().Format(time.DateOnly) + " " + c.Stage
				if days[key] == nil {
					days[key] = new(verdicts)
				}
				v := days[key]
				switch c.Verdict {
				case "safe":
					v.safe++
				case "drift":
					v.drift++
				default:
					v.failed++
				}
				v.stale, v.entities = v.stale+c.Stale, v.entities+c.Total
				for _, a := range c.Alerts {
					changes[fmt.Sprintf("%s %s %s", a.EntityType, a.Entity, a.Drift)]++
				}
			}
		}
	}
	for key, v := range days {
		lines = append(lines, fmt.Sprintf("%s: %d safe, %d drift, %d failed; %d of %d changed", key, v.safe, v.drift, v.failed, v.stale, v.entities))
	}
	for key, n := range changes {
		lines = append(lines, fmt.Sprintf("%s: %d", key, n))
	}
	slices.Sort(lines)
	return lines
}
