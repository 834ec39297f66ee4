// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

type saveArgs struct {
	File string `json:"file"`
}

// ADK keeps the artifacts of the first of several calls made at once, and of that one
// they come twice: from the call and with the event.
func TestArtifactsOfParallelTools(t *testing.T) {
	const n = 5
	save := functionTool(t, functiontool.Config{Name: "save"}, func(ctx agent.Context, a saveArgs) (map[string]any, error) {
		_, err := ctx.Artifacts().Save(ctx, a.File, genai.NewPartFromText("text"))
		return m{"saved": a.File}, err
	})
	var fcs []*genai.FunctionCall
	for i := range n {
		fcs = append(fcs, &genai.FunctionCall{ID: fmt.Sprint("call-", i), Name: "save", Args: m{"file": fmt.Sprintf("a %d.txt", i)}})
	}
	sink, r := recorded(t, recorder.Config{}, llm(t, llmagent.Config{Name: "root", Model: adktest.CallsOnce(fcs...), Tools: []tool.Tool{save}}))
	adktest.Run(t, r, "u", "s", adktest.UserText("save"))
	rows := sink.Of(record.ArtifactDelta)
	slices.SortFunc(rows, func(a, b record.Event) int { return slices.Compare(a.Content, b.Content) })
	spans := make(map[any]string)
	for _, e := range sink.Of(record.ToolStarting) {
		spans[rowtest.Attribute(t, e, "adk", "call_id")] = e.SpanID
	}
	if len(rows) != n {
		t.Fatalf("%d rows of ARTIFACT_DELTA, want %d", len(rows), n)
	}
	for i, e := range rows {
		id := fmt.Sprint("call-", i)
		diff(t, id, shape{
			Type: record.ArtifactDelta, Agent: "root", Status: "OK",
			Content: m{
				"artifact": fmt.Sprintf("a %d.txt", i), "version": 1.0,
				"uri": fmt.Sprintf("artifact://apps/app/users/u/sessions/s/artifacts/a%%20%d.txt/versions/1", i),
			},
			Attributes: m{"adk": m{"call_id": id}},
		}, shapeOf(t, e))
		if e.SpanID != spans[id] {
			t.Errorf("%s: the row does not stand on the span of its call", id)
		}
	}
	checkParents(t, sink.Rows())
}

func TestArtifactsOfEvents(t *testing.T) {
	root := emits(t, "root",
		&session.Event{ID: "e1", Actions: session.EventActions{ArtifactDelta: map[string]int64{"user:my prefs.json": 2, "b": 1}}},
		&session.Event{ID: "e2", Actions: session.EventActions{ArtifactDelta: map[string]int64{"b": 1, "c": 1}}},
	)
	sink, r := recorded(t, recorder.Config{}, root)
	adktest.Run(t, r, "u/1", "s", adktest.UserText("go"))
	row := func(name, uri string, version float64) shape {
		return shape{
			Type: record.ArtifactDelta, Agent: "root", Status: "OK", Content: m{"artifact": name, "version": version, "uri": uri},
			Attributes: m{"adk": m{"source_event_id": fresh}, "source_event_id": fresh},
		}
	}
	diff(t, "rows", []shape{
		row("b", "artifact://apps/app/users/u%2F1/sessions/s/artifacts/b/versions/1", 1),
		row("user:my prefs.json", "artifact://apps/app/users/u%2F1/artifacts/user:my%20prefs.json/versions/2", 2),
		row("c", "artifact://apps/app/users/u%2F1/sessions/s/artifacts/c/versions/1", 1),
	}, shapesOf(t, sink.Of(record.ArtifactDelta)))
	for _, e := range sink.Of(record.ArtifactDelta) {
		if e.SpanID != one(t, sink, record.AgentStarting).SpanID {
			t.Error("the row does not stand on the agent's span")
		}
	}
}
