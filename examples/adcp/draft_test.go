// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/propose"
	"github.com/adk-contextgraph/contextgraph/record"
)

// edits are what a person corrects in the draft: the attributes of a budget, which only repeat arguments as far as
// contextgraph can know, and where each type is read.
var edits = []struct{ old, new string }{
	{`    currency: USD
    attributes:
      unspent: {path: $.unspent, type: money, currency: USD}
`, `    currency: USD
    attributes:
      account: {path: $.account, looked_up: true}
      authorized: {path: $.authorized, type: money, currency: USD, looked_up: true}
`},
	{`/budget/{value} # where the present Budget can be read
      as_of: fetch
      attributes:
        unspent: {path: $.unspent, type: money, currency: USD}
`, `/v1/accounts/{attributes.account}/budget
      as_of: fetch
      attributes:
        account: {path: $.account}
        authorized: {path: $.amount, type: money, currency: USD}
`},
	{"/campaign/{value}", "/v1/campaigns/{value}"},
	{`/product/{value} # where the present Product can be read
      as_of: fetch
      attributes:
        availability: {path: $.availability, type: boolean}
`, `/v1/placements/{value}
      as_of: fetch
      attributes:
        availability: {path: $.available, type: boolean}
`},
	{"/targeting/{value}", "/v1/audiences/{value}"},
}

// verdicts plays the sessions with a configuration.
func verdicts(t *testing.T, journal string, yaml []byte) map[string]string {
	t.Helper()
	d, err := openDemo(t.Context(), journal, yaml, newAgents)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for _, s := range scenarios() {
		r, err := d.play(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		out[s.session] = r.check.Verdict
	}
	if err := d.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out
}

// The demo is recorded without rules and checkers, and nobody looks at its requests before a person is asked. The draft
// from that record, with five edits, gives the verdicts of the demo's own configuration.
func TestDraftFromRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), journalName)
	verdicts(t, path, []byte("guard: {check_before_asking: false}"))
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := inspect.NewJournal(j).Record(t.Context(), record.Session{App: appName, User: userID, ID: "sess-elf-cosmetics"})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	yaml := string(propose.From(rec.Rows, []string{toolProvision}))
	for _, e := range edits {
		if strings.Count(yaml, e.old) != 1 {
			t.Fatalf("the draft has this %d times:\n%s\nin:\n%s", strings.Count(yaml, e.old), e.old, yaml)
		}
		yaml = strings.Replace(yaml, e.old, e.new, 1)
	}
	got := verdicts(t, filepath.Join(t.TempDir(), journalName), []byte(yaml))
	for _, s := range scenarios() {
		if got[s.session] != s.want.verdict.String() {
			t.Errorf("%s: %v, want %v", s.session, got[s.session], s.want.verdict)
		}
	}
}
