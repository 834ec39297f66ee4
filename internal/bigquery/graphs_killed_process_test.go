// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
)

// Where a process of the test below finds the write service and its journal, and whether it asks for
// a confirmation.
const (
	graphsAddr    = "GRAPHS_TEST_ADDR"
	graphsJournal = "GRAPHS_TEST_JOURNAL"
	graphsAsk     = "GRAPHS_TEST_ASK"
)

// TestGraphsProcess is the process of the test below: it says when a request for a confirmation is
// on disk, and closes when its input ends.
func TestGraphsProcess(t *testing.T) {
	addr := os.Getenv(graphsAddr)
	if addr == "" {
		return // not started by a test
	}
	c := openCaller(t, bigquery.WithPauses(bigquery.DatasetOptions{
		BatchAge: time.Millisecond,
		Client:   []option.ClientOption{option.WithEndpoint("http://127.0.0.1:1"), option.WithoutAuthentication()},
		Write:    writers(addr),
	}, 0, 0), func(c *cgtest.Config) {
		c.Journal.Path, c.BigQuery.Graph.Sync = os.Getenv(graphsJournal), new(true)
	})
	if os.Getenv(graphsAsk) != "" {
		c.run(t)
		fmt.Println("asked")
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := c.closeWithin(patience); err != nil {
		t.Error(err)
	}
}

// A process that is killed between the request for an approval and the append of the graph, or
// between the append and the note of that in the journal, loses no graph: the next one brings it,
// the same.
func TestKilledProcessLosesNoGraph(t *testing.T) {
	for name, applied := range map[string]bool{"before the append": false, "after the append": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, writefake.Options{})
			journal := journaltest.Path(t)
			start := func(ask string) (*exec.Cmd, io.Closer, *bufio.Scanner) {
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGraphsProcess$")
				cmd.Env = append(os.Environ(), graphsAddr+"="+server.Addr(), graphsJournal+"="+journal, graphsAsk+"="+ask)
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				return cmd, in, bufio.NewScanner(out)
			}
			graphs := func() (versions []map[string]any) {
				for _, row := range server.Rows() {
					if row.EventID == "" {
						versions = append(versions, row.Fields())
					}
				}
				return versions
			}

			// No row is acknowledged before all are recorded, so that each graph is of all.
			all, came := make(chan struct{}), make(chan struct{})
			var once sync.Once
			server.Schedule(func(r writefake.Request) writefake.Answer {
				if !strings.Contains(r.Stream, "session_graphs") {
					return writefake.Answer{Hold: all}
				}
				once.Do(func() { close(came) })
				return writefake.Answer{Silent: true, NotApplied: !applied}
			})
			cmd, _, out := start("yes")
			for out.Scan() && out.Text() != "asked" {
			}
			close(all)
			select {
			case <-came:
			case <-time.After(patience):
				t.Fatal("no graph was sent")
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if n := len(graphs()); n != 0 && !applied || n == 0 && applied {
				t.Fatalf("%d graphs are there", n)
			}

			endLeases(t, journal)
			server.Schedule(nil)
			before := len(graphs())
			cmd, in, _ := start("")
			for end := time.Now().Add(patience); len(graphs()) == before; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the graph does not come")
				}
			}
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			got := graphs()
			for i, g := range got {
				if g["version"] != got[0]["version"] || g["parts"] != int64(1) || i > 0 && g["sync_id"].(string) <= got[i-1]["sync_id"].(string) {
					t.Errorf("graph %d is version %v in %v parts, with the sync id %v", i, g["version"], g["parts"], g["sync_id"])
				}
				if diff := gocmp.Diff(got[0]["nodes"], g["nodes"]); diff != "" {
					t.Errorf("it is another one (-first +now):\n%s", diff)
				}
			}
			if len(got) > before+1 {
				t.Errorf("it came %d times, want once after the %d before", len(got), before)
			}
		})
	}
}

// endLeases ends the leases of a killed process, which would last for 15 seconds.
func endLeases(t *testing.T, path string) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err == nil {
		err = errors.Join(sqlitex.ExecuteTransient(conn, "UPDATE destinations SET lease_until = 0 WHERE owner IS NOT NULL", nil), conn.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
