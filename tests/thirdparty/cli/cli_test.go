// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/adk-contextgraph/contextgraph/internal/viewer/viewertest"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts")

// fixture is what all scripts have: the program, and a journal with its configuration.
type fixture struct {
	dir, config, journal string
	source               string // of the program
	world                *http.Server
}

var made fixture

func TestMain(m *testing.M) {
	flag.Parse()
	if err := made.make(context.Background()); err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	if err := errors.Join(made.world.Close(), os.RemoveAll(made.dir)); err != nil {
		log.Fatal(err)
	}
	os.Exit(code)
}

func (f *fixture) make(ctx context.Context) error {
	var err error
	if f.dir, err = os.MkdirTemp("", "contextgraph-cli-*"); err != nil {
		return err
	}
	program := "contextgraph"
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(f.dir, "bin", program), "./cmd/contextgraph")
	if f.source, err = filepath.Abs(filepath.Join("..", "..", "..")); err != nil { // a module of its own
		return err
	}
	build.Dir = f.source
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	w := &world{prices: make(map[string]string)}
	f.world = &http.Server{Handler: w}
	go f.world.Serve(listener)
	f.config, f.journal = fmt.Sprintf(configuration, listener.Addr()), filepath.Join(f.dir, "contextgraph.db")
	return recordSessions(ctx, w, f.config, f.journal)
}

// setup gives each script a copy of the journal, rows of the plugin for Python, and an environment without a user's.
func (f *fixture) setup(e *testscript.Env) error {
	e.Setenv("PATH", filepath.Join(f.dir, "bin")+string(os.PathListSeparator)+e.Getenv("PATH"))
	e.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(e.WorkDir, "there-are-none.json"))
	data, err := os.ReadFile(f.journal)
	if err != nil {
		return err
	}
	python, err := os.ReadFile(filepath.Join(f.source, "cmd", "contextgraph", "testdata", "python-events.ndjson"))
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(e.WorkDir, "contextgraph.db"), data, 0o600),
		os.WriteFile(filepath.Join(e.WorkDir, "python.ndjson"), python, 0o600),
		os.WriteFile(filepath.Join(e.WorkDir, "contextgraph.yaml"), []byte(f.config), 0o600),
	)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata", Setup: made.setup, UpdateScripts: *update, RequireUniqueNames: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"data": pageData, "ends": ends, "plain": plain, "remember": remember,
		},
	})
}

// pageData is "data PAGE": it writes the data of a page into the file data.json.
func pageData(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: data PAGE")
	}
	text, err := viewertest.Read(ts.ReadFile(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("data.json"), text, 0o600))
}

// ends CODE PROGRAM ARG... runs a program that has to end with the code. What it prints is
// in the files out.txt and err.txt.
func ends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: ends CODE PROGRAM ARG...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exited := new(exec.ExitError); errors.As(err, &exited) {
		code = exited.ExitCode()
	} else if err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
	for from, to := range map[string]string{"stdout": "out.txt", "stderr": "err.txt"} {
		ts.Check(os.WriteFile(ts.MkAbs(to), []byte(ts.ReadFile(from)), 0o600))
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("%s ended with %d, want %s\n%s", strings.Join(args[1:], " "), code, args[0], ts.ReadFile("stderr"))
	}
}

// variable is what differs from one run to the next, and what stands for it.
var variable = []struct {
	is   *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`(?m)\b(\d+[smhd] ago|in \d+[smhd])\b|\bnow$`), "AGO"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "HASH"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UUID"},
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "ID"},
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), "SPAN"},
	{regexp.MustCompile(`\b[0-9a-f]{8}\b`), "ID"},
	{regexp.MustCompile(`"waited_ms": \d+`), `"waited_ms": SPENT`},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "HOST"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ([KMGT]i)?B\b`), "SIZE"},
	{regexp.MustCompile(`\b(\d+d\d\dh|\d+h(\d\dm|\d+m\d+s)|\d+m\d+s|\d+(\.\d+)?(µs|ms|s))\b`), "SPENT"},
	{regexp.MustCompile(` {2,}`), "  "},
}

// plain FILE FROM writes what is in FROM to FILE, without what differs from run to run.
func plain(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: plain FILE FROM")
	}
	text := ts.ReadFile(args[1])
	for _, v := range variable {
		text = v.is.ReplaceAllString(text, v.name)
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(out.String()), 0o600))
}

// remember NAME REGEXP FROM sets a variable of the script to what the group of the first
// match is.
func remember(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: remember NAME REGEXP FROM")
	}
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile(args[2]))
	if len(m) != 2 {
		ts.Fatalf("%s has no match for %s with one group", args[2], args[1])
	}
	ts.Setenv(args[0], m[1])
}
