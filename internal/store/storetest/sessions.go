// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// testSessions selects sessions by each field of a query, and by several.
func testSessions(t *testing.T, a, b store.Store) {
	all := []record.Session{ // in the order of their newest rows
		{App: "shop", User: "ann", ID: "s-1"}, {App: "shop", User: "bob", ID: "s-1"}, {App: "desk", User: "ann", ID: "s-1"},
		{App: "shop", User: "ann", ID: "s-10"}, {App: "shop", User: "ann", ID: "S-1"}, {App: "shop", User: "bob", ID: "s-\x00"},
	}
	put(t, a, row(all[5], "early"), row(all[0], "early too"))
	seq := make([]int64, len(all))
	for i, s := range all {
		e := row(s, fmt.Sprint("r", i))
		e.Timestamp = at([]int{3, 1, 4, 2, 6, 5}[i]).UnixMicro()
		put(t, []store.Store{a, b}[i%2], e)
		e, _, err := a.Row(t.Context(), e.EventID)
		if err != nil {
			t.Fatal(err)
		}
		seq[i] = e.Seq
	}
	for name, tt := range map[string]struct {
		query store.Query
		want  []int
	}{
		"all":                    {store.Query{}, []int{5, 4, 3, 2, 1, 0}},
		"app":                    {store.Query{App: "desk"}, []int{2}},
		"user":                   {store.Query{User: "bob"}, []int{5, 1}},
		"id":                     {store.Query{ID: "s-1"}, []int{2, 1, 0}},
		"the beginning of an id": {store.Query{ID: "s-"}, nil},
		"prefix":                 {store.Query{Prefix: "s-"}, []int{5, 3, 2, 1, 0}},
		"a whole id as prefix":   {store.Query{Prefix: "s-1"}, []int{3, 2, 1, 0}},
		"no such prefix":         {store.Query{Prefix: "-"}, nil},
		"prefix of some bytes":   {store.Query{Prefix: "s-\x00"}, []int{5}},
		"prefix with wildcards":  {store.Query{Prefix: "s_"}, nil},
		"from":                   {store.Query{From: at(4)}, []int{5, 4, 2}},
		"to":                     {store.Query{To: at(2)}, []int{1}},
		"before":                 {store.Query{Before: seq[2]}, []int{1, 0}},
		"before all":             {store.Query{Before: 1}, nil},
		"limit":                  {store.Query{Limit: 2}, []int{5, 4}},
		"offset":                 {store.Query{Offset: 4}, []int{1, 0}},
		"offset of all":          {store.Query{Offset: 6}, nil},
		"one session":            {store.Query{App: "shop", User: "ann", ID: "s-1"}, []int{0}},
		"nobody":                 {store.Query{App: "desk", User: "bob"}, nil},
		"id and prefix":          {store.Query{ID: "s-10", Prefix: "s-1"}, []int{3}},
		"id and other prefix":    {store.Query{ID: "s-10", Prefix: "S"}, nil},
		"from, to":               {store.Query{From: at(2), To: at(5)}, []int{3, 2, 0}},
		"a page":                 {store.Query{Limit: 2, Offset: 1}, []int{4, 3}},
		"a page of a selection":  {store.Query{User: "ann", Prefix: "s-", From: at(2), Limit: 1, Offset: 1}, []int{2}},
		"everything":             {store.Query{App: "shop", User: "ann", ID: "s-10", Prefix: "s", From: at(2), To: at(3), Before: seq[4], Limit: 1}, []int{3}},
	} {
		list, err := b.Sessions(t.Context(), tt.query)
		var want, got []string
		for _, i := range tt.want {
			want = append(want, fmt.Sprintf("%q %d", all[i], seq[i]))
		}
		for _, l := range list {
			got = append(got, fmt.Sprintf("%q %d", l.Session, l.LastSeq))
		}
		wantSame(t, name, err, want, got)
	}
	for _, q := range []store.Query{{Limit: -1}, {Offset: -1}, {Before: -1}} {
		if _, err := a.Sessions(t.Context(), q); err == nil {
			t.Errorf("%+v was accepted", q)
		}
	}
	for n := range 100 {
		put(t, a, row(record.Session{ID: fmt.Sprint("more-", n)}, fmt.Sprint("more-", n)))
	}
	for limit, want := range map[int]int{0: 100, 99: 99, 105: 105, 1000: 106} {
		list, err := b.Sessions(t.Context(), store.Query{Limit: limit})
		wantSame(t, fmt.Sprintf("the number of sessions with limit %d", limit), err, want, len(list))
	}
}

