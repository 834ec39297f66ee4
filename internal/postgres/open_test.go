// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/pgtest"
)

// fromFile opens an instance by a file whose section store stands in its first line.
func fromFile(t *testing.T, dsn, more string, opts ...contextgraph.Option) error {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("DATABASE_URL", dsn)
	text := "store: {postgres: {dsn: \"${DATABASE_URL}\"}}\n" + more
	if err := os.WriteFile("c.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cg, err := contextgraph.FromFile("c.yaml", append(opts, contextgraph.WithLogger(cgtest.Quiet()))...)
	if err == nil {
		if closeErr := cg.Close(context.Background()); closeErr != nil {
			t.Error(closeErr)
		}
	}
	if files, _ := filepath.Glob("*.db*"); len(files) > 0 {
		t.Errorf("there are files: %v", files)
	}
	return err
}

// TestErrorsAtOpen holds the errors: each has the line and a remedy, and none the password.
func TestErrorsAtOpen(t *testing.T) {
	url := pgtest.Database(t)
	pgtest.Exec(t, url, "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'weak') THEN CREATE ROLE weak LOGIN; "+
		"CREATE ROLE locked LOGIN PASSWORD 'other'; END IF; END $$")
	newer, latin := pgtest.Database(t), pgtest.Database(t)
	if err := fromFile(t, newer, "", contextgraph.WithPart(part{})); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, newer, "UPDATE contextgraph.meta SET version = 99")
	pgtest.Exec(t, latin, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
	defer pgtest.Exec(t, latin, "DROP DATABASE latin")
	as := func(role string) string { return strings.Replace(url, "agent", role, 1) }
	for name, tt := range map[string]struct {
		dsn, more, want string
		opts            []contextgraph.Option
	}{
		"no import":      {url, "", "c.yaml:1: store.postgres.dsn: the program has no client for PostgreSQL; import github.com/adk-contextgraph/contextgraph/pgstore and give pgstore.Option(), or remove the section store", nil},
		"no DSN":         {"postgres://agent:s3cret@127.0.0.1:x/db", "", "it is no connection string", []contextgraph.Option{contextgraph.WithPart(part{})}},
		"words":          {"host=127.0.0.1 password=s3cret port=x", "", "it is no connection string", []contextgraph.Option{contextgraph.WithPart(part{})}},
		"nobody listens": {"postgres://agent:s3cret@127.0.0.1:1/db", "", "the server cannot be reached", []contextgraph.Option{contextgraph.WithPart(part{})}},
		"unknown host":   {"postgres://agent:s3cret@host.invalid/db", "", "correct host and port", []contextgraph.Option{contextgraph.WithPart(part{})}},
		"wrong password": {as("locked"), "", "correct the name and the password of the role", []contextgraph.Option{contextgraph.WithPart(part{})}},
		"no database":    {url + "x", "", "create the database, or name another one", []contextgraph.Option{contextgraph.WithPart(part{})}},
		"no rights":      {as("weak"), "", "permission denied for database", []contextgraph.Option{contextgraph.WithPart(part{})}},
		"newer schema":   {newer, "", "the schema contextgraph has version 99, and this program knows", []contextgraph.Option{contextgraph.WithPart(part{})}},
		"encoding":       {strings.Replace(latin, latin[strings.LastIndexByte(latin, '/'):], "/latin", 1), "", "make a database with ENCODING 'UTF8'", []contextgraph.Option{contextgraph.WithPart(part{})}},
		"two places":     {url, "journal: {path: c.db}", "c.yaml:2:17: journal.path: the rows have two places", []contextgraph.Option{contextgraph.WithPart(part{})}},
		"a folder":       {url, "record: {artifacts: {store: parts}}", "c.yaml:2:29: record.artifacts.store: \"parts\" is a folder of one machine", []contextgraph.Option{contextgraph.WithPart(part{})}},
		"a size":         {url, "journal: {retention: {max_size: 1GiB}}", "journal.retention.max_size", []contextgraph.Option{contextgraph.WithPart(part{})}},
		"memory":         {url, "journal: {durability: memory}", "journal.durability", []contextgraph.Option{contextgraph.WithPart(part{})}},
	} {
		t.Run(name, func(t *testing.T) {
			err := fromFile(t, tt.dsn, tt.more, tt.opts...)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "c.yaml:") || !strings.Contains(err.Error(), "; ") {
				t.Fatalf("%v; want %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the password is in %v", err)
			}
			t.Log(err)
		})
	}
}

// TestOpenByManyAtOnce lets many programs start on an empty database.
func TestOpenByManyAtOnce(t *testing.T) {
	url := pgtest.Database(t)
	ids := make(chan string, 8)
	var all sync.WaitGroup
	for range cap(ids) {
		all.Go(func() {
			s, err := open(t.Context(), of(url))
			if err != nil {
				t.Error(err)
				return
			}
			ids <- s.ID() + string(s.Secret())
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	close(ids)
	first := <-ids
	for id := range ids {
		if id != first {
			t.Errorf("two programs have made %q and %q", first, id)
		}
	}
}

// TestStatementsNameTheSchema holds what a connection between two transactions would not keep.
func TestStatementsNameTheSchema(t *testing.T) {
	for name, text := range statements {
		for _, table := range []string{"sessions", "rows", "approvals", "steps", "unsent", "destinations", "dead_letters", "summaries", "rules", "lost_rows", "child_sessions", "meta"} {
			for _, before := range []string{"FROM ", "JOIN ", "INTO ", "UPDATE ", "TABLE ", "USING "} {
				if strings.Contains(text, before+table+" ") {
					t.Errorf("%s names %s without the schema", name, table)
				}
			}
		}
		for _, bad := range []string{"LISTEN", "PREPARE", "pg_advisory_lock", "SET SESSION", "TEMP "} {
			if strings.Contains(text, bad) {
				t.Errorf("%s needs a session: %s", name, bad)
			}
		}
	}
}

// TestModeOfStatements holds that the DSN may name a mode, and that it is one without prepared statements else.
func TestModeOfStatements(t *testing.T) {
	url := pgtest.Database(t)
	for dsn, want := range map[string]string{url: "exec", url + "?default_query_exec_mode=simple_protocol": "simple protocol"} {
		if got := opened(t, dsn).pool.Config().ConnConfig.DefaultQueryExecMode.String(); got != want {
			t.Errorf("%s: mode %q, want %q", dsn, got, want)
		}
	}
}
