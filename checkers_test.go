// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A checker of code has the defaults that one of a file has.
func TestHTTPCheckerFromCode(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/p/Reels" || r.Header.Get("Authorization") != "Bearer abc" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", `"7"`)
		io.WriteString(w, `{"name": "Reels"}`)
	}))
	defer server.Close()
	cfg := config.HTTP{
		URL: server.URL + "/p/{value}", Headers: map[string]config.Secret{"Authorization": "Bearer abc"}, Version: "etag",
		Attributes: map[string]config.Answer{"name": {Path: "$.name"}},
	}
	checker, err := HTTPChecker(nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	got, err := checker.Check(t.Context(), entity.Canonical{Type: "Product", Value: "Reels"})
	if err != nil {
		t.Fatal(err)
	}
	if got.AsOf.Before(before) || got.AsOf.After(time.Now()) {
		t.Errorf("as of %s, want the time it was fetched", got.AsOf)
	}
	got.AsOf = time.Time{}
	if diff := cmp.Diff(safety.State{Attributes: map[string]entity.Value{"name": entity.Text("Reels")}, Version: `"7"`}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if cfg.AsOf != "" || cfg.Attributes["name"].Type != entity.KindNone {
		t.Errorf("the configuration was changed: %+v", cfg)
	}
}

// tripper is a transport that counts requests.
type tripper struct{ n int }

func (tr *tripper) RoundTrip(r *http.Request) (*http.Response, error) {
	tr.n++
	return http.DefaultTransport.RoundTrip(r)
}

func TestHTTPCheckerAsksByTheClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"name": "Reels"}`) }))
	defer server.Close()
	var tr tripper
	checker, err := HTTPChecker(&http.Client{Transport: &tr}, config.HTTP{
		URL: server.URL + "/{value}", Attributes: map[string]config.Answer{"name": {Path: "$.name"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checker.Check(t.Context(), entity.Canonical{Type: "Product", Value: "Reels"}); err != nil {
		t.Fatal(err)
	}
	if tr.n != 1 {
		t.Errorf("%d requests by the client of the host, want 1", tr.n)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestSQLCheckerFromCode(t *testing.T) {
	db := sql.OpenDB(new(budgets))
	defer db.Close()
	cfg := config.SQL{
		Query: "SELECT remaining, owner FROM budgets WHERE name = ?", Args: []string{"{value}"},
		Attributes: map[string]config.Column{"amount": {Column: "remaining", Type: entity.KindMoney, Currency: "USD"}, "owner": {Column: "owner"}},
	}
	amount, err := entity.Money("50000", "USD")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": "database", "finance": "finance"} {
		cfg.Database = name
		checker, err := SQLChecker(db, cfg)
		if err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		got, err := checker.Check(t.Context(), entity.Canonical{Type: "Budget", Value: "Q3"})
		if err != nil {
			t.Fatal(err)
		}
		if got.AsOf.Before(before) || len(got.Origins) != 1 || got.Origins[0].Kind != safety.OriginSQL || got.Origins[0].Name != want {
			t.Errorf("as of %s, origins %v", got.AsOf, got.Origins)
		}
		if diff := cmp.Diff(map[string]entity.Value{"amount": amount, "owner": entity.Text("ana")}, got.Attributes); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// What is wrong is named as in a configuration, with the fields of the struct.
func TestCheckersFromCodeRefuse(t *testing.T) {
	db := sql.OpenDB(new(budgets))
	defer db.Close()
	wrapped := func(_ safety.Checker, err error) error { return err }
	column := map[string]config.Column{"owner": {Column: "owner"}}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"http, in two places": {
			wrapped(HTTPChecker(nil, config.HTTP{URL: "ads.example/{value}"})),
			"contextgraph: http checker:\n" +
				"HTTP.URL: the URL is not an absolute http or https URL; write for example http://127.0.0.1:8080/v1/placements/{value}\n" +
				"HTTP.Attributes: no attribute is given; name at least one: a checker that answers nothing makes every check fail",
		},
		"http, as only a request shows": {
			wrapped(HTTPChecker(nil, config.HTTP{URL: "http://ads.example/../{value}", Attributes: map[string]config.Answer{"price": {Path: "$.price"}}})),
			`contextgraph: http checker: URL "http://ads.example/../{value}": write the path without . and .. segments`,
		},
		"sql, in two places": {
			wrapped(SQLChecker(db, config.SQL{Args: []string{"{valeu}"}, Attributes: column})),
			"contextgraph: sql checker:\n" +
				"SQL.Query: missing; write for example SELECT price FROM placements WHERE name = ?\n" +
				`SQL.Args[0]: "{valeu}" has the unknown placeholder "{valeu}"; known placeholders: {value}, {type}, {attributes.NAME}`,
		},
		"sql, no database": {
			wrapped(SQLChecker(nil, config.SQL{Query: "SELECT 1", Args: []string{"{value}"}, Attributes: column})),
			"contextgraph: sql checker: Database is nil: there is nothing to ask; look at the error of sql.Open",
		},
		"sql, a database that was not opened": {
			wrapped(SQLChecker((*sql.DB)(nil), config.SQL{Query: "SELECT 1", Args: []string{"{value}"}, Attributes: column})),
			"contextgraph: sql checker: Database is nil: there is nothing to ask; look at the error of sql.Open",
		},
	} {
		if test.err == nil || test.err.Error() != test.want {
			t.Errorf("%s: error\n%v\nwant\n%s", name, test.err, test.want)
		}
		if _, is := errors.AsType[*config.Error](test.err); is != strings.Contains(test.want, "\n") {
			t.Errorf("%s: a config.Error is in it: %t", name, is)
		}
	}
}

// budgets is a database with one row.
type budgets struct{ asked []driver.NamedValue }

func (b *budgets) Connect(context.Context) (driver.Conn, error) { return b, nil }
func (b *budgets) Driver() driver.Driver                        { return nil }
func (b *budgets) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (b *budgets) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (b *budgets) Close() error                                 { return nil }
func (b *budgets) QueryContext(_ context.Context, _ string, args []driver.NamedValue) (driver.Rows, error) {
	b.asked = args
	return &budgetRows{}, nil
}

type budgetRows struct{ read bool }

func (r *budgetRows) Columns() []string { return []string{"remaining", "owner"} }
func (r *budgetRows) Close() error      { return nil }
func (r *budgetRows) Next(dest []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	copy(dest, []driver.Value{[]byte("50000.00"), "ana"})
	return nil
}

const budgetChecker = `checkers:
  - type: Budget
    sql:
      database: finance
      query: SELECT remaining, owner FROM budgets WHERE name = ?
      args: ["{value}"]
      attributes:
        amount: {column: remaining, type: money, currency: USD}
        owner: {column: owner}