// testSessionLine holds what stands in the list of sessions.
func testSessionLine(t *testing.T, a, b store.Store) {
	none, err := a.Sessions(t.Context(), store.Query{})
	wantSame(t, "the sessions of nothing", err, []store.Session(nil), none)
	create(t, a.Ledger(), Pending(1))
	none, err = a.Sessions(t.Context(), store.Query{})
	wantSame(t, "a session without rows", err, []store.Session(nil), none)

	want := store.Session{Session: own, First: at(2), Last: at(2), Approval: string(safety.StatePending)}
	for n, step := range []struct {
		minute int
		agent  string
		agents []string
	}{{2, "", nil}, {1, "buyer", []string{"buyer"}}, {7, "analyst\x00", []string{"analyst\x00", "buyer"}}, {4, "buyer", []string{"analyst\x00", "buyer"}}} {
		e := row(own, fmt.Sprint(n))
		e.Timestamp, e.Agent = at(step.minute).UnixMicro(), step.agent
		put(t, []store.Store{a, b}[n%2], e, row(record.Session{ID: "other"}, fmt.Sprint("other", n)))
		want.Events, want.Agents = int64(n)+1, step.agents
		if e.Time().Before(want.First) {
			want.First = e.Time()
		}
		if e.Time().After(want.Last) {
			want.Last = e.Time()
		}
		for _, s := range []store.Store{a, b} {
			got, found, err := s.Session(t.Context(), own)
			if !found || err == nil && got.LastSeq <= want.LastSeq && s == a {
				t.Errorf("found is %t, number %d after %d", found, got.LastSeq, want.LastSeq)
			}
			want.LastSeq = got.LastSeq
			wantSame(t, "the session", err, want, got)
		}
	}
	create(t, b.Ledger(), Pending(2))
	if err := reject(t.Context(), b.Ledger(), Pending(1)); err != nil {
		t.Fatal(err)
	}
	got, _, err := a.Session(t.Context(), own)
	wantSame(t, "the approval asked for last", err, string(safety.StatePending), got.Approval)
	if err := reject(t.Context(), b.Ledger(), Pending(2)); err != nil {
		t.Fatal(err)
	}
	got, _, err = a.Session(t.Context(), own)
	wantSame(t, "the approval after a step", err, string(safety.StateRejected), got.Approval)
}

// types has each type of row that a standing shows, and others.
var types = []string{
	record.UserMessageReceived, record.InvocationStarting, record.LLMRequest, record.HITLConfirmationRequest, record.HITLConfirmationRequestCompleted,
	record.WorldChangeCheck, record.LLMResponse, record.HITLInputRequest, record.HITLInputRequestCompleted, record.ToolCompleted,
	record.HITLCredentialRequest, record.HITLCredentialRequestCompleted, record.InvocationCompleted,
}

