// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// TestDocs: docs/cli.md names every command and every flag.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	root := (&app{}).root()
	known := regexp.MustCompile(`--[a-z-]+`)
	check := func(usages string) {
		for line := range strings.Lines(usages) {
			if name := known.FindString(line); name != "--help" && !strings.Contains(string(text), name) {
				t.Errorf("docs/cli.md has no %s", name)
			}
		}
	}
	check(root.PersistentFlags().FlagUsages())
	for _, c := range root.Commands() {
		if !strings.Contains(string(text), "**`"+c.Name()) {
			t.Errorf("docs/cli.md has no **`%s`**", c.Name())
		}
		check(c.Flags().FlagUsages())
	}
}

func TestExitCodes(t *testing.T) {
	demo(t)
	if err := os.WriteFile("bad.ndjson", []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hold(t, func(args ...string) (int, string, string) {
		return runCommand(t, append(args, "--journal", "demo.db")...)
	}, []said{
		{"sessions --app nobody", exitOK, "journal demo.db has no such sessions"},
		{"sessions --output yaml", exitUsage, "--output is table, json or ndjson"},
		{"sessions --output jsn", exitUsage, `did you mean "json"?`},
		{"sessions --limit 0", exitUsage, "--limit 0: use 1 to 500"},
		{"sessions --limit 501", exitUsage, "--limit 501: use 1 to 500"},
		{"sessions --since soon", exitUsage, "--since"},
		{"sessions --after nowhere", exitError, "after"},
		{"trace a b", exitUsage, "takes the id of one session"},
		{"trace nothing-like-it", exitNotFound, `has no session "nothing-like-it"`},
		{"trace chat-1 --app adcp", exitNotFound, `there is one with --app "shop" --user "ann"`},
		{"trace chat-1 --turn 9", exitNotFound, "there is no turn 9"},
		{"trace chat-1 --turn -1", exitUsage, "count from 1"},
		{"why sess-nike-summer --approval nope", exitNotFound, `has no approval "nope"`},
		{"why sess-nike-summer --entity yahu", exitNotFound, "has no entity with"},
		{"approvals --approval nope", exitNotFound, `has no approval "nope"`},
		{"approvals chat-1 --approval " + nikeApproval, exitNotFound, `session "chat-1" has no approval`},
		{"approvals chat-1", exitOK, "no such requests to a human"},
		{"approvals --limit 1", exitOK, "1 more are not listed"},
		{"export", exitUsage, "give either ids of sessions or --all"},
		{"export --all s", exitUsage, "give either ids of sessions or --all"},
		{"export s --since 1d", exitUsage, "--since goes with --all"},
		{"export --all --output json", exitUsage, "one JSON object a line"},
		{"export nope", exitNotFound, `has no session "nope"`},
		{"import", exitUsage, "takes one file of rows"},
		{"import bad.ndjson", exitError, "bad.ndjson:1: column event_type: it is missing"},
		{"sync --output json --all", exitUsage, "prints text only"},
	})
}

func TestSources(t *testing.T) {
	demo(t)
	rows := rowsFileFrom(t, "demo.db")
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"sessions --journal missing.db", exitError, "there is no journal to read"},
		{"sessions", exitError, "there is no journal to read"}, // of the configuration
		{"sessions --from dataset", exitUsage, "no dataset is named"},
		{"sessions --from elsewhere", exitUsage, `there is no file "elsewhere"`},
		{"sessions --from missing.ndjson", exitError, "missing.ndjson"},
		{"sessions --from " + rows + " --journal demo.db", exitUsage, "--journal does not go with --from"},
		{"sessions --from " + rows, exitOK, ""},
		{"sessions --journal demo.db", exitOK, ""},
	} {
		code, stdout, stderr := runCommand(t, strings.Fields(test.args)...)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("contextgraph %s = %d, want %d and %q\n%s%s", test.args, code, test.code, test.want, stdout, stderr)
		}
		if (test.code == exitOK) != strings.Contains(stdout, "sess-nike-summer") {
			t.Errorf("contextgraph %s: %s", test.args, stdout)
		}
	}
	for _, name := range []string{"missing.db", config.Default().Journal.Path} {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("reading made %s: %v", name, err)
		}
	}
}

// rowsFileFrom exports all sessions of a journal.
func rowsFileFrom(t *testing.T, db string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rows.ndjson")
	if code, _, stderr := runCommand(t, "export", "--all", "--journal", db, "--file", name); code != exitOK {
		t.Fatal(stderr)
	}
	return name
}

