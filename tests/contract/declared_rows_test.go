// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// What a tool declares is in the file when RecordEntity returns, or RecordEntity says why it is not.
func TestDeclaredEntitiesAreOnRecordAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		fault, repair string
		err           string
		after         bool // the row is there in the end
	}{
		"the journal works": {after: true},
		"the journal cannot be written": {
			fault: "ALTER TABLE sessions RENAME TO away", repair: "ALTER TABLE away RENAME TO sessions",
			err: "no such table", after: true,
		},
		"the row is refused": {
			fault: `CREATE TRIGGER poison BEFORE INSERT ON agent_events WHEN NEW.event_type = 'ENTITIES_DECLARED'
				BEGIN SELECT raise(ABORT, 'poison'); END`,
			err: "SQLite refused it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := cgtest.New(t, cgtest.OnFile, func(o *cgtest.Options) { o.Config.Journal.CommitInterval = time.Second })
			conn, err := sqlite.OpenConn(h.Path, sqlite.OpenReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			execute := func(statement string) (types []string) {
				err := sqlitex.ExecuteTransient(conn, statement, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
					types = append(types, stmt.ColumnText(0))
					return nil
				}})
				if err != nil && statement != "" {
					t.Errorf("%s: %v", statement, err)
				}
				return types
			}
			var inTool []string
			var declared error
			look := cgtest.NewTool(t, "look", func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
				execute(tt.fault)
				declared = h.CG.RecordEntity(ctx, product(t), entity.Entity{Type: "Category", Value: "routes"})
				inTool = execute(`SELECT event_type FROM agent_events WHERE json_extract(attributes, '$.adk.call_id') IS NOT NULL ORDER BY seq`)
				execute(tt.repair)
				return map[string]any{"found": 2}, nil
			})
			h.Serve(cgtest.RootAgent(t, adktest.Script(adktest.Call("look", map[string]any{"query": "routes"}), adktest.Text("Two.")), look))
			h.Say("Look")
			switch {
			case tt.err == "" && declared != nil:
				t.Errorf("RecordEntity: %v", declared)
			case tt.err != "" && (declared == nil || !strings.Contains(declared.Error(), "not on record") || !strings.Contains(declared.Error(), tt.err)):
				t.Errorf("RecordEntity: %v, want an error that says not on record, and %q", declared, tt.err)
			}
			want := []string{record.ToolStarting, record.EntitiesDeclared}
			if got := slices.Equal(inTool, want); got != (tt.err == "") {
				t.Errorf("in the tool the file has %v of the call, and RecordEntity said %v", inTool, declared)
			}
			if err := h.CG.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := slices.Contains(execute("SELECT event_type FROM agent_events"), record.EntitiesDeclared); got != tt.after {
				t.Errorf("in the end the row is there: %v, want %v", got, tt.after)
			}
		})
	}
}
