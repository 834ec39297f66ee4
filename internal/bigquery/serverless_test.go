// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Where a process of these tests finds the write service, and whether its runs wait.
const (
	serverlessAddr  = "SERVERLESS_TEST_ADDR"
	serverlessFlush = "SERVERLESS_TEST_FLUSH"
)

// TestServerlessProcess is the process of the tests below: a machine whose disk goes
// with it. It runs its agent until SIGTERM, says which sessions have ended, and closes.
func TestServerlessProcess(t *testing.T) {
	addr := os.Getenv(serverlessAddr)
	if addr == "" {
		return // not started by a test
	}
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()
	cg, err := contextgraph.Open(ctx, contextgraph.Config{
		Journal: config.Journal{Path: journaltest.Path(t)},
		BigQuery: config.BigQuery{
			Project: "my-project", Dataset: "agents", Init: new(false), Graph: config.Graph{Sync: new(false)},
			Stream: config.Stream{FlushOnRunEnd: os.Getenv(serverlessFlush) != "", FlushTimeout: time.Minute},
		},
	}, contextgraph.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))), contextgraph.WithPart(bigquery.With(bigquery.DatasetOptions{
		BatchAge: time.Minute, // nothing is sent by itself while the test lasts
		Client:   []option.ClientOption{option.WithoutAuthentication()},
		Write: []option.ClientOption{option.WithEndpoint(addr), option.WithoutAuthentication(),
			option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials()))},
	})))
	if err != nil {
		t.Fatal(err)
	}
	says := &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) { return adktest.Text("hello"), nil }}
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: says})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: cg.PluginConfig(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ctx.Err() == nil; i++ {
		id := fmt.Sprint("s", i)
		for _, err := range r.Run(context.WithoutCancel(ctx), "u", id, adktest.UserText("hi"), agent.RunConfig{}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		fmt.Println("ended", id)
	}
	bounded, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := cg.Close(bounded); err != nil {
		t.Error(err)
	}
}

// serverless starts the process, waits until it has ended some runs, kills it with sig
// and returns the sessions whose runs had ended.
func serverless(t *testing.T, server *writefake.Server, flush bool, sig os.Signal) (ended []string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServerlessProcess$")
	cmd.Env = append(os.Environ(), serverlessAddr+"="+server.Addr())
	if flush {
		cmd.Env = append(cmd.Env, serverlessFlush+"=1")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "ended "); ok {
			if ended = append(ended, id); len(ended) == 5 {
				if err := cmd.Process.Signal(sig); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if len(ended) < 5 {
		t.Errorf("only %d runs ended", len(ended))
	}
	return ended, cmd.Wait()
}

// whole reports whether the server has every row of the one run of a session.
func whole(server *writefake.Server, id string) error {
	numbers := make(map[string]bool)
	last := ""
	for _, row := range server.Rows() {
		if row.Session != id {
			continue
		}
		fields := row.Fields()
		attributes, _ := fields["attributes"].(string)
		_, after, _ := strings.Cut(attributes, `"run_seq":`)
		number, _, _ := strings.Cut(after, ",")
		numbers[number] = true
		if fields["event_type"] == record.InvocationCompleted {
			last = number
		}
	}
	if last == "" || fmt.Sprint(len(numbers)) != last {
		return fmt.Errorf("of the run of %s the server has %d rows; the last one has the number %q", id, len(numbers), last)
	}
	return nil
}

// With flush_on_run_end a run that has ended is in BigQuery, whatever becomes of the
// machine in the next moment.
func TestFlushOnRunEndOutlivesTheMachine(t *testing.T) {
	server := newServer(t, writefake.Options{})
	server.Schedule(func(writefake.Request) writefake.Answer { return writefake.Answer{Delay: 20 * time.Millisecond} })
	ended, _ := serverless(t, server, true, syscall.SIGKILL)
	for _, id := range ended {
		if err := whole(server, id); err != nil {
			t.Error(err)
		}
	}
}

// On SIGTERM a process that closes its instance has everything sent, although nothing
// would have gone by itself yet.
func TestCloseOnSIGTERMSendsWhatIsLeft(t *testing.T) {
	server := newServer(t, writefake.Options{})
	server.Schedule(func(writefake.Request) writefake.Answer { return writefake.Answer{Delay: 20 * time.Millisecond} })
	ended, err := serverless(t, server, false, syscall.SIGTERM)
	if err != nil {
		t.Errorf("the process: %v", err)
	}
	for _, id := range ended {
		if err := whole(server, id); err != nil {
			t.Error(err)
		}
	}
}