func TestSeveralSessionsWithOneID(t *testing.T) {
	t.Chdir(t.TempDir())
	recorded(t, record.Session{App: "shop", User: "alice", ID: "s1"}, record.Session{App: "shop", User: "bob", ID: "s1"})
	if code, _, stderr := runCommand(t, "trace", "s1"); code != exitUsage || !strings.Contains(stderr, `--app "shop" --user "bob"`) {
		t.Errorf("%d: %s", code, stderr)
	}
	if code, stdout, stderr := runCommand(t, "trace", "s1", "--user", "bob"); code != exitOK || !strings.Contains(stdout, "s1 of bob in shop") {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
}

func TestPagesOfSessions(t *testing.T) {
	demo(t)
	var got []string
	args := []string{"sessions", "--journal", "demo.db", "--limit", "1", "--output", "json"}
	for after := ""; ; {
		code, stdout, stderr := runCommand(t, append(slices.Clone(args), "--after", after)...)
		var page inspect.Page
		if err := json.Unmarshal([]byte(stdout), &page); err != nil || code != exitOK || len(page.Sessions) != 1 {
			t.Fatalf("%d: %s%s%v", code, stdout, stderr, err)
		}
		got = append(got, page.Sessions[0].Session.ID)
		if after = page.Next; after == "" {
			break
		}
		if !strings.Contains(stderr, "--after "+after) {
			t.Errorf("stderr does not say how to go on: %s", stderr)
		}
	}
	if diff := cmp.Diff([]string{"chat-1", "sess-tesla-q1", "sess-nike-summer"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// fields returns the paths of all members of JSON, sorted.
func fields(t *testing.T, text string) []string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %.200s", err, text)
	}
	set := make(map[string]bool)
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				switch name {
				case "attributes", "content", "args", "content_parts", "seen", "now", "latency_ms", "files", "verdicts":
					set[path+"."+name] = true // what is in it is the record's
				default:
					walk(path+"."+name, member)
				}
			}
		case []any:
			set[path+"[]"] = true
			for _, element := range v {
				walk(path+"[]", element)
			}
		default:
			set[path] = true
		}
	}
	walk("", v)
	var names []string
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestJSONContract: programs read these names, see docs/cli.md.
func TestJSONContract(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	demo(t)
	for name, args := range map[string]string{
		"sessions":       "sessions --limit 2",
		"trace":          "trace sess-nike-summer",
		"why":            "why sess-nike-summer",
		"approvals":      "approvals",
		"approvals-card": "approvals " + nikeConfirmation,
		"stats":          "stats",
		"import":         "import " + rowsFileFrom(t, "demo.db"),
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runCommand(t, append(strings.Fields(args), "--journal", "demo.db", "--output", "json")...)
			if code != exitOK {
				t.Fatalf("%d: %s", code, stderr)
			}
			golden(t, dir, "json-"+name+".txt", strings.Join(fields(t, stdout), "\n")+"\n")
		})
	}
	for args, lines := range map[string]int{
		"sessions": 3, "approvals": 2, "why sess-nike-summer": 1, "trace sess-nike-summer": 22, "stats": 1, "sessions --app nobody": 0, "why chat-1": 0,
	} {
		_, stdout, _ := runCommand(t, append(strings.Fields(args), "--journal", "demo.db", "--output", "ndjson")...)
		if got := strings.Count(stdout, "\n"); got != lines {
			t.Errorf("%s has %d lines of NDJSON, want %d", args, got, lines)
		}
		for line := range strings.Lines(stdout) {
			if !json.Valid([]byte(line)) || line[0] != '{' {
				t.Errorf("%s: %.100s", args, line)
			}
		}
	}
	for _, args := range []string{"sessions --app nobody", "approvals --app nobody", "why chat-1"} {
		if code, stdout, _ := runCommand(t, append(strings.Fields(args), "--journal", "demo.db", "--output", "json")...); code != exitOK || !json.Valid([]byte(stdout)) || strings.Contains(stdout, "null") {
			t.Errorf("%s: nothing is %q", args, stdout)
		}
	}
}

func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{
		"plain": "plain", "": "", "a\nb\tc": "a b c", "\x1b[31mred\x1b[0m": "red", "\x1b[2;1Hx": "x", "a\x1b]0;title\x07b": "a ]0;title b",
		"\u009b31mred": "red", "\u202eevil": "evil", "\x1b": "", "\x1b[": "", "\x1b[31": "", "日本": "日本", "bad\xff": "bad\uFFFD", "a\u0000b": "a b",
		"100%[done]": "100%[done]",
	} {
		if got := printable(s); got != want {
			t.Errorf("printable(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestHuman(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 431 * time.Microsecond: "431µs", 12 * time.Millisecond: "12ms", 1500 * time.Millisecond: "1.5s", 61 * time.Second: "1m01s",
		90 * time.Minute: "1h30m", 50 * time.Hour: "2d02h", -time.Minute: "-1m00s",
	} {
		if got := human(d); got != want {
			t.Errorf("human(%d) = %q, want %q", d, got, want)
		}
	}
}

// TestDeepTrace: a chain of spans is drawn in lines of bounded length, whoever wrote it.
func TestDeepTrace(t *testing.T) {
	t.Chdir(t.TempDir())
	var b strings.Builder
	const deep = 3000
	for i := range deep {
		fmt.Fprintf(&b, `{"timestamp":%d,"event_id":"e%d","event_type":"AGENT_STARTING","agent":"a","session_id":"deep","user_id":"u","invocation_id":"i","trace_id":"t","span_id":"s%d","parent_span_id":"s%d","attributes":{"adk":{"app_name":"shop"}}}`+"\n", 1772712000000000+i, i, i, i-1)
	}
	if err := os.WriteFile("deep.ndjson", []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runCommand(t, "trace", "deep", "--from", "deep.ndjson")
	if code != exitOK || strings.Count(stdout, "agent a") != deep || len(stdout) > deep*1000 {
		t.Errorf("%d: %d bytes, %d spans: %.200s", code, len(stdout), strings.Count(stdout, "agent a"), stderr)
	}
	if code, stdout, _ := runCommand(t, "trace", "deep", "--from", "deep.ndjson", "--depth", "2"); code != exitOK || !strings.Contains(stdout, "2998 spans are below") {
		t.Errorf("%d: %s", code, stdout)
	}
}
