// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
)

// newDataset returns a dataset whose write service is server.
func newDataset(t testing.TB, server *writefake.Server, mod func(*config.BigQuery)) *bigquery.Dataset {
	t.Helper()
	cfg := config.BigQuery{Project: "my-project", Dataset: "agents"}
	if mod != nil {
		mod(&cfg)
	}
	d, err := bigquery.NewDataset(t.Context(), cfg, bigquery.DatasetOptions{
		Client: []option.ClientOption{option.WithEndpoint("http://127.0.0.1:1"), option.WithoutAuthentication()},
		Write:  server.ClientOptions(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// refusedBefore makes every row of j a dead letter of d, of somebody who streams on: the
// lease is taken.
func refusedBefore(t testing.TB, j *journal.Journal, d *bigquery.Dataset) store.Outbox {
	t.Helper()
	o := j.Outbox(d.Names().Destination())
	if _, err := o.Acquire(t.Context(), "somebody", time.Hour); err != nil {
		t.Fatal(err)
	}
	last, err := j.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var letters []store.DeadLetter
	for seq := int64(1); seq <= last; seq++ {
		letters = append(letters, store.DeadLetter{Seq: seq, Bytes: 1, Code: "FIELDS_ERROR", Reason: "no such column"})
	}
	if err := o.Advance(t.Context(), "somebody", last, letters); err != nil {
		t.Fatal(err)
	}
	return o
}

// left returns the event ids of the dead letters of o.
func left(t testing.TB, o store.Outbox) []string {
	t.Helper()
	letters, err := o.DeadLetters(t.Context(), 10_000)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(letters))
	for i, l := range letters {
		ids[i] = l.EventID
	}
	return ids
}

// eventIDs returns those of the rows n to n+count-1.
func eventIDs(n, count int) []string {
	ids := make([]string, count)
	for i := range ids {
		ids[i] = eventID(n + i)
	}
	return ids
}

func TestResend(t *testing.T) {
	t.Parallel()
	const count = 600 // more than are read at a time
	sevens := func(r writefake.Row) string {
		if strings.HasSuffix(r.EventID, "7") {
			return "the seventh again"
		}
		return ""
	}
	var sevenths []string
	for _, id := range eventIDs(0, count) {
		if strings.HasSuffix(id, "7") {
			sevenths = append(sevenths, id)
		}
	}
	type test struct {
		name    string
		fault   func(*writefake.Server)
		ids     []string
		sent    []string // nil: all that were not refused
		refused []string
		words   string // of each refusal; default those of the server about the row
		missing []string
		twice   bool // rows may stand in the table twice
	}
	tests := []test{
		{name: "all", fault: func(*writefake.Server) {}},
		{name: "row errors", fault: func(s *writefake.Server) { s.Refuse(sevens) }, refused: sevenths},
		{name: "whole requests refused", fault: func(s *writefake.Server) { s.RefuseWhole(sevens) }, refused: sevenths, words: "invalid argument"},
		{name: "too large for the server", fault: func(s *writefake.Server) {
			s.Script(writefake.Failed(codes.InvalidArgument, "AppendRows request too large: 1 limit 1"))
		}},
		{
			name: "by event id", fault: func(s *writefake.Server) { s.Refuse(sevens) },
			ids:  []string{eventID(598), "no-such-row", eventID(3), eventID(7), eventID(3)},
			sent: []string{eventID(3), eventID(598)}, refused: []string{eventID(7)}, missing: []string{"no-such-row"},
		},
		{name: "failures with successes between", fault: func(s *writefake.Server) {
			away := writefake.Failed(codes.Unavailable, "overloaded")
			s.Script(away, away, away, writefake.Answer{}, away, away, away)
		}},
		{name: "not found at first", fault: func(s *writefake.Server) { s.Lookups(writefake.TableNotFound("t")) }},
	}
	for _, f := range writefake.Transient() {
		tests = append(tests, test{name: f.Name, twice: true, fault: func(s *writefake.Server) {
			s.Script(writefake.Answer{}, f.Answer, f.Answer)
			s.Refuse(sevens)
		}, refused: sevenths})
	}
	each(t, tests, func(tt test) string { return tt.name }, func(t *testing.T, tt test) {
		server := newServer(t, writefake.Options{})
		tt.fault(server)
		j := newJournal(t, count, 100)
		d := newDataset(t, server, nil)
		o := refusedBefore(t, j, d)
		var words []store.DeadLetter
		report, err := d.Resend(t.Context(), j, bigquery.ResendOptions{EventIDs: tt.ids, Refused: func(l store.DeadLetter) { words = append(words, l) }})
		if err != nil {
			t.Fatal(err)
		}
		sent := tt.sent
		if sent == nil {
			sent = slices.DeleteFunc(eventIDs(0, count), func(id string) bool { return slices.Contains(tt.refused, id) })
		}
		if report.Bytes == 0 {
			t.Error("the report has no bytes")
		}
		want := bigquery.ResendReport{Acknowledged: len(sent), Refused: len(tt.refused), Bytes: report.Bytes, Missing: tt.missing}
		if diff := gocmp.Diff(want, report); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
		if diff := gocmp.Diff(sent, server.EventIDs()); diff != "" {
			t.Errorf("rows in the table (-want +got):\n%s", diff)
		}
		if n := len(server.Rows()); n != len(sent) && !tt.twice {
			t.Errorf("%d rows were applied, want %d", n, len(sent))
		}
		stay := slices.DeleteFunc(eventIDs(0, count), func(id string) bool { return slices.Contains(sent, id) })
		if diff := gocmp.Diff(stay, left(t, o)); diff != "" {
			t.Errorf("dead letters that are left (-want +got):\n%s", diff)
		}
		var again []string
		for _, l := range words {
			again = append(again, l.EventID)
			if l.Bytes == 0 || l.Code == "" || l.At.IsZero() || l.EventType != "TOOL_COMPLETED" || l.Session.User != "u" || !strings.Contains(l.Reason, cmp.Or(tt.words, "the seventh again")) {
				t.Errorf("%+v", l)
			}
		}
		if diff := gocmp.Diff(tt.refused, again); diff != "" {
			t.Errorf("rows refused again (-want +got):\n%s", diff)
		}
		stored, err := o.DeadLetters(t.Context(), count)
		if err != nil {
			t.Fatal(err)
		}
		stored = slices.DeleteFunc(stored, func(l store.DeadLetter) bool { return l.Reason == "no such column" })
		for i := range words {
			words[i].At = words[i].At.UTC().Truncate(time.Microsecond)
		}
		if diff := gocmp.Diff(words, stored); diff != "" {
			t.Errorf("the journal has other words (-want +got):\n%s", diff)
		}
		// Who streams has its lease still.
		if err := o.Advance(t.Context(), "somebody", count, nil); err != nil {
			t.Error(err)
		}
	})
}

// Where Resend ends early, what was acknowledged is settled and the rest stays.
func TestResendEndsEarly(t *testing.T) {
	t.Parallel()
	const count = 600 // three requests
	type test struct {
		name   string
		second writefake.Answer // to the second request, and all later ones
		want   string
	}
	tests := []test{
		{"not permitted", writefake.EndBefore(status.Error(codes.PermissionDenied, "Permission denied")), "roles/bigquery.dataEditor"},
		{"away", writefake.Failed(codes.Unavailable, "overloaded"), "5 attempts failed"},
	}
	each(t, tests, func(tt test) string { return tt.name }, func(t *testing.T, tt test) {
		server := newServer(t, writefake.Options{})
		first := true
		server.Schedule(func(writefake.Request) writefake.Answer {
			if first {
				first = false
				return writefake.Answer{}
			}
			return tt.second
		})
		j := newJournal(t, count, 100)
		d := newDataset(t, server, nil)
		o := refusedBefore(t, j, d)
		report, err := d.Resend(t.Context(), j, bigquery.ResendOptions{EventIDs: append(eventIDs(0, count), "none")})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Resend: %v, want %q", err, tt.want)
		}
		if n := len(server.EventIDs()); n == 0 || n == count || report.Acknowledged != n || report.Refused != 0 || report.Missing != nil {
			t.Errorf("%d rows in the table: %+v", n, report)
		}
		if diff := gocmp.Diff(eventIDs(0, count)[report.Acknowledged:], left(t, o)); diff != "" {
			t.Errorf("dead letters that are left (-want +got):\n%s", diff)
		}
	})
}

// A server that never answers does not hold up Resend.
func TestResendSilent(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	server.Schedule(func(writefake.Request) writefake.Answer { return writefake.Answer{Silent: true, NotApplied: true} })
	j := newJournal(t, 3, 100)
	d, err := bigquery.NewDataset(t.Context(), config.BigQuery{Project: "my-project", Dataset: "agents"}, bigquery.DatasetOptions{
		Client:     []option.ClientOption{option.WithEndpoint("http://127.0.0.1:1"), option.WithoutAuthentication()},
		Write:      server.ClientOptions(),
		AckTimeout: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	o := refusedBefore(t, j, d)
	report, err := d.Resend(t.Context(), j, bigquery.ResendOptions{})
	if err == nil || !strings.Contains(err.Error(), "5 attempts failed") || report.Acknowledged != 0 || len(left(t, o)) != 3 {
		t.Errorf("%+v, %v", report, err)
	}
}

// What was acknowledged before the context ended is settled.
func TestResendCancelled(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	first := true
	server.Schedule(func(writefake.Request) writefake.Answer {
		if first {
			first = false
			return writefake.Answer{}
		}
		cancel(stop)
		return writefake.Answer{Silent: true, NotApplied: true}
	})
	j := newJournal(t, 600, 100)
	d := newDataset(t, server, nil)
	o := refusedBefore(t, j, d)
	report, err := d.Resend(ctx, j, bigquery.ResendOptions{})
	if !errors.Is(err, stop) {
		t.Errorf("Resend: %v, want %v", err, stop)
	}
	if n := server.Distinct(); n == 0 || n != report.Acknowledged || len(left(t, o)) != 600-n {
		t.Errorf("%d rows in the table, %d letters left: %+v", n, len(left(t, o)), report)
	}
	if _, err := d.Resend(ctx, j, bigquery.ResendOptions{}); !errors.Is(err, stop) && !errors.Is(err, context.Canceled) {
		t.Errorf("Resend with a context that has ended: %v", err)
	}
}

// A row that no request can hold is not sent and stays; the next one is.
func TestResendTooLarge(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{DropRows: true})
	j := newJournal(t, 1, 100)
	j.Append(newEvent(1, replicate.MaxRequestBytes))
	j.Append(newEvent(2, 100))
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := newDataset(t, server, nil)
	o := refusedBefore(t, j, d)
	var words []string
	report, err := d.Resend(t.Context(), j, bigquery.ResendOptions{Refused: func(l store.DeadLetter) { words = append(words, l.Code+": "+l.Reason) }})
	if err != nil || report.Acknowledged != 2 || report.Refused != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if len(words) != 1 || !strings.Contains(words[0], "too large: the row has 94") || !slices.Equal(left(t, o), eventIDs(1, 1)) {
		t.Errorf("%q, left %q", words, left(t, o))
	}
}

// A table that lacks columns is upgraded, unless that is left to people.
func TestResendUpgrades(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	server.SetColumns("event_id")
	j := newJournal(t, 2, 100)
	d := newDataset(t, server, func(c *config.BigQuery) { c.Init = new(false) })
	o := refusedBefore(t, j, d)
	if report, err := d.Resend(t.Context(), j, bigquery.ResendOptions{}); err == nil || !strings.Contains(err.Error(), "does not change tables") || report.Acknowledged != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if n := len(left(t, o)); n != 2 {
		t.Errorf("%d dead letters are left", n)
	}
}

// Letters that come while Resend runs are not sent, so that it ends.
func TestResendLeavesNewLetters(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	j := newJournal(t, 1, 100)
	d := newDataset(t, server, nil)
	o := refusedBefore(t, j, d)
	added := 0
	server.Schedule(func(writefake.Request) writefake.Answer {
		added++
		return writefake.Failed(codes.InvalidArgument, "no")
	})
	report, err := d.Resend(t.Context(), j, bigquery.ResendOptions{Refused: func(store.DeadLetter) {
		if !j.Append(newEvent(added, 100)) || j.Flush(context.Background()) != nil {
			t.Error("the row was not stored")
		}
		last := int64(added + 1)
		letter := store.DeadLetter{Seq: last, Reason: "a new one"}
		if err := o.Advance(context.Background(), "somebody", last, []store.DeadLetter{letter}); err != nil {
			t.Error(err)
		}
	}})
	if err != nil || report.Refused != 1 || added != 1 {
		t.Errorf("%+v after %d requests: %v", report, added, err)
	}
}
