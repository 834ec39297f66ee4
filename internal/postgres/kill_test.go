// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	process "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/pgtest"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

var (
	killRounds = flag.Int("kill.rounds", 0, "how often each way of dying is tried at each step; 0 tries one way a step, once")
	chaos      = flag.Duration("chaos", 4*time.Second, "how long processes are killed at random")
)

// These make the test binary one of the processes that the tests kill.
const (
	killEnv  = "POSTGRES_KILLED"
	chaosEnv = "POSTGRES_CHAOS"
)

// again runs this test binary with a role, for a test.
func again(t *testing.T, test, env, role string) *process.Cmd {
	t.Helper()
	cmd := process.Command(os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), env+"="+role)
	cmd.Stdout = new(bytes.Buffer)
	cmd.Stderr = cmd.Stdout
	return cmd
}

// appendLine adds a line to a file, in one write.
func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, line+"\n")
	return errors.Join(err, f.Close())
}

func linesOf(path string) []string {
	text, _ := os.ReadFile(path) // there may be none
	return strings.Fields(string(text))
}

// stepsOfACall are the statements between asking and the end of the effect.
var stepsOfACall = []struct{ name, part string }{
	{"rows", "INSERT INTO contextgraph.rows"},
	{"create", "INSERT INTO contextgraph.approvals"},
	{"attach", "SET confirmation_key"},
	{"approved", `"State":"approved"`},
	{"permitted", `"State":"permitted"`},
	{"executing", `"State":"executing"`},
	{"executed", `"State":"executed"`},
}

// TestKilledAtEachStep kills the process that asks, answers and runs, or stops the database, at each step, before the step
// takes effect and after. There is never a second effect, an effect without a permit, or an end that did not happen.
func TestKilledAtEachStep(t *testing.T) {
	if role := strings.Fields(os.Getenv(killEnv)); len(role) == 2 {
		askAndAnswer(t, role[0], role[1])
		return
	}
	for i, step := range stepsOfACall {
		for way := range 4 {
			before, killed := way%2 == 0, way < 2
			if *killRounds == 0 && (i+way)%2 == 0 {
				continue
			}
			for round := range max(*killRounds, 1) {
				t.Run(fmt.Sprintf("%s/before=%t/killed=%t/%d", step.name, before, killed, round), func(t *testing.T) {
					dieAt(t, step.part, before, killed)
				})
			}
		}
	}
}

func dieAt(t *testing.T, part string, before, killed bool) {
	url := pgtest.Database(t)
	p := pgtest.NewProxy(t, url)
	effects := filepath.Join(t.TempDir(), "effects")
	opened(t, url)
	child := again(t, "TestKilledAtEachStep", killEnv, p.URL+" "+effects)
	reached, over := make(chan struct{}, 1), make(chan struct{})
	p.At(part, before, func() {
		reached <- struct{}{}
		<-over
	})
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	select {
	case <-reached:
	case err := <-ended:
		close(over)
		t.Fatalf("the step was not reached: %v\n%s", err, child.Stdout)
	}
	if killed {
		_ = child.Process.Kill()
	} else {
		pgtest.Crash(t, func() { time.Sleep(200 * time.Millisecond) })
	}
	close(over)
	<-ended
	f := &fleet{t: t, url: url, sessions: session.InMemoryService()}
	h := f.replica()
	done := linesOf(effects)
	as := h.Approvals(cgtest.SessionID)
	for _, a := range as {
		t.Logf("an approval is %s", a.State)
	}
	t.Logf("%d effects; %s", len(done), child.Stdout)
	for _, a := range as {
		executed := 0
		for _, id := range done {
			if id == a.CallID {
				executed++
			}
		}
		switch {
		case executed > 1:
			t.Errorf("%d effects of one approval", executed)
		case executed == 1 && a.State != safety.StateExecuted && a.State != safety.StateExecuting:
			t.Errorf("the call ran, and its approval is %s", a.State)
		case executed == 0 && a.State == safety.StateExecuted:
			t.Error("the call did not run, and its approval says so")
		}
	}
	if len(done) > len(as) {
		t.Errorf("%d effects of %d approvals", len(done), len(as))
	}
	if !killed && len(done) == 0 && !slices.ContainsFunc(as, safety.Approval.InDoubt) {
		t.Error("the database was back, and nothing went on")
	}
	wantNumbers(t, url, -1)
	id, _ := h.Ask("another")
	h.Answer("another", id, true)
	h.WantBought(1)
}

// askAndAnswer asks, and says yes again and again, as a client does who hears nothing, until the call has run.
func askAndAnswer(t *testing.T, url, effects string) {
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.Config.Memory, o.Config.Journal.Path, o.Config.Part = nil, "", part{}
		o.Config.Store.Postgres.DSN = config.Secret(url)
	})
	h.Effect = func(ctx agent.Context) error { return appendLine(effects, ctx.FunctionCallID()) }
	for range 40 {
		events, _ := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
		asked := adktest.Confirmations(events) // none, if the request was withdrawn
		for try := 0; try < 3 && len(asked) > 0; try++ {
			_, _ = adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(asked[0].ID, true))
			time.Sleep(50 * time.Millisecond)
		}
		if len(linesOf(effects)) > 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// TestRandomKills lets three processes record, ask, answer and run in 200 sessions, while they are killed and their
