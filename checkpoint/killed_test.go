// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The writes of a rewind after which a process is killed.
const (
	killWithdrawn = "withdrawn" // the open requests are withdrawn
	killRecorded  = "recorded"  // the row of the rewind is stored
	killMarked    = "marked"    // the marker is appended
	killSometime  = "sometime"  // whenever the test does it
)

// killChildEnv makes the test binary run TestKilledChild: the folder and the point, with a space between them.
const killChildEnv = "CONTEXTGRAPH_REWIND_CHILD"

// sessionFile is a session service in memory whose events stand in a file, too, so that they outlive the process.
type sessionFile struct {
	session.Service
	file *os.File
	at   func(point string)
}

// openSessionFile returns the service with what the file has.
func openSessionFile(t *testing.T, path string, at func(string)) *sessionFile {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	f := &sessionFile{session.InMemoryService(), file, at}
	made, err := f.Create(t.Context(), &session.CreateRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID})
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the end, or a line that was cut: that event was never stored
			return f
		}
		var ev session.Event
		if err := json.Unmarshal(line, &ev); err != nil {
			t.Fatal(err)
		}
		if err := f.Service.AppendEvent(t.Context(), made.Session, &ev); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *sessionFile) AppendEvent(ctx context.Context, to session.Session, ev *session.Event) error {
	if plugin.Marker(ev) != "" {
		f.at(killRecorded)
	}
	line, err := json.Marshal(ev)
	if err == nil {
		_, err = f.file.Write(append(line, '\n'))
	}
	if plugin.Marker(ev) != "" {
		f.at(killMarked)
	}
	return errors.Join(err, f.Service.AppendEvent(ctx, to, ev))
}

// openKilled opens the shop of a folder.
func openKilled(t *testing.T, dir string, at func(string), opts ...cgtest.Option) *shop {
	t.Helper()
	s := newShop(t, append(opts, lookOrBuy, cgtest.NotChecked, cgtest.OnFile, func(o *cgtest.Options) {
		o.Config.Journal.Path = filepath.Join(dir, "journal.db")
	})...)
	s.bare = openSessionFile(t, filepath.Join(dir, "sessions"), at)
	s.serve(t, s.cps.Sessions(s.bare))
	return s
}

// TestKilledChild is not a test: it is the process that TestKilled kills.
func TestKilledChild(t *testing.T) {
	dir, point, child := strings.Cut(os.Getenv(killChildEnv), " ")
	if !child {
		t.Skip("for TestKilled")
	}
	die := func(at string) {
		if at != point {
			return
		}
		p, err := os.FindProcess(os.Getpid())
		if err == nil {
			_ = p.Kill()
		}
		select {}
	}
	var rewinding atomic.Bool
	asked := 0
	s := openKilled(t, dir, die, func(o *cgtest.Options) {
		// A rewind asks who it is for the steps of the requests that it withdraws, and then for its row.
		o.Config.Identity = func(context.Context) (string, error) {
			if rewinding.Load() {
				if asked++; asked == 2 {
					die(killWithdrawn)
				}
			}
			return cgtest.User, nil
		}
	})
	s.Say("hello")
	s.Say("look")
	if s.ask(cgtest.SessionID, "buy") == "" {
		t.Fatal("nobody was asked")
	}
	list := s.list()
	rewinding.Store(true)
	_, _ = os.Stdout.WriteString("rewinding\n")
	s.rewind(list[1].ID)
	_, _ = os.Stdout.WriteString("rewound\n")
	select {}
}

// Wherever the process is killed, the session has gone back or it has not. A request that was withdrawn buys nothing, an
// old price neither, and after another look the agent buys.
func TestKilled(t *testing.T) {
	for _, point := range []string{killWithdrawn, killRecorded, killMarked, killSometime} {
		for round := range testsize.Rounds(t, 1, 50) {
			dir := t.TempDir()
			killed(t, dir, point, time.Duration(round*7%50)*time.Millisecond)
			s := openKilled(t, dir, func(string) {})
			const back = 2
			whole := 0
			all, err := s.bare.Get(t.Context(), &session.GetRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID})
			if err != nil {
				t.Fatal(err)
			}
			for ev := range all.Session.Events().All() {
				if plugin.Marker(ev) == "" {
					whole++
				}
			}
			n := s.Session(cgtest.User, cgtest.SessionID).Events().Len()
			old := s.Approvals(cgtest.SessionID)[0]
			if n != back && n != whole || point != killSometime && (n == back) != (point == killMarked) {
				t.Fatalf("%s: the session shows %d events", point, n)
			}
			if old.State != safety.StateSuperseded && (n == back || point != killSometime || old.State != safety.StatePending) {
				t.Errorf("%s: the request is %s, and the session shows %d events", point, old.State, n)
			}
			if old.State == safety.StateSuperseded {
				_, err := adktest.TryRun(t.Context(), s.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(old.ConfirmationID, true))
				t.Log(point, err)
				s.WantBought(0)
			}
			s.Shop.Set("$52,000", true)
			if id := s.ask(cgtest.SessionID, "buy"); id != "" {
				s.Answer(cgtest.SessionID, id, true)
			}
			s.WantBought(0)
			s.Say("look")
			if got := s.Answer(cgtest.SessionID, s.ask(cgtest.SessionID, "buy"), true); got["status"] != "bought" {
				t.Errorf("%s: after another look buy came to %v", point, got)
			}
			s.WantBought(1)
		}
	}
}

// killed runs this test binary until it is killed: at a point, or some time after its rewind began.
func killed(t *testing.T, dir, point string, after time.Duration) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestKilledChild$")
	cmd.Env = append(os.Environ(), killChildEnv+"="+dir+" "+point)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if point == killSometime && lines.Text() == "rewinding" {
			time.Sleep(after)
			_ = cmd.Process.Kill()
		}
		if lines.Text() == "rewound" && point != killSometime {
			_ = cmd.Process.Kill()
			t.Errorf("%s: the child went on", point)
		}
	}
	if err := cmd.Wait(); err == nil || strings.Contains(said.String(), "FAIL") {
		t.Fatalf("the child ended by itself: %v\n%s", err, &said)
	}
}