func testStandings(t *testing.T, a, b store.Store) {
	alone := record.Session{App: own.App, User: own.User, ID: "rows alone"}
	want := make(map[record.Session][]record.Event)
	for _, s := range []record.Session{own, alone} {
		for i, typ := range types {
			e := row(s, fmt.Sprint(s.ID, i))
			e.EventType, e.Content, e.Attributes = typ, []byte(`{"c":1}`), []byte(`{"a":1}`)
			put(t, a, e)
			if store.Milestone(typ) {
				want[s] = append(want[s], e)
			}
		}
	}
	first, second, elsewhere := create(t, b.Ledger(), Pending(1)), create(t, b.Ledger(), Pending(2)), Pending(3)
	elsewhere.Session.ID = "elsewhere"
	create(t, b.Ledger(), elsewhere)
	second = move(t, b.Ledger(), second, safety.StateApproved)
	got, err := a.Standings(t.Context(), []record.Session{alone, {ID: "unknown"}, own, own})
	if err != nil || len(got) != 4 {
		t.Fatalf("%d, %v, want 4", len(got), err)
	}
	wantSame(t, "an unknown session", nil, store.Standing{}, got[1])
	wantSame(t, "the same session", nil, got[2], got[3])
	for i, s := range map[int]record.Session{0: alone, 2: own} {
		wantSame(t, "the rows of "+s.ID, nil, ids(want[s]), ids(got[i].Rows))
		for n, e := range got[i].Rows {
			full := want[s][n]
			message, check := e.EventType == record.UserMessageReceived, e.EventType == record.WorldChangeCheck
			if e.Attributes == nil && message {
				full.Attributes = nil
			}
			if e.Content == nil && !message && (check || s == own) {
				full.Content = nil
			}
			wantRows(t, "a row of "+s.ID, []record.Event{full}, []record.Event{e})
		}
	}
	if len(got[0].Approvals) != 0 || len(got[2].Approvals) != 2 {
		t.Fatalf("%d and %d approvals, want 0 and 2", len(got[0].Approvals), len(got[2].Approvals))
	}
	returned(t, "the first approval", first, got[2].Approvals[0])
	returned(t, "the second approval", second, got[2].Approvals[1])
}

// testOutline reads all rows of a session, whatever their payloads are.
func testOutline(t *testing.T, a, b store.Store) {
	var want []record.Event
	for i, p := range []struct{ typ, content, attributes string }{
		{record.LLMRequest, `{"prompt":"long"}`, `{"model":"gemini","tools":[]}`},
		{record.LLMResponse, `{"response":"long","usage":{"total":5}}`, `{"model_version":"g-1","usage_metadata":{"total_token_count":5}}`},
		{record.LLMResponse, `{`, `{`},
		{record.LLMResponse, ``, ``},
		{record.LLMRequest, `null`, `[]`},
		{record.ToolCompleted, `{"result":"long"}`, `{"adk":{}}`},
	} {
		e := row(own, fmt.Sprint(i))
		e.EventType, e.Status, e.ErrorMessage, e.TraceID, e.SpanID, e.ParentSpanID = p.typ, record.StatusError, "no", "trace", "span", "parent"
		e.InvocationID, e.RunSeq, e.IsTruncated = "inv", int64(i), i%2 == 0
		if p.content != "" {
			e.Content, e.Attributes, e.LatencyMS = []byte(p.content), []byte(p.attributes), []byte(`{"total_ms":3}`)
		}
		want = append(want, e)
	}
	put(t, a, append(want, row(record.Session{ID: "other"}, "other"))...)
	got, err := b.Outline(t.Context(), own)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d rows, %v, want %d", len(got), err, len(want))
	}
	for i, e := range got {
		wantSame(t, "what is known of the model", nil, modelOf(want[i]), modelOf(e))
		full := want[i]
		full.Content, full.ContentParts, full.Attributes = e.Content, e.ContentParts, e.Attributes
		if e.LatencyMS == nil {
			full.LatencyMS = nil
		}
		wantRows(t, "a row", []record.Event{full}, []record.Event{e})
		if i > 0 && e.Seq <= got[i-1].Seq {
			t.Errorf("row %d has number %d after %d", i, e.Seq, got[i-1].Seq)
		}
	}
}

// modelOf returns what an outline keeps of a payload.
func modelOf(e record.Event) (out [4]any) {
	var attributes struct {
		Model   any `json:"model"`
		Version any `json:"model_version"`
		Usage   any `json:"usage_metadata"`
	}
	var content struct {
		Usage any `json:"usage"`
	}
	// What is no JSON object says nothing.
	_ = json.Unmarshal(e.Attributes, &attributes)
	_ = json.Unmarshal(e.Content, &content)
	return [4]any{attributes.Model, attributes.Version, attributes.Usage, content.Usage}
}

