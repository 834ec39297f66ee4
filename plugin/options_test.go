// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

func object(t *testing.T, data []byte) (v any) {
	t.Helper()
	if len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

func TestAllowAndDeny(t *testing.T) {
	for _, tt := range []struct {
		name        string
		allow, deny []string
		want        []string
	}{
		{"deny", nil, []string{record.LLMRequest, record.AgentStarting}, []string{
			"USER_MESSAGE_RECEIVED", "INVOCATION_STARTING", "LLM_RESPONSE", "AGENT_RESPONSE", "AGENT_COMPLETED", "INVOCATION_COMPLETED",
		}},
		{"allow", []string{record.AgentResponse}, nil, []string{"INVOCATION_STARTING", "AGENT_RESPONSE", "INVOCATION_COMPLETED"}},
		{"deny wins", []string{record.AgentResponse, record.LLMRequest}, []string{record.LLMRequest}, []string{
			"INVOCATION_STARTING", "AGENT_RESPONSE", "INVOCATION_COMPLETED",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sink := &rowtest.Sink{}
			r := newRunner(t, recorder.Config{Sink: sink, Record: config.Record{Allow: tt.allow, Deny: tt.deny}}, llmagent.Config{Model: adktest.Says("hi")})
			adktest.Run(t, r, "u", "s", adktest.UserText("hello"))
			if diff := cmp.Diff(tt.want, sink.Types()); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			for i, e := range sink.Rows() {
				if e.RunSeq != int64(i+1) {
					t.Errorf("row %d has run_seq %d: what is left out on purpose must not look lost", i, e.RunSeq)
				}
			}
		})
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name    string
		record  config.Record
		options recorder.Options
		want    string
	}{
		{"unknown type", config.Record{Deny: []string{"LLM_REQEST"}}, recorder.Options{}, `"LLM_REQEST" is not an event type`},
		{"unknown policy", config.Record{Content: map[string]config.ContentPolicy{record.LLMRequest: "some"}}, recorder.Options{}, `"some" is not a policy; use full, digest or none`},
		{"what completeness is judged by", config.Record{Deny: []string{record.InvocationCompleted}}, recorder.Options{}, "INVOCATION_COMPLETED cannot be left out"},
		{"what approvals are judged by", config.Record{
			Content: map[string]config.ContentPolicy{record.WorldChangeCheck: config.ContentNone},
		}, recorder.Options{IsApproval: schema.IsApproval}, "WORLD_CHANGE_CHECK cannot be left out or reduced"},
		{"a pattern", config.Record{Redact: config.Redact{Patterns: []string{"a", "("}}}, recorder.Options{}, "record.redact.patterns[1]: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := recorder.New(recorder.Config{Sink: &rowtest.Sink{}, Record: tt.record, Options: tt.options})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// What the options leave out of the record cannot carry an approval.
func TestLeavingOutEvidenceIsAGap(t *testing.T) {
	for _, tt := range []struct {
		name   string
		record config.Record
		want   []string
	}{
		{"nothing", config.Record{Deny: []string{record.StateDelta}, Content: map[string]config.ContentPolicy{record.LLMRequest: config.ContentNone}}, nil},
		{"rows", config.Record{Deny: []string{record.ToolCompleted}}, []string{"the configuration leaves TOOL_COMPLETED out of the record: record it"}},
		{"content", config.Record{Content: map[string]config.ContentPolicy{record.ToolStarting: config.ContentDigest}}, []string{"the configuration leaves the content of TOOL_STARTING out of the record: record it in full"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec, err := recorder.New(recorder.Config{Sink: &rowtest.Sink{}, Record: tt.record})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, rec.Gaps()); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContentPolicy(t *testing.T) {
	sink := &rowtest.Sink{}
	r := newRunner(t, recorder.Config{Sink: sink, Record: config.Record{Content: map[string]config.ContentPolicy{
		record.UserMessageReceived: config.ContentDigest,
		record.LLMResponse:         config.ContentNone,
	}}}, llmagent.Config{Model: adktest.Says("a private answer")})
	adktest.Run(t, r, "u", "s", adktest.UserText("a private question"))
	msg := sink.Of(record.UserMessageReceived)[0]
	payload := `{"text_summary":"a private question"}`
	want := map[string]any{"sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(payload))), "bytes": float64(len(payload))}
	if diff := cmp.Diff(want, object(t, msg.Content)); diff != "" || msg.ContentParts != nil {
		t.Errorf("parts %s, content (-want +got):\n%s", msg.ContentParts, diff)
	}
	if c := sink.Of(record.LLMResponse)[0].Content; c != nil {
		t.Errorf("content = %s, want none", c)
	}
	for _, e := range sink.Rows() {
		if e.EventType != record.LLMRequest && e.EventType != record.AgentResponse && strings.Contains(string(e.Content)+string(e.ContentParts)+string(e.Attributes), "private") {
			t.Errorf("%s holds the content: %s %s", e.EventType, e.Content, e.Attributes)
		}
	}
}

func TestFormatter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		format func(string, []byte) ([]byte, error)
		want   any
		failed uint64
	}{
		{"changes it", func(typ string, c []byte) ([]byte, error) {
			if typ != record.UserMessageReceived {
				return c, nil
			}
			return []byte(strings.ReplaceAll(string(c), "Alice", "someone")), nil
		}, map[string]any{"text_summary": "I am someone"}, 0},
		{"its answer is redacted as all else", func(typ string, c []byte) ([]byte, error) {
			if typ != record.UserMessageReceived {
				return c, nil
			}
			return []byte(`{"password":"hunter2"}`), nil
		}, map[string]any{"password": "[REDACTED]"}, 0},
		{"fails", func(typ string, c []byte) ([]byte, error) {
			if typ != record.UserMessageReceived {
				return c, nil
			}
			return c, errors.New("out of order")
		}, "[FORMATTER_FAILED]", 1},
		{"panics", func(typ string, c []byte) ([]byte, error) {
			if typ != record.UserMessageReceived {
				return c, nil
			}
			panic("oops")
		}, "[FORMATTER_FAILED]", 1},
		{"no JSON", func(typ string, c []byte) ([]byte, error) {
			if typ != record.UserMessageReceived {
				return c, nil
			}
			return []byte("Alice"), nil
		}, "[FORMATTER_FAILED]", 1},
		{"two values", func(typ string, c []byte) ([]byte, error) {
			if typ != record.UserMessageReceived {
				return c, nil
			}
			return []byte(`1 2`), nil
		}, "[FORMATTER_FAILED]", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sink := &rowtest.Sink{}
			rec, r := recorderAndRunner(t, recorder.Config{Sink: sink, Options: recorder.Options{Format: tt.format}}, llmagent.Config{Model: adktest.Says("hi")})
			adktest.Run(t, r, "u", "s", adktest.UserText("I am Alice"))
			if diff := cmp.Diff(tt.want, object(t, sink.Of(record.UserMessageReceived)[0].Content)); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if got := rec.Stats().FormatterFailed; got != tt.failed {
				t.Errorf("FormatterFailed = %d, want %d", got, tt.failed)
			}
		})
	}
}

func TestSessionStateIsWrittenOnce(t *testing.T) {
	type metadata struct {
		State any `json:"state"`
		Delta any `json:"state_delta"`
	}
	for _, off := range []bool{false, true} {
		sink := &rowtest.Sink{}
		set, err := functiontool.New(functiontool.Config{Name: "set"}, func(ctx agent.Context, _ struct{}) (map[string]any, error) {
			return map[string]any{}, ctx.State().Set("plan", "gold")
		})
		if err != nil {
			t.Fatal(err)
		}
		m := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) != nil {
				return adktest.Text("done"), nil
			}
			return adktest.Call("set", map[string]any{}), nil
		}}
		svc := session.InMemoryService()
		r := newRunnerOn(t, svc, recorder.Config{Sink: sink, Record: config.Record{SessionState: new(!off)}}, llmagent.Config{Model: m, Tools: []tool.Tool{set}})
		created, err := svc.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "u", SessionID: "s", State: map[string]any{
			"budget": 50000.0, "api_key": "k-123", "temp:scratch": "x",
		}})
		if err != nil {
			t.Fatal(err)
		}
		adktest.Run(t, r, "u", "s", adktest.UserText("one"))
		adktest.Run(t, r, "u", "s", adktest.UserText("two"))
		// A change from outside of a run, as the REST API can make it.
		ev := session.NewEvent(t.Context(), "outside")
		ev.Author = "user"
		ev.Actions.StateDelta["budget"] = 40000.0
		got, err := svc.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "u", SessionID: created.Session.ID()})
		if err != nil {
			t.Fatal(err)
		}
		if err := svc.AppendEvent(t.Context(), got.Session, ev); err != nil {
			t.Fatal(err)
		}
		adktest.Run(t, r, "u", "s", adktest.UserText("three"))

		var seen []metadata
		for _, e := range sink.Rows() {
			var a struct {
				M metadata `json:"session_metadata"`
			}
			if err := json.Unmarshal(e.Attributes, &a); err != nil {
				t.Fatal(err)
			}
			if a.M != (metadata{}) {
				if e.EventType != record.UserMessageReceived {
					t.Errorf("state stands on %s", e.EventType)
				}
				seen = append(seen, a.M)
			}
		}
		want := []metadata{
			{State: map[string]any{"budget": 50000.0, "api_key": "[REDACTED]"}},
			{Delta: map[string]any{"budget": 40000.0}},
		}
		if off {
			want = nil
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("NoSessionState %v: state on record (-want +got):\n%s", off, diff)
		}
	}
}