// connections are cut. No acknowledged row is lost or doubled, no call runs twice, every approval explains itself.
func TestRandomKills(t *testing.T) {
	const sessions = 200
	if role := strings.Fields(os.Getenv(chaosEnv)); len(role) == 2 {
		workAtRandom(t, role[0], role[1], sessions)
		return
	}
	url := pgtest.Database(t)
	opened(t, url)
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	proxies, children := make([]*pgtest.Proxy, 3), make([]*process.Cmd, 3)
	start := func(i int) {
		children[i] = again(t, "TestRandomKills", chaosEnv, proxies[i].URL+" "+dir)
		if err := children[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	end := func(i int) {
		_ = children[i].Process.Kill()
		if err := children[i].Wait(); err == nil || bytes.Contains(children[i].Stdout.(*bytes.Buffer).Bytes(), []byte("FAIL")) {
			t.Errorf("a process ended by itself: %v\n%s", err, children[i].Stdout)
		}
	}
	for i := range proxies {
		proxies[i] = pgtest.NewProxy(t, url)
		start(i)
	}
	kills := 0
	for until := time.Now().Add(*chaos); time.Now().Before(until) || len(linesOf(filepath.Join(dir, "effects"))) == 0; {
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		switch i := r.IntN(3); r.IntN(3) {
		case 0:
			end(i)
			start(i)
			kills++
		case 1:
			proxies[i].Cut()
		case 2:
			proxies[i].Away(true)
			time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
			proxies[i].Away(false)
		}
	}
	for i := range children {
		end(i)
	}
	wantNumbers(t, url, -1)
	s := opened(t, url)
	acknowledged := linesOf(filepath.Join(dir, "rows"))
	for part := range slices.Chunk(acknowledged, 1000) {
		if stored, err := s.Stored(t.Context(), part...); err != nil || !stored {
			t.Errorf("an acknowledged row is lost: %t, %v", stored, err)
		}
	}
	effects := make(map[string]int)
	for _, id := range linesOf(filepath.Join(dir, "effects")) {
		effects[id]++
	}
	states := make(map[safety.ApprovalState]int)
	for n := range sessions {
		list, err := s.List(t.Context(), safety.Query{Session: record.Session{App: "app", User: "u", ID: fmt.Sprint("s", n)}})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			states[a.State]++
			ran := effects[a.ID]
			delete(effects, a.ID)
			if ran > 1 || ran == 1 && a.State != safety.StateExecuted && a.State != safety.StateExecuting || ran == 0 && a.State == safety.StateExecuted {
				t.Errorf("%d effects of an approval that is %s", ran, a.State)
			}
			steps, err := s.History(t.Context(), a.ID)
			if err != nil || steps[len(steps)-1].To != a.State {
				t.Errorf("the history of an approval that is %s: %+v, %v", a.State, steps, err)
			}
		}
	}
	if len(effects) > 0 {
		t.Errorf("effects without an approval: %v", effects)
	}
	t.Logf("%d kills, %d acknowledged rows, approvals %v", kills, len(acknowledged), states)
}

// workAtRandom works until it is killed.
func workAtRandom(t *testing.T, url, dir string, sessions int) {
	var s *db
	for s == nil { // the server may be away
		s, _ = open(t.Context(), of(url))
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for t.Context().Err() == nil {
				id := fmt.Sprint("s", rand.IntN(sessions))
				row := rowIn(id, rand.IntN(1<<40))
				if s.Append(row) && s.Commit(t.Context(), row.EventID) == nil {
					if err := appendLine(filepath.Join(dir, "rows"), row.EventID); err != nil {
						t.Error(err)
					}
				}
				a := storetest.Pending(rand.IntN(1 << 30))
				a.Session = row.Session()
				if s.Create(t.Context(), a) != nil {
					continue
				}
				list, _ := s.List(t.Context(), safety.Query{Session: a.Session})
				for _, a := range list {
					advance(t, s, a, dir)
				}
			}
		})
	}
	all.Wait()
}

// advance brings an approval to its end, as far as nobody else does.
func advance(t *testing.T, s *db, a safety.Approval, dir string) {
	path := storetest.Paths()[safety.StateExecuted]
	if a.State != safety.StatePending {
		at := slices.Index(path, a.State)
		if at < 0 || a.State == safety.StateExecuting {
			return
		}
		path = path[at+1:]
	}
	for _, to := range path {
		var err error
		if a, err = s.Transition(context.WithoutCancel(t.Context()), storetest.Transition(a, to)); err != nil {
			return
		}
		if to == safety.StateExecuting {
			if err := appendLine(filepath.Join(dir, "effects"), a.ID); err != nil {
				t.Error(err)
			}
		}
	}
}