// of returns a session of our own user.
func of(id string) record.Session { return record.Session{App: own.App, User: own.User, ID: id} }

func testOpenRequests(t *testing.T, a, b store.Store) {
	now := at(60)
	l := a.Ledger()
	for i, ask := range []struct {
		session string
		minutes int // until it expires
		path    []safety.ApprovalState
	}{
		{"later", 120, nil}, {"soon", 60, nil}, {"soon", 180, nil}, {"expired", -1, nil}, {"this moment", 0, nil},
		{"approved", 90, []safety.ApprovalState{safety.StateApproved}}, {"rejected", 60, []safety.ApprovalState{safety.StateRejected}},
		{"permitted", 60, []safety.ApprovalState{safety.StateApproved, safety.StatePermitted}}, {"blocked", 60, []safety.ApprovalState{safety.StateBlocked}},
		{"rejected", 200, nil},
	} {
		p := Pending(i)
		p.Session.ID, p.ExpiresAt = ask.session, now.Add(time.Duration(ask.minutes)*time.Minute)
		move(t, l, create(t, l, p), ask.path...)
	}
	all := []record.Session{of("soon"), of("approved"), of("later"), of("rejected")}
	for limit, want := range map[int][]record.Session{10: all, 4: all, 1: all[:1], 0: nil, -1: nil} {
		got, err := b.OpenRequests(t.Context(), now, limit)
		wantSame(t, fmt.Sprintf("at most %d", limit), err, want, got)
	}
	got, err := b.OpenRequests(t.Context(), now.Add(100*time.Minute), 10)
	wantSame(t, "later", err, []record.Session{of("later"), of("soon"), of("rejected")}, got)
}

