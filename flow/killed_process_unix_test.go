// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package flow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

// killedEnv tells a process to run a plan: its seed, the moment at which it kills itself (0: never), and the file of
// the session.
const killedEnv = "CONTEXTGRAPH_TEST_KILLED"

// onFile is a session service whose events stand in a file, each in a line. At a moment before or behind an event the
// process kills itself.
type onFile struct {
	session.Service
	path   string
	moment func()
}

func (f onFile) AppendEvent(ctx context.Context, s session.Session, ev *session.Event) error {
	f.moment()
	if err := f.Service.AppendEvent(ctx, s, ev); err != nil {
		return err
	}
	data, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	if err = errors.Join(err, file.Close()); err == nil {
		f.moment()
	}
	return err
}

// openFile returns a service with the session of the file, and the world that runs the plan on it.
func openFile(t *testing.T, p plan, path string, moment func()) *world {
	memory := session.InMemoryService()
	created, err := memory.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "alice", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		ev := new(session.Event)
		if err := json.Unmarshal(line, ev); err != nil {
			t.Fatal(err)
		}
		if err := memory.AppendEvent(t.Context(), created.Session, ev); err != nil {
			t.Fatal(err)
		}
	}
	return &world{t: t, plain: memory, service: onFile{memory, path, moment}, root: func(*world) agent.Agent {
		a, err := p.graph().Agent()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}}
}

func planOf(seed uint64) plan { return newPlan(rand.New(rand.NewPCG(seed, 53))) }

// TestKilledChild is the process that TestKilledProcess starts.
func TestKilledChild(t *testing.T) {
	var seed uint64
	var at int
	var path string
	if n, _ := fmt.Sscan(os.Getenv(killedEnv), &seed, &at, &path); n != 3 {
		t.Skip("run by TestKilledProcess")
	}
	moments := 0
	w := openFile(t, planOf(seed), path, func() {
		if moments++; moments == at {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err != nil {
				t.Error(err)
			}
			select {} // until it is dead
		}
	})
	if err := w.play(planOf(seed), func() {}, true); err != nil {
		t.Log(err) // the error of a run is in its events
	}
}

// TestKilledProcess runs random graphs in processes that are killed (SIGKILL) in a node or behind it, again and again.
// In the end the run is that of the interpreter.
func TestKilledProcess(t *testing.T) {
	deaths := 0
	for seed, ran := uint64(0), 0; ran < testsize.Rounds(t, 8, 500); seed++ {
		p := planOf(seed)
		if _, err := p.graph().Agent(); err != nil {
			continue
		}
		ran++
		path := filepath.Join(t.TempDir(), "session")
		r := rand.New(rand.NewPCG(seed, 54))
		way, _, _ := p.interpret()
		for life := range 5 {
			at := 0
			if life < 4 {
				at = 1 + r.IntN(2*len(way)+4)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledChild$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s", killedEnv, seed, at, path))
			out, err := cmd.CombinedOutput()
			if err == nil {
				break // it came to its end before the moment
			}
			if at == 0 || !strings.Contains(err.Error(), "kill") {
				t.Fatalf("seed %d: %v\n%s", seed, err, out)
			}
			deaths++
		}
		openFile(t, p, path, func() {}).ranAs(p, fmt.Sprintf("seed %d", seed))
	}
	if deaths == 0 {
		t.Error("no process was killed")
	}
	t.Logf("%d processes were killed", deaths)
}
