// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
)

// mute is an address that takes connections, and whatever is sent, and says nothing.
func mute(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, c)
		}
	})
	t.Cleanup(func() {
		l.Close()
		accepting.Wait()
		for _, c := range conns {
			c.Close()
		}
	})
	return l.Addr().String()
}

// writers are the options of a write client of addr.
func writers(addr string) []option.ClientOption {
	return []option.ClientOption{option.WithEndpoint(addr), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials()))}
}

// caller is an agent whose every run asks for a confirmation.
type caller struct {
	cg     *contextgraph.Instance
	runner *runner.Runner
	runs   int
}

// openCaller opens an instance that streams by open.
func openCaller(t *testing.T, open warehouse.Opener, change func(*cgtest.Config)) *caller {
	t.Helper()
	cfg := cgtest.Config{
		Config: contextgraph.Config{
			Journal:  config.Journal{Path: journaltest.Path(t), CommitInterval: time.Millisecond},
			BigQuery: config.BigQuery{Project: "my-project", Dataset: "agents", Init: new(false), Graph: config.Graph{Sync: new(false)}},
		},
		Part:   open,
		Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cg, err := cfg.Open(ctx)
	cancel() // it bounds the opening only
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		_ = cg.Close(ctx) // unless the test has closed it
	})
	buy, err := functiontool.New(functiontool.Config{Name: "buy", Description: "buys", RequireConfirmation: true},
		func(agent.Context, struct{}) (map[string]any, error) { return map[string]any{"status": "bought"}, nil })
	if err != nil {
		t.Fatal(err)
	}
	root, err := llmagent.New(llmagent.Config{
		Name: "root", Tools: []tool.Tool{buy},
		Model: &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) { return adktest.Call("buy", nil), nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: cg.PluginConfig(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &caller{cg: cg, runner: r}
}

// run makes a run in a session of its own and returns how many rows there are now.
func (c *caller) run(t *testing.T) int64 {
	t.Helper()
	c.runs++
	if events := adktest.Run(t, c.runner, "u", fmt.Sprint("s", c.runs), adktest.UserText("buy")); len(adktest.Confirmations(events)) != 1 {
		t.Fatal("the run did not ask for a confirmation")
	}
	if err := c.cg.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	n, err := cgtest.JournalOf(t, c.cg).LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// patience bounds what a test waits for that must happen, however slow the machine is.
const patience = 5 * time.Minute

// until waits for a status.
func (c *caller) until(t *testing.T, what string, ok func(contextgraph.BigQueryStats) bool) contextgraph.BigQueryStats {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s := c.cg.Stats().BigQuery
		if ok(s) {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("not %s: %+v", what, s)
		}
	}
}

// closeWithin closes the instance and returns what it says.
func (c *caller) closeWithin(d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return c.cg.Close(ctx)
}

// TestStatsOfTheConnection: what happens to the stream is seen in the Stats of the
// instance, and is over when its reason is, without a restart.
func TestStatsOfTheConnection(t *testing.T) {
	t.Parallel()
	server := newServer(t, writefake.Options{})
	c := openCaller(t, bigquery.WithPauses(bigquery.DatasetOptions{
		BatchAge: time.Millisecond,
		Client:   []option.ClientOption{option.WithEndpoint("http://127.0.0.1:1"), option.WithoutAuthentication()},
		Write:    server.ClientOptions(),
	}, 0, 20*time.Millisecond), nil)
	n := c.run(t)
	if err := c.cg.FlushBigQuery(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := c.until(t, "well", func(s contextgraph.BigQueryStats) bool {
		return s.LagRows == 0 && s.Ready && s.Acknowledged == uint64(n)
	})
	if !s.Enabled || !s.Active || s.Standby || !s.Ready || s.Stopped || s.LastError != nil || s.Acknowledged != uint64(n) || s.Bytes == 0 || s.LagSeconds != 0 {
		t.Errorf("all is well: %+v", s)
	}

	server.Schedule(func(writefake.Request) writefake.Answer {
		return writefake.EndBefore(status.Error(codes.PermissionDenied, "Permission 'TABLES_UPDATE_DATA' denied"))
	})
	more := c.run(t) - n
	err := c.cg.FlushBigQuery(t.Context()) // returns although nothing is sent
	if !errors.Is(err, replicate.ErrStopped) || !strings.Contains(err.Error(), "roles/bigquery.dataEditor") {
		t.Errorf("FlushBigQuery() = %v", err)
	}
	s = c.until(t, "stopped", func(s contextgraph.BigQueryStats) bool { return s.Stopped && s.LagRows == more })
	if s.LastError == nil || !strings.Contains(s.LastError.Error(), "TABLES_UPDATE_DATA") || s.FailingSince.IsZero() || s.LagSeconds <= 0 {
		t.Errorf("without permission: %+v", s)
	}

	server.Schedule(nil)
	s = c.until(t, "healed", func(s contextgraph.BigQueryStats) bool {
		return !s.Stopped && s.LagRows == 0 && s.Acknowledged == uint64(n+more)
	})
	if s.LastError != nil || !s.FailingSince.IsZero() || s.Acknowledged != uint64(n+more) || s.Reopened == 0 {
		t.Errorf("with permission again: %+v", s)
	}

	server.Refuse(func(r writefake.Row) string {
		if r.Fields()["event_type"] == "TOOL_STARTING" {
			return "no such row"
		}
		return ""
	})
	c.run(t)
	if err := c.cg.FlushBigQuery(t.Context()); err != nil {
		t.Error(err)
	}
	if s := c.until(t, "one refused", func(s contextgraph.BigQueryStats) bool { return s.DeadLetters > 0 && s.LagRows == 0 }); s.LastError != nil {
		t.Errorf("with a row that is refused: %+v", s)
	}
	if err := c.closeWithin(patience); err != nil {
		t.Error(err)
	}
	if s := c.cg.Stats().BigQuery; s.DeadLetters == 0 || s.Active {
		t.Errorf("after Close: %+v", s)
	}
}

// While the API of tables says nothing, rows are sent all the same: after a while, and
// at once when the instance is closed. Close does not wait for the API either.
func TestRowsGoWhileTheTablesHang(t *testing.T) {
	for name, wait := range map[string]time.Duration{"after a while": time.Millisecond, "at the end": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, writefake.Options{})
			c := openCaller(t, bigquery.WithPauses(bigquery.DatasetOptions{
				BatchAge: time.Millisecond,
				Client:   []option.ClientOption{option.WithEndpoint("http://" + mute(t)), option.WithoutAuthentication()},
				Write:    server.ClientOptions(),
			}, wait, 0), func(c *cgtest.Config) {
				c.BigQuery.Init, c.BigQuery.Graph.Sync = new(true), new(true)
			})
			n := c.run(t)
			if wait < time.Hour {
				s := c.until(t, "sent", func(s contextgraph.BigQueryStats) bool { return s.Acknowledged == uint64(n) && s.LagRows == 0 })
				if s.Ready {
					t.Errorf("Stats: %+v", s)
				}
			}
			if err := c.closeWithin(patience); err != nil {
				t.Errorf("Close: %v", err)
			}
			var rows, graphs int64
			for _, row := range server.Rows() {
				if row.EventID == "" {
					graphs++
				} else {
					rows++
				}
			}
			if rows != n || graphs == 0 {
				t.Errorf("%d of %d rows were sent, and %d graphs of the session", rows, n, graphs)
			}
		})
	}
}