// shelf stores parts in memory.
type shelf struct {
	mu     sync.Mutex
	parts  map[string]string
	refuse bool
	scheme string
}

func (s *shelf) Put(name, contentType string, data []byte) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse {
		return "", false
	}
	if s.parts == nil {
		s.parts = make(map[string]string)
	}
	if _, ok := s.parts[name]; ok {
		panic("a name was used twice: " + name)
	}
	s.parts[name] = contentType + " " + string(data)
	return s.scheme + name, true
}

func TestParts(t *testing.T) {
	long := strings.Repeat("words and more words. ", 3000)
	msg := &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{
		{Text: "see this"},
		{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("\x89PNG bytes")}},
		{FileData: &genai.FileData{MIMEType: "application/pdf", FileURI: "gs://theirs/brief.pdf"}},
		{Text: long},
		{},
		{ExecutableCode: &genai.ExecutableCode{Code: "print(1)", Language: genai.LanguagePython}},
		{CodeExecutionResult: &genai.CodeExecutionResult{Outcome: genai.OutcomeOK, Output: "1"}},
	}}
	type part struct {
		Mime       string `json:"mime_type"`
		URI        string `json:"uri"`
		Text       string `json:"text"`
		Index      int    `json:"part_index"`
		Attributes string `json:"part_attributes"`
		Mode       string `json:"storage_mode"`
		Ref        any    `json:"object_ref"`
	}
	partsOf := func(e record.Event) (out []part) {
		if len(e.ContentParts) > 0 {
			if err := json.Unmarshal(e.ContentParts, &out); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	for _, tt := range []struct {
		name         string
		store        *shelf
		image        string
		mode, text   string
		stored, fail int
	}{
		{"no store", nil, "[BINARY DATA]", "INLINE", long, 0, 0},
		{"a folder", &shelf{scheme: "file:///parts/"}, "[MEDIA OFFLOADED]", "EXTERNAL_URI", long[:200] + "... [OFFLOADED]", 2, 0},
		{"a bucket", &shelf{scheme: "gs://ours/"}, "[MEDIA OFFLOADED]", "GCS_REFERENCE", long[:200] + "... [OFFLOADED]", 2, 0},
		{"a store that refuses", &shelf{refuse: true}, "[UPLOAD FAILED]", "INLINE", long, 0, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sink := &rowtest.Sink{}
			cfg := recorder.Config{Sink: sink, Record: config.Record{Artifacts: config.Artifacts{Connection: "us.conn"}}}
			if tt.store != nil {
				cfg.Options.Offload = tt.store
			}
			rec, r := recorderAndRunner(t, cfg, llmagent.Config{Model: adktest.Says("ok")})
			adktest.Run(t, r, "u", "s", msg)
			got := partsOf(sink.Of(record.UserMessageReceived)[0])
			var uris []string
			for i := range got {
				if p := &got[i]; p.URI != "" && p.Index != 2 {
					uris = append(uris, p.URI)
					if tt.mode == "GCS_REFERENCE" {
						want := map[string]any{"uri": p.URI, "authorizer": "us.conn", "details": map[string]any{"gcs_metadata": map[string]any{"content_type": p.Mime}}}
						if diff := cmp.Diff(want, p.Ref); diff != "" {
							t.Errorf("object_ref (-want +got):\n%s", diff)
						}
					} else if p.Ref != nil {
						t.Errorf("object_ref = %v outside of a bucket", p.Ref)
					}
					p.URI, p.Ref = "", nil
				}
			}
			if len(uris) != tt.stored {
				t.Errorf("%d parts have a URI of the store, want %d", len(uris), tt.stored)
			}
			textMode := "INLINE"
			if tt.stored > 0 {
				textMode = tt.mode
			}
			want := []part{
				{Mime: "text/plain", Text: "see this", Index: 0, Attributes: "{}", Mode: "INLINE"},
				{Mime: "image/png", Text: tt.image, Index: 1, Attributes: "{}", Mode: tt.mode},
				{Mime: "application/pdf", URI: "gs://theirs/brief.pdf", Index: 2, Attributes: "{}", Mode: "EXTERNAL_URI"},
				{Mime: "text/plain", Text: tt.text, Index: 3, Attributes: "{}", Mode: textMode},
				{Mime: "text/plain", Text: "print(1)", Index: 5, Attributes: `{"executable_code":{"code":"print(1)","language":"PYTHON"}}`, Mode: "INLINE"},
				{Mime: "text/plain", Text: "1", Index: 6, Attributes: `{"code_execution_result":{"outcome":"OUTCOME_OK","output":"1"}}`, Mode: "INLINE"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
			// The request repeats the message: its bytes are stored once.
			request := partsOf(sink.Of(record.LLMRequest)[0])
			if len(request) != 4 {
				t.Errorf("the request's row has %d parts, want the 4 that are not text", len(request))
			}
			if tt.store != nil && len(tt.store.parts) != tt.stored {
				t.Errorf("%d objects were stored, want %d", len(tt.store.parts), tt.stored)
			}
			if got := rec.Stats().NotOffloaded; got != uint64(tt.fail) {
				t.Errorf("NotOffloaded = %d, want %d", got, tt.fail)
			}
			for _, e := range sink.Rows() {
				if strings.Contains(string(e.Content)+string(e.ContentParts)+string(e.Attributes), "PNG bytes") {
					t.Errorf("%s holds the bytes", e.EventType)
				}
			}
			if tt.store != nil {
				for name, data := range tt.store.parts {
					if !slices.ContainsFunc(uris, func(u string) bool { return strings.HasSuffix(u, name) }) {
						t.Errorf("no row names %s (%.40q)", name, data)
					}
				}
			}
		})
	}
}
