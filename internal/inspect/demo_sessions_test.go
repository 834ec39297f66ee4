// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

var (
	update = flag.Bool("update", false, "write the golden files")
	taken  = flag.String("record", "", "a journal of the example adcp, to take the sessions in testdata from")
)

// recorded is a session of the example as it stands in testdata.
type recorded struct {
	Session   record.Session
	Rows      []recordedRow
	Rules     json.RawMessage
	Approvals []safety.Approval
	History   map[string][]safety.Step
}

// recordedRow is a row with its payloads as JSON and not as bytes.
type recordedRow struct {
	record.Event
	Content, ContentParts, Attributes, LatencyMS json.RawMessage `json:",omitempty"`
}

func (r recorded) record(t *testing.T) inspect.Record {
	t.Helper()
	x, err := graphsync.ReadRules(r.Rules)
	if err != nil {
		t.Fatal(err)
	}
	out := inspect.Record{Session: r.Session, Approvals: r.Approvals, History: r.History}
	for _, row := range r.Rows {
		e := row.Event
		e.Content, e.ContentParts, e.Attributes, e.LatencyMS = row.Content, row.ContentParts, row.Attributes, row.LatencyMS
		out.Rows = append(out.Rows, e)
	}
	out.Fold = graphsync.Fold(x, out.Rows)
	return out
}