// waits are the states of a goroutine that waits for something that may never come, in
// the words of the runtime. A mutex of the queue of graphs is none: nobody waits with it.
var waits = regexp.MustCompile(`^goroutine \d+ \[(select|chan receive|chan send|sleep|IO wait|semacquire|sync\.WaitGroup\.Wait|sync\.Cond\.Wait)`)

// toDataset finds functions of the packages that bring rows and graphs to a dataset.
var toDataset = regexp.MustCompile(`/contextgraph/internal/(bigquery|replicate|warehouse)\.`)

// waiting returns the stacks of goroutines that wait for the dataset inside of a callback
// of a run.
func waiting() (stacks []string) {
	buf := make([]byte, 8<<20)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		inside, _, callback := strings.Cut(stack, "/plugin.(*Recorder)")
		if callback && waits.MatchString(stack) && toDataset.MatchString(inside) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// TestRunsDoNotWaitForTheDataset: a dataset that takes connections and never answers is
// not waited for in any callback, not for a moment. The other way round, where the
// configuration asks for it, a run waits: that shows that the look would see it.
func TestRunsDoNotWaitForTheDataset(t *testing.T) {
	for _, ask := range []bool{false, true} {
		t.Run(fmt.Sprintf("flush_on_run_end=%v", ask), func(t *testing.T) {
			c := openCaller(t, bigquery.With(bigquery.DatasetOptions{
				BatchAge: time.Millisecond,
				Client:   []option.ClientOption{option.WithEndpoint("http://" + mute(t)), option.WithoutAuthentication()},
				Write:    writers(mute(t)),
			}), func(c *cgtest.Config) {
				c.BigQuery.Init, c.BigQuery.Graph.Sync = new(true), new(true)
				c.BigQuery.Stream.FlushOnRunEnd, c.BigQuery.Stream.FlushTimeout = ask, 200*time.Millisecond
			})
			stop := make(chan struct{})
			var found atomic.Pointer[string]
			var looks sync.WaitGroup
			looks.Go(func() {
				for {
					if stacks := waiting(); len(stacks) > 0 {
						found.Store(&stacks[0])
						return
					}
					select {
					case <-stop:
						return
					default:
						runtime.Gosched()
					}
				}
			})
			runs := 20
			if ask {
				runs = 1 // and more until a look comes at the right time
			}
			for end := time.Now().Add(patience); runs > 0 || ask && found.Load() == nil && time.Now().Before(end); runs-- {
				c.run(t)
			}
			close(stop)
			looks.Wait()
			switch stack := found.Load(); {
			case ask && stack == nil:
				t.Error("nothing was seen of runs that wait")
			case !ask && stack != nil:
				t.Errorf("a run waits for the dataset:\n%s", *stack)
			}
			// A status may be of a moment ago.
			c.until(t, "tried", func(s contextgraph.BigQueryStats) bool { return s.GraphPending > 0 && s.LagRows > 0 })
			if err := c.closeWithin(100 * time.Millisecond); err == nil {
				t.Error("Close says nothing of what was not sent")
			}
		})
	}
}

// panicking is a transport with a bug.
type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) { panic("a bug in a transport") }

