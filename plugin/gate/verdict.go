// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// stageAsking is the stage of a check before anybody is asked. Its row has no approval if nobody was, and says what
// the model was told.
const stageAsking = "asking"

// verdict writes the row of a world-change check, a step of the run like any
// other and a node of the graph.
func (g *Gate) verdict(ctx context.Context, r *plugin.Run, report safety.Report, stage, parent string, approval safety.Approval, overridden bool, more ...plugin.Member) {
	if report.StartedAt().IsZero() {
		return
	}
	took := report.CheckedAt().Sub(report.StartedAt())
	x := plugin.Row{
		Type: record.WorldChangeCheck, Agent: approval.Agent, Parent: parent, At: report.CheckedAt(), Took: &took,
		Content: report, ADK: plugin.Object{{Key: "stage", Value: stage}},
	}
	addText(&x.ADK, "call_id", approval.CallID)
	addText(&x.ADK, "confirmation_id", approval.ConfirmationID)
	addText(&x.ADK, "approval_id", approval.ID)
	add(&x.ADK, "verdict", report.Verdict().String())
	if stage == stageAsking {
		add(&x.ADK, "tool", approval.Tool)
	}
	x.ADK = append(x.ADK, more...)
	if g.redo.Load() && report.Verdict() == safety.Drift && (stage == "answer" || stage == "execution") && approval.Tool != safety.InputTool {
		add(&x.ADK, "redo", true)
	}
	if overridden {
		add(&x.ADK, "overridden", true)
	}
	if list := replays(report); len(list) > 0 {
		add(&x.ADK, "replays", list)
	}
	if report.CheckFailed() {
		x.Failed = true
		x.Message = "world-change check failed"
		if f := report.Failures(); len(f) > 0 {
			x.Message = fmt.Sprintf("world-change check failed: %s", f[0].Reason)
		}
		if overridden {
			x.Message += "; people let the call run all the same"
		}
	}
	g.rec.Emit(ctx, r, x)
}

// add adds a member to o.
func add(o *plugin.Object, key string, value any) {
	*o = append(*o, plugin.Member{Key: key, Value: value})
}

// addText adds a text to o, unless it is empty.
func addText(o *plugin.Object, key, text string) {
	if text != "" {
		add(o, key, text)
	}
}

// replays returns the repeated calls that a report rests on, each once.
func replays(report safety.Report) (list []safety.Origin) {
	for _, e := range report.Entities() {
		for _, o := range e.Origins {
			if o.Kind == safety.OriginReplay && !slices.ContainsFunc(list, func(l safety.Origin) bool { return l.Call == o.Call && l.Name == o.Name }) {
				list = append(list, o)
			}
		}
	}
	return list
}

// RecordCheck writes the verdict of a check that was made outside of any run, under a trace of its own.
// approval is the request that was checked; the zero Approval is none.
func (g *Gate) RecordCheck(ctx context.Context, s record.Session, report safety.Report, approval safety.Approval) {
	g.verdict(ctx, g.rec.NoRun(s), report, "check", "", approval, false)
}

// told returns the entities that a check found changed, with the values that the refusal tells
// the model: it has read them then, and may plan with them.
func told(report safety.Report) []entity.Entity {
	changed := report.Drifted()
	if len(changed) == 0 {
		return nil
	}
	type attribute struct{ typ, value, name string }
	shown := make(map[attribute]bool)
	alerts, _ := report.Told()
	for _, a := range alerts {
		shown[attribute{a.EntityType, a.Entity, a.Attribute}] = true
	}
	var out []entity.Entity
	for _, e := range changed {
		e.Attributes = maps.Clone(e.Attributes)
		maps.DeleteFunc(e.Attributes, func(name string, _ entity.Value) bool {
			return !shown[attribute{e.Type, e.Value, name}]
		})
		out = append(out, e)
	}
	return out
}
