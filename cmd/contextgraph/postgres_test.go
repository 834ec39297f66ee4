// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/pgtest"
	"github.com/adk-contextgraph/contextgraph/internal/postgres"
	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// TestCommandsReadADatabase holds that each command says of a database what it says of a journal with the same rows, and
// that the database of the configuration is read without a flag.
func TestCommandsReadADatabase(t *testing.T) {
	t.Cleanup(pgtest.Stop)
	url := pgtest.Database(t)
	j, a := asking(t, nil)
	if err := os.WriteFile("shared.yaml", []byte("store: {postgres: {dsn: \""+url+"\"}}\nguard: {mode: enforce}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := in(t, nil, "sessions", "--from", url); code != exitError || !strings.Contains(stderr, "no schema contextgraph") {
		t.Errorf("an empty database: %d, %s", code, stderr)
	}
	if code, stdout, stderr := in(t, nil, "init", "--store", "--config", "shared.yaml"); code != exitOK || !strings.Contains(stdout, "has version ") {
		t.Fatalf("%d: %s%s", code, stdout, stderr)
	}
	s, err := postgres.Open(t.Context(), postgres.Config{Config: config.Config{Store: config.Store{Postgres: config.Postgres{DSN: config.Secret(url)}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	rows, err := store.Events(t.Context(), j, a.Session)
	if err == nil {
		err = store.Import(t.Context(), s, rows)
	}
	if err == nil {
		err = s.Ledger().Create(t.Context(), a)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"sessions", "trace " + a.Session.ID, "approvals", "approvals --approval " + a.ID, "why " + a.Session.ID, "rules " + a.Session.ID} {
		command += " --output json"
		code, want, errs := in(t, nil, strings.Fields(command)...)
		for _, more := range []string{" --from " + url, " --config shared.yaml"} {
			gotCode, got, gotErrs := in(t, nil, strings.Fields(command+more)...)
			if gotCode != code || strings.ReplaceAll(got, `"database `+url[strings.LastIndexByte(url, '/')+1:]+` on 127.0.0.1"`, `"journal contextgraph.db"`) != want {
				t.Errorf("%s%s: %d\n%s%s\nwant %d\n%s%s", command, more, gotCode, got, gotErrs, code, want, errs)
			}
		}
	}
	for args, want := range map[string]string{
		"stats --from " + url:                                     "sessions",
		"view --file page.html --from " + url:                     "page.html",
		"doctor --config shared.yaml":                             "the schema contextgraph has version",
		"sessions --from " + strings.Replace(url, "test", "x", 1): "create the database",
		"sessions --journal x.db --from " + url:                   "--journal does not go with --from",
		"init --store":                                            "names no database",
	} {
		_, stdout, stderr := in(t, nil, strings.Fields(args)...)
		if !strings.Contains(stdout+stderr, want) || strings.Contains(stdout+stderr, "s3cret") {
			t.Errorf("%s: %s%s; want %q", args, stdout, stderr, want)
		}
	}
}