// A panic of the client library, in whatever goroutine, does not end the program.
func TestClientPanics(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	server := newServer(t, writefake.Options{})
	c := openCaller(t, bigquery.With(bigquery.DatasetOptions{
		BatchAge: time.Millisecond,
		Client:   []option.ClientOption{option.WithEndpoint("http://127.0.0.1:1"), option.WithHTTPClient(&http.Client{Transport: panicking{}})},
		Write:    server.ClientOptions(),
	}), func(c *cgtest.Config) {
		c.BigQuery.Init = new(true)
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	n := c.run(t)
	s := c.until(t, "tried", func(s contextgraph.BigQueryStats) bool {
		return s.InitError != nil && s.LagRows == 0 && s.Acknowledged == uint64(n)
	})
	if !strings.Contains(s.InitError.Error(), "panic") {
		t.Errorf("Stats: %+v", s)
	}
	if !strings.Contains(log.String(), "a bug in a transport") {
		t.Errorf("the log does not say what happened:\n%s", &log)
	}
	if err := c.closeWithin(patience); err != nil {
		t.Error(err)
	}
}

// lockedBuffer is a log for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// An opener serves several instances; one that is refused leaves nothing behind, which
// the end of all tests checks.
func TestOpener(t *testing.T) {
	t.Parallel()
	open := bigquery.With(bigquery.DatasetOptions{
		BatchAge: time.Millisecond,
		Client:   []option.ClientOption{option.WithEndpoint("http://127.0.0.1:1"), option.WithoutAuthentication()},
		Write:    writers(mute(t)),
	})
	host := func(log *lockedBuffer) warehouse.Host {
		j := newJournal(t, 1, 10)
		return warehouse.Host{Journal: j, Sessions: graphsync.NewSessions(j, nil), Logger: slog.New(slog.NewTextHandler(log, nil))}
	}
	cfg := config.BigQuery{Project: "my-project", Dataset: "agents", Init: new(false)}
	var logs [2]lockedBuffer
	for i := range logs {
		c, err := open(t.Context(), cfg, host(&logs[i]))
		if err != nil {
			t.Fatal(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Flush(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Flush() = %v", err)
		}
		err = c.Close(ended)
		if err == nil || errors.Is(err, store.ErrClosed) {
			t.Fatalf("Close() = %v", err)
		}
		if strings.Contains(err.Error(), "has not returned") {
			continue // a machine with much to do: what Close began goes on
		}
		// Whether the journal was looked at before is open: the caller gave no time.
		if s := c.Status(); s.Active || s.GraphErrors != 0 {
			t.Errorf("after Close: %+v", s)
		}
	}
	for name, change := range map[string]func(*config.BigQuery){
		"no dataset": func(c *config.BigQuery) { *c = config.BigQuery{} },
		"a name":     func(c *config.BigQuery) { c.Dataset = "a-b" },
	} {
		bad := cfg
		change(&bad)
		if c, err := open(t.Context(), bad, host(&logs[0])); err == nil {
			t.Errorf("%s: Open() = %v", name, c)
		}
	}
}