`

func TestWithDatabase(t *testing.T) {
	file := budgetFile(t)
	b := new(budgets)
	db := sql.OpenDB(b)
	defer db.Close()
	cg, err := FromFile(file, WithDatabase("finance", db), WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	if err := cg.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A database that code does not give shows before any agent runs.
func TestDatabaseIsMissing(t *testing.T) {
	file := budgetFile(t)
	db := sql.OpenDB(new(budgets))
	defer db.Close()
	for name, test := range map[string]struct {
		opt  Option
		want string
	}{
		"none":     {WithLogger(nil), `no database "finance" was given by code; give it: contextgraph.WithDatabase("finance", db)`},
		"misspelt": {WithDatabase("finanse", db), `did you mean "finanse"? Else give it: `},
		"nil":      {WithDatabase("finance", nil), `no database "finance" was given by code; give it: `},
		"far":      {WithDatabase("warehouse", db), `was given by code; give it: `},
	} {
		cg, err := FromFile(file, test.opt)
		if err == nil {
			cg.Close(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), "checkers[0]: sql.database: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
	// Code wins over the configuration, also over what it lacks.
	cg, err := FromFile(file, WithChecker("Budget", safety.CheckerFunc(nil)), WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	cg.Close(t.Context())
}

// budgetFile writes a configuration with a checker that asks a database.
func budgetFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "contextgraph.yaml")
	if err := os.WriteFile(file, []byte("journal: {path: "+filepath.Join(dir, "c.db")+"}\n"+budgetChecker), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Options that cannot be used are refused before anything is opened.
func TestOptionsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		opt  Option
		want string
	}{
		"a nil checker": {WithChecker("Product", nil), `WithChecker: the checker of "Product" is nil`},
		"no type":       {WithChecker("", safety.CheckerFunc(nil)), `WithChecker: "" is not a type`},
		"a part":        {WithPart(unknownPart{}), `WithPart: "mine" is no part of this version; use the option of an optional package`},
	} {
		_, err := Open(t.Context(), Config{}, test.opt)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
}

type unknownPart struct{}

func (unknownPart) Name() string { return "mine" }