func testRequested(t *testing.T, a, b store.Store) {
	l := a.Ledger()
	bob := record.Session{App: own.App, User: "bob", ID: "third"}
	for i, s := range []record.Session{of("first"), of("second"), bob, {App: "desk", User: own.User, ID: "fourth"}, of("first")} {
		p := Pending(i)
		p.ID, p.Session = fmt.Sprintf("a%d-%d", i%2, i), s
		create(t, l, p)
		if i < 2 {
			if err := l.Attach(t.Context(), p.ID, fmt.Sprintf("adk-%d", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	desk := record.Session{App: "desk", User: own.User, ID: "fourth"}
	for name, tt := range map[string]struct {
		of     record.Session
		prefix string
		limit  int
		want   []record.Session
	}{
		"an id":                         {prefix: "a1-1", limit: 9, want: []record.Session{of("second")}},
		"ids":                           {prefix: "a0", limit: 9, want: []record.Session{of("first"), bob}},
		"confirmations":                 {prefix: "adk-", limit: 9, want: []record.Session{of("second"), of("first")}},
		"both":                          {prefix: "a", limit: 9, want: []record.Session{of("first"), desk, bob, of("second")}},
		"some":                          {prefix: "a", limit: 2, want: []record.Session{of("first"), desk}},
		"any":                           {limit: 9, want: []record.Session{of("first"), desk, bob, of("second")}},
		"none":                          {prefix: "A", limit: 9},
		"at most none":                  {prefix: "a"},
		"a limit below none":            {prefix: "a", limit: -1},
		"of an application":             {of: record.Session{App: "desk"}, prefix: "a", limit: 9, want: []record.Session{desk}},
		"of a user":                     {of: record.Session{User: "bob"}, prefix: "a", limit: 9, want: []record.Session{bob}},
		"of a user of an application":   {of: record.Session{App: own.App, User: own.User}, prefix: "a", limit: 1, want: []record.Session{of("first")}},
		"of nobody":                     {of: record.Session{App: "desk", User: "bob"}, prefix: "a", limit: 9},
		"of a session, which is no use": {of: of("second"), prefix: "a0", limit: 9, want: []record.Session{of("first")}},
	} {
		got, err := b.Requested(t.Context(), tt.of, tt.prefix, tt.limit)
		wantSame(t, name, err, tt.want, got)
	}
}

// testSummaries holds that a summary is told as long as nothing that it is made of has changed.
func testSummaries(t *testing.T, a, b store.Store) {
	now, until := at(10), at(60)
	s := []record.Session{own, of("other")}
	put(t, a, row(s[0], "own"), row(s[1], "other"))
	create(t, a.Ledger(), Pending(1))
	lines := func(by store.Store, now time.Time) string {
		t.Helper()
		var told []store.Summary
		if err := by.Summaries(t.Context(), now, func(sum *store.Summary) {
			copied := *sum
			copied.Words, copied.More = bytes.Clone(sum.Words), bytes.Clone(sum.More)
			told = append(told, copied)
		}); err != nil {
			t.Fatal(err)
		}
		var found [2]string
		for _, sum := range told {
			l, ok, err := a.Session(t.Context(), sum.Session)
			want := store.Summary{Session: sum.Session, LastSeq: l.LastSeq, LastTime: l.Last.UnixMicro(), Events: l.Events}
			if sum.Known {
				want.Known, want.Status, want.Words, want.More = true, "status", []byte{0, 1}, sum.More
			}
			if !ok {
				t.Errorf("a summary of session %v, which is not there", sum.Session)
			}
			wantSame(t, "a summary", err, want, sum)
			found[slices.Index(s, sum.Session)] += string(sum.More) + ";"
		}
		return found[0] + found[1]
	}
	want := func(what, want string) {
		t.Helper()
		wantSame(t, what, nil, want, lines(a, now))
		wantSame(t, what+", by the other handle", nil, want, lines(b, now))
	}
	keep := func(by store.Store, list []store.NewSummary) {
		t.Helper()
		if err := by.KeepSummaries(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	made := func(line string) (list []store.NewSummary) {
		t.Helper()
		for _, session := range s {
			stamp, err := b.Stamp(t.Context(), session)
			if err != nil {
				t.Fatal(err)
			}
			sum := store.Summary{Session: session, Status: "status", Words: []byte{0, 1}, More: []byte(line)}
			list = append(list, store.NewSummary{Summary: sum, Of: stamp, Until: until})
		}
		return list
	}
	want("before any", ";;")
	for n, change := range []struct {
		name string
		do   func() error
		want string
	}{
		{"nothing", func() error { return nil }, "LINE;LINE;"},
		{"a confirmation", func() error { return a.Ledger().Attach(t.Context(), Pending(1).ID, "c") }, "LINE;LINE;"},
		{"a row", func() error { put(t, b, row(s[0], "another")); return nil }, ";LINE;"},
		{"a row that is stored already", func() error { put(t, b, row(s[1], "other")); return nil }, "LINE;LINE;"},
		{"a row that is refused", func() error { a.Append(row(s[0], "")); return a.Flush(t.Context()) }, ";LINE;"},
		{"an import", func() error { return store.Import(t.Context(), b, []record.Event{row(s[1], "imported")}) }, "LINE;;"},
		{"a request", func() error { return b.Ledger().Create(t.Context(), Pending(2)) }, ";LINE;"},
		{"a step of an approval", func() error { return reject(t.Context(), b.Ledger(), Pending(1)) }, ";LINE;"},
	} {
		line := fmt.Sprint("line ", n)
		old := made(line)
		keep([]store.Store{a, b}[n%2], old)
		old[0].Words[0], old[0].More[0] = '?', '?' // the store has its own
		want("kept", line+";"+line+";")
		old[0].Words[0], old[0].More[0] = 0, 'l'
		if err := change.do(); err != nil {
			t.Fatalf("%s: %v", change.name, err)
		}
		after := strings.ReplaceAll(change.want, "LINE", line)
		want(change.name, after)
		keep(a, old)
		want("too late after "+change.name, after)
		keep(b, made("new"))
		keep(a, old)
		both := strings.Split(after, ";")
		want("a newer one after "+change.name, cmp.Or(both[0], "new")+";"+cmp.Or(both[1], "new")+";")
	}
	keep(a, made("last"))
	wantSame(t, "just before its time is over", nil, "last;last;", lines(b, until.Add(-time.Microsecond)))
	wantSame(t, "when its time is over", nil, ";;", lines(b, until))
	list := made("again")
	list[0].Session = of("unknown")
	keep(a, list)
	want("one of a session that is not there", "last;again;")
	if stamp, err := a.Stamp(t.Context(), of("unknown")); err != nil || stamp != (store.Stamp{}) {
		t.Errorf("the stamp of an unknown session is %+v, %v", stamp, err)
	}
}

func testRules(t *testing.T, a, b store.Store) {
	want := func(digest, want string) {
		t.Helper()
		for _, s := range []store.Store{a, b} {
			if got, found, err := s.Rules(t.Context(), digest); err != nil || string(got) != want || found != (want != "") {
				t.Errorf("the rules %q are %q, %t, %v, want %q", digest, got, found, err, want)
			}
		}
	}
	want("", "")
	for n, digest := range []string{"a", "b", "b", "c", "a", "b"} {
		rules := []byte(`["` + digest + `"]`)
		if err := []store.Store{a, b}[n/2%2].SetRules(t.Context(), digest, rules); err != nil {
			t.Fatal(err)
		}
		rules[0] = '?'
		want("", `["`+digest+`"]`)
		want(digest, `["`+digest+`"]`)
	}
	if err := a.SetRules(t.Context(), "a", []byte("another text")); err != nil {
		t.Fatal(err)
	}
	want("", `["a"]`) // the digest stands for a text
	want("c", `["c"]`)
	want("absent", "")
	if err := a.SetRules(t.Context(), "", []byte(`[]`)); err == nil {
		t.Error("rules without a digest were taken")
	}
}

// testIdentity holds what is the same for all handles from the beginning.
func testIdentity(t *testing.T, a, b store.Store) {
	if a.Name() == "" || a.Name() != b.Name() || len(a.Secret()) < 16 {
		t.Errorf("the names are %q and %q, the secret has %d bytes", a.Name(), b.Name(), len(a.Secret()))
	}
	secret := a.Secret()
	secret[0]++
	wantSame(t, "the secret", nil, b.Secret(), a.Secret())
	for n, want := range []bool{false, true} {
		seq, err := b.Changes(t.Context())
		if err != nil || seq > 0 != want {
			t.Errorf("after %d rows Changes is %d, %v", n, seq, err)
		}
		losses, err := b.Losses(t.Context(), own)
		wantSame(t, "losses", err, []store.Loss(nil), losses)
		put(t, a, row(own, fmt.Sprint(n)))
	}
}

// testChildren names agents that ran as tools, by the rows of either side, and again.
func testChildren(t *testing.T, a, b store.Store) {
	parent, other := of("parent"), record.Session{App: "app", User: "other", ID: "parent"}
	begins := func(child, span string, parent record.Session) record.Event {
		e := row(of(child), "begins "+child+span+parent.User)
		e.EventType = record.InvocationStarting
		e.Attributes = fmt.Appendf(nil, `{"adk":{"parent":{"app_name":%q,"user_id":%q,"session_id":%q,"span_id":%q}}}`, parent.App, parent.User, parent.ID, span)
		return e
	}
	ends := row(parent, "ends")
	ends.SpanID = "T1"
	first := of("first")
	ends.Attributes = fmt.Appendf(nil, `{"adk":{"child_session":{"app_name":%q,"user_id":%q,"session_id":%q}}}`, first.App, first.User, first.ID)
	put(t, a, begins("first", "T1", parent), begins("second", "T1", parent), begins("third", "T2", parent), begins("first", "T1", other), ends)
	for _, s := range []store.Store{a, b} {
		got, err := s.Children(t.Context(), parent)
		slices.SortFunc(got, func(a, b record.Child) int { return strings.Compare(a.Session.ID, b.Session.ID) })
		wantSame(t, "children", err, got, []record.Child{{Session: first, Span: "T1"}, {Session: of("second"), Span: "T1"}, {Session: of("third"), Span: "T2"}})
		got, err = s.Children(t.Context(), of("second"))
		wantSame(t, "children of a child", err, len(got), 0)
	}
}
