// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
	"github.com/adk-contextgraph/contextgraph/record"
)

// commands calls visit with every command that does something.
func commands(c *cobra.Command, visit func(*cobra.Command)) {
	if c.Runnable() {
		visit(c)
	}
	for _, sub := range c.Commands() {
		commands(sub, visit)
	}
}

// word matches a word of a command line.
var word = regexp.MustCompile(`"[^"]*"|\S+`)

// Every example in the help is a command line that is understood.
func TestExamples(t *testing.T) {
	var examples int
	commands((&app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}).root(), func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			line, _, _ = strings.Cut(line, "#")
			words := word.FindAllString(line, -1)
			if len(words) == 0 {
				continue
			}
			examples++
			// Flags keep what they were given, so each line gets commands of its own.
			root := (&app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}).root()
			found, args, err := root.Find(words[1:])
			if words[0] != "contextgraph" || err != nil || c.HasParent() && found.CommandPath() != c.CommandPath() && !strings.HasPrefix(found.CommandPath(), c.CommandPath()) {
				t.Errorf("%q in the help of %s: %v, %v", line, c.CommandPath(), found.CommandPath(), err)
				continue
			}
			if err := found.ParseFlags(args); err != nil {
				t.Errorf("%q: %v", line, err)
			} else if err := found.ValidateArgs(found.Flags().Args()); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
		if c.HasParent() && (c.Short == "" || len(c.Long) < 80 || c.Example == "") {
			t.Errorf("%s: short %q, %d characters of long help, example %q; want all three", c.CommandPath(), c.Short, len(c.Long), c.Example)
		}
	})
	if examples < 10 {
		t.Errorf("only %d examples", examples)
	}
}

// A journal that is no journal, and one that is named in the configuration.
func TestSyncOpensTheJournalOfTheConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	session := record.Session{App: "shop", User: "alice", ID: "s1"}
	recorded(t, session)
	if err := os.Rename(config.Default().Journal.Path, "kept.db"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("not.db", bytes.Repeat([]byte("this is no database\n"), 500), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"kept.yaml": "kept.db", "not.yaml": "not.db", "dir.yaml": "."} {
		text := fmt.Sprintf("journal:\n  path: %s\nbigquery:\n  project: my-project\n  dataset: agents\n", path)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: "kept.db"}}) // an agent that runs
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close(t.Context())
	for config, want := range map[string]string{"not.yaml": "not.db", "dir.yaml": "directory"} {
		if code, stdout, stderr := in(t, taking(t), "sync", "--session", "s1", "--config", config); code != exitError || !strings.Contains(stderr, want) {
			t.Errorf("with %s: %d\n%s%s", config, code, stdout, stderr)
		}
	}
	if code, stdout, stderr := in(t, taking(t), "sync", "--session", "s1", "--config", "kept.yaml"); code != exitOK || !strings.Contains(stdout, "1 sessions") {
		t.Errorf("beside an agent: %d\n%s%s", code, stdout, stderr)
	}
}

// Ctrl-C while BigQuery does not answer ends the command, which says how far it got.
func TestInterruptedSync(t *testing.T) {
	t.Chdir(t.TempDir())
	recorded(t, record.Session{App: "shop", User: "alice", ID: "s1"}, record.Session{App: "shop", User: "alice", ID: "s2"})
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	rows := refusing(t, "")
	rows.Schedule(func(writefake.Request) writefake.Answer {
		interrupt()
		return writefake.Answer{Silent: true}
	})
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs, client: []option.ClientOption{option.WithEndpoint("http://127.0.0.1:1"), option.WithoutAuthentication()}, write: rows.ClientOptions()}
	code := run(ctx, []string{"sync", "--all", "--project", "my-project", "--dataset", "agents"}, a)
	if code != exitInterrupted || !strings.Contains(errs.String(), "stopped after 1 of 2 sessions") {
		t.Errorf("%d\n%s%s", code, out.String(), errs.String())
	}
}