// take writes the sessions of a journal to testdata, without prompts and tool lists.
func take(t *testing.T, path string) {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(t.Context())
	rules, _, err := j.Rules(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	src := inspect.NewJournal(j)
	page, err := src.Sessions(t.Context(), inspect.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range page.Sessions {
		r, err := src.Record(t.Context(), line.Session)
		if err != nil {
			t.Fatal(err)
		}
		out := recorded{Session: r.Session, Rules: rules, Approvals: r.Approvals, History: r.History}
		for _, e := range r.Rows {
			row := recordedRow{Event: e, Content: e.Content, ContentParts: e.ContentParts, Attributes: e.Attributes, LatencyMS: e.LatencyMS}
			if e.EventType == record.LLMRequest {
				row.Content, row.Attributes = encode(m{"prompt": []m{}}), encode(m{"adk": m{"app_name": e.AppName}, "model": line.Models[0]})
			}
			row.Event.Content, row.Event.ContentParts, row.Event.Attributes, row.Event.LatencyMS = nil, nil, nil, nil
			out.Rows = append(out.Rows, row)
		}
		data, err := json.MarshalIndent(out, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("testdata", line.Session.ID+".json"), append(data, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGolden holds what is made of the sessions of the example: one that was executed, one
// that was blocked because the world changed, and one whose check failed. From rows alone
// it is the same but for what only the ledger knows.
func TestGolden(t *testing.T) {
	if *taken != "" {
		take(t, *taken)
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d sessions in testdata, %v, want 3", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var in recorded
			if err := json.Unmarshal(data, &in); err != nil {
				t.Fatal(err)
			}
			r := in.record(t)
			now := time.UnixMicro(r.Rows[0].Timestamp).Add(time.Hour)
			s, err := inspect.New(r, now)
			if err != nil {
				t.Fatal(err)
			}
			sound(t, s)
			got := outline(s)
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := gocmp.Diff(string(want), got); d != "" {
				t.Errorf("the session differs (-want +got):\n%s", d)
			}

			r.Approvals, r.History = nil, nil
			alone, err := inspect.New(r, now)
			if err != nil {
				t.Fatal(err)
			}
			for i := range s.Approvals {
				s.Approvals[i].State, s.Approvals[i].History = "", nil
			}
			if d := gocmp.Diff(s, alone); d != "" {
				t.Errorf("from rows alone it differs (-ledger +rows):\n%s", d)
			}
		})
	}
}

// outline is a session as text, without what is random: spans are named by their place.
func outline(s *inspect.Session) string {
	var b strings.Builder
	place := make(map[string]int)
	for i, sp := range s.Spans {
		place[sp.Key] = i
	}
	name := func(key string) string {
		if i, ok := place[key]; ok {
			return fmt.Sprintf("#%d", i)
		}
		return cmp.Or(key, "-")
	}
	fmt.Fprintf(&b, "%s: %s (%s)\n", s.Session.ID, s.Title, s.Status)
	fmt.Fprintf(&b, "agents %v, models %v, %d turns, %d events, %d errors, %d approvals, tokens %+v\n", s.Agents, s.Models, s.Turns, s.Events, s.Errors, s.Summary.Approvals, s.Tokens)
	for i, sp := range s.Spans {
		fmt.Fprintf(&b, "%s#%d %s %s %s turn %d %s rows %v\n", strings.Repeat("  ", sp.Depth+1), i, sp.Class, sp.Agent, sp.Name, sp.Turn, sp.Status, sp.Rows)
	}
	for _, e := range s.Edges {
		fmt.Fprintf(&b, "%s %s %s\n", name(e.From), e.Kind, name(e.To))
	}
	for _, e := range s.Entities {
		fmt.Fprintf(&b, "%s %v by %v, confidence %v\n", e.Key, e.Attributes, e.Sources, e.Confidence)
		for _, seen := range e.Evaluated {
			fmt.Fprintf(&b, "  %s in %s row %d by %s %v\n", seen.Link, name(seen.Span), seen.Row, seen.Source, seen.Attributes)
		}
	}
	for _, a := range s.Approvals {
		fmt.Fprintf(&b, "approval of %s %s in %s: %s, state %s, enforced %v\n  %s\n", a.Kind, a.Tool, name(a.Span), a.Status, a.State, a.Enforced, untimed(a.Explanation))
		for _, e := range a.Entities {
			fmt.Fprintf(&b, "  rests on %s: %v -> %v: %s %s\n", e.Key, e.Seen, e.Now, e.Outcome, e.Reason)
		}
		for _, ans := range a.Answers {
			fmt.Fprintf(&b, "  answer in row %d: %v, accepted %v %s\n", ans.Row, ans.Confirmed, ans.Accepted, ans.Reason)
		}
		for _, c := range a.Checks {
			fmt.Fprintf(&b, "  check %s in %s row %d: %s, %d of %d stale, %d alerts, %d failures\n", c.Stage, name(c.Span), c.Row, c.Verdict, c.Stale, c.Total, len(c.Alerts), len(c.Failures))
		}
		if a.Execution != nil {
			fmt.Fprintf(&b, "  executed in %s: %s\n", name(a.Execution.Span), a.Execution.Status)
		}
		for _, w := range a.Why {
			var path []string
			for _, step := range w.Path {
				path = append(path, strings.TrimSpace(name(step.Span)+" "+step.Edge))
			}
			fmt.Fprintf(&b, "  because of %s, by %s, %d hops: %s\n", w.Entity, w.Origin, w.Hops, strings.TrimSpace(strings.Join(append(path, w.Note), " ")))
		}
		for _, h := range a.History {
			fmt.Fprintf(&b, "  %s -> %s %s\n", h.From, h.To, h.Verdict)
		}
	}
	for _, n := range s.Thoughts.Nodes {
		fmt.Fprintf(&b, "%s %s turn %d row %d %s: %s\n", n.ID, n.Kind, n.Turn, n.Row, name(n.Span), n.Label)
	}
	for _, e := range s.Thoughts.Edges {
		fmt.Fprintf(&b, "%s %s %s\n", e.From, e.Kind, e.To)
	}
	for _, p := range s.Problems {
		fmt.Fprintf(&b, "problem %s: %s\n", p.Kind, p.Detail)
	}
	var path []string
	for _, key := range s.CriticalPath {
		path = append(path, name(key))
	}
	fmt.Fprintf(&b, "critical path %s\n", strings.Join(path, " "))
	return b.String()
}

// untimed takes the times out of a sentence.
func untimed(s string) string {
	words := strings.Fields(s)
	return strings.Join(slices.DeleteFunc(words, func(w string) bool {
		return len(w) > 7 && (strings.Count(w, "-") == 2 && w[0] == '2' || strings.Count(w, ":") == 2)
	}), " ")
}
