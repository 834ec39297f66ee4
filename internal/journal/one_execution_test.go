// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// onceChildEnv makes the test binary answer and carry out the approval in the journal it
// names, as soon as its standard input has a line.
const onceChildEnv = "JOURNAL_ONCE_CHILD"

// unchangedWorld is a record and a world in which nothing happens.
type unchangedWorld struct{ a safety.Approval }

func (w unchangedWorld) Collect(context.Context, record.Session, record.Decision) (safety.Snapshot, error) {
	return safety.Snapshot{Evidence: entity.Evidence{Entities: w.a.Entities}, Receipt: w.a.Receipt}, nil
}

func (w unchangedWorld) Check(_ context.Context, e entity.Canonical) (safety.State, error) {
	return safety.State{Attributes: e.Attributes, AsOf: time.Now()}, nil
}

// oncePolicy waits for as long as a loaded machine may take.
func oncePolicy() config.Guard {
	return config.Guard{
		CheckAge: time.Hour, CheckTimeout: 5 * time.Minute, CheckDeadline: 10 * time.Minute,
		Tools: map[string]config.ToolSettings{"*": {ActsOn: config.ActsOnNothing}},
	}
}

// policyVersion returns the version of a policy: that of a check.
func policyVersion(ctx context.Context, policy config.Guard) (string, error) {
	guard, err := safety.NewGuard(safety.GuardConfig{Ledger: new(store.Memory).Open().Ledger(), Evidence: unchangedWorld{}, Policy: policy})
	if err != nil {
		return "", err
	}
	r, err := guard.Check(ctx, record.Session{App: "a", User: "u", ID: "s"})
	return r.PolicyVersion(), err
}

var onceArgs = map[string]any{"total": 1.0}

// onceApproval is the request that is answered, the same in every process.
func onceApproval() (safety.Approval, error) {
	a := storetest.Pending(1)
	sum, canonical, err := safety.ArgsDigest(onceArgs)
	if err != nil {
		return a, err
	}
	a.ConfirmationID, a.ArgsDigest, a.Args = "conf", sum, canonical
	allRead(&a)
	a.Receipt, a.Gaps = record.Receipt{Watermark: 1, RowsRead: 1, Version: "rules"}, nil
	a.PolicyVersion, err = policyVersion(context.Background(), oncePolicy())
	return a, err
}

// allRead makes readings of all that was seen.
func allRead(a *safety.Approval) {
	for i := range a.Entities {
		for j := range a.Entities[i].Seen {
			a.Entities[i].Seen[j].Echoes = nil
		}
	}
	a.Fingerprint = safety.Fingerprint(a.Entities)
}

// carryOut lets many runs answer and carry out the one approval, each by itself. Each
// effect is one line in the file. It returns the codes of the refusals.
func carryOut(ctx context.Context, j *journal.Journal, runs int, who, effects string, begin func()) ([]string, error) {
	a, err := onceApproval()
	if err != nil {
		return nil, err
	}
	stored, err := safety.Get(ctx, j.Ledger(), a.ID)
	if err != nil {
		return nil, err
	}
	world := unchangedWorld{stored}
	guard, err := safety.NewGuard(safety.GuardConfig{
		Ledger: j.Ledger(), Evidence: world, Checkers: map[string]safety.Checker{"Product": world}, Policy: oncePolicy(),
	})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var codes []string
	var failed error
	var wg sync.WaitGroup
	start := make(chan struct{})
	for n := range runs {
		run := fmt.Sprintf("%s-%d", who, n)
		wg.Go(func() {
			<-start
			code, err := carryOutOnce(ctx, guard, stored, run, effects)
			mu.Lock()
			defer mu.Unlock()
			codes = append(codes, code)
			failed = errors.Join(failed, err)
		})
	}
	begin()
	close(start)
	wg.Wait()
	return codes, failed
}

func carryOutOnce(ctx context.Context, guard *safety.Guard, a safety.Approval, run, effects string) (code string, err error) {
	guard.Answer(ctx, safety.Answer{Session: a.Session, ConfirmationID: "conf", Confirmed: true, RunID: run})
	p, _, err := guard.Permit(ctx, safety.Execution{
		Session: a.Session, ApprovalID: a.ID, CallID: a.CallID, Tool: a.Tool, Agent: a.Agent, RunID: run, Args: onceArgs, Declaration: a.Declaration,
	})
	if err == nil {
		err = p.Consume(ctx, onceArgs)
	}
	if err != nil {
		refusal, ok := errors.AsType[*safety.Refusal](err)
		if !ok {
			return "", err
		}
		return refusal.Code, nil
	}
	f, err := os.OpenFile(effects, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintln(f, run)
	return "", errors.Join(err, f.Close(), p.Done(ctx, nil))
}

func onceChild(path string) {
	ctx := context.Background()
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: path}})
	if err != nil {
		fail(err)
	}
	runs, err := strconv.Atoi(os.Getenv(onceChildEnv + "_RUNS"))
	if err != nil {
		fail(err)
	}
	codes, err := carryOut(ctx, j, runs, "child", path+".effects", func() {
		fmt.Println("ready")
		bufio.NewReader(os.Stdin).ReadString('\n')
	})
	if err := errors.Join(err, j.Close(ctx)); err != nil {
		fail(err)
	}
	for _, code := range codes {
		fmt.Println(code)
	}
}

// TestOneExecution lets many runs in two processes, each with a guard of its own,
// answer and carry out one approval at the same time: the effect runs once.
func TestOneExecution(t *testing.T) {
	path := journaltest.Path(t)
	j := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	a, err := onceApproval()
	if err != nil {
		t.Fatal(err)
	}
	// The times of the approval are those of the guards.
	a.RequestedAt = time.Now().UTC().Truncate(time.Microsecond)
	a.ExpiresAt, a.UpdatedAt = a.RequestedAt.Add(time.Hour), a.RequestedAt
	if err := j.Ledger().Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	runs := testsize.Rounds(t, 60, 500) // of each process, all at the same time
	cmd := testBinary(t, onceChildEnv+"="+path, fmt.Sprint(onceChildEnv, "_RUNS=", runs))
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	codes, err := carryOut(t.Context(), j, runs, "parent", path+".effects", func() {
		if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Errorf("the child says %q: %v", line, err)
		}
		io.WriteString(in, "go\n")
	})
	if err != nil {
		t.Error(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		codes = append(codes, lines.Text())
	}
	if err := cmd.Wait(); err != nil || complaints.Len() > 0 {
		t.Fatalf("the child: %v: %s", err, complaints.Bytes())
	}

	effects, err := os.ReadFile(path + ".effects")
	if err != nil {
		t.Fatal(err)
	}
	ran := bytes.Count(effects, []byte("\n"))
	count := make(map[string]int)
	for _, code := range codes {
		count[code]++
	}
	t.Logf("%q ran of %d; refused: %v", effects, len(codes), count)
	if ran != 1 || count[""] != 1 || len(codes) != 2*runs {
		t.Errorf("the effect ran %d times; %d of %d runs were permitted", ran, count[""], len(codes))
	}
	steps, err := j.Ledger().History(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	var went []safety.ApprovalState
	for _, s := range steps {
		went = append(went, s.To)
	}
	want := []safety.ApprovalState{safety.StatePending, safety.StateApproved, safety.StatePermitted, safety.StateExecuting, safety.StateExecuted}
	if !slices.Equal(went, want) {
		t.Errorf("history %v, want %v", went, want)
	}
}
