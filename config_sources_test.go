// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/source"
	"github.com/adk-contextgraph/contextgraph/safety"
)

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
	cfg, err := ParseConfig("c.yaml", []byte(budgetChecker), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := new(budgets)
	db := sql.OpenDB(b)
	defer db.Close()
	at := time.Date(2026, 3, 5, 14, 0, 0, 0, time.UTC)
	cfg.Now = func() time.Time { return at }
	other := cfg
	WithDatabase("finance", db)(&cfg)
	if len(other.Databases) != 0 {
		t.Error("the option changed another Config")
	}
	checkers, err := cfg.checkers()
	if err != nil {
		t.Fatal(err)
	}
	got, err := checkers["Budget"].Check(t.Context(), entity.Canonical{Type: "Budget", Value: "Q3"})
	if err != nil {
		t.Fatal(err)
	}
	amount, err := entity.Money("50000", "USD")
	if err != nil {
		t.Fatal(err)
	}
	want := safety.State{
		Attributes: map[string]entity.Value{"amount": amount, "owner": entity.Text("ana")}, AsOf: at,
		Origins: []safety.Origin{{Kind: safety.OriginSQL, Name: "finance"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(b.asked) != 1 || b.asked[0].Value != "Q3" {
		t.Errorf("asked with %v", b.asked)
	}
}

// A database that code does not give shows before any agent runs.
func TestDatabaseIsMissing(t *testing.T) {
	base, err := ParseConfig("c.yaml", []byte(budgetChecker), nil)
	if err != nil {
		t.Fatal(err)
	}
	base.Journal.Path = filepath.Join(t.TempDir(), "c.db")
	db := sql.OpenDB(new(budgets))
	defer db.Close()
	for name, test := range map[string]struct {
		opt  Option
		want string
	}{
		"none":     {func(*Config) {}, `no database "finance" was given by code; give it: contextgraph.WithDatabase("finance", db)`},
		"misspelt": {WithDatabase("finanse", db), `did you mean "finanse"? Else give it: `},
		"nil":      {WithDatabase("finance", nil), `no database "finance" was given by code; give it: `},
		"far":      {WithDatabase("warehouse", db), `was given by code; give it: `},
	} {
		cfg := base
		test.opt(&cfg)
		cg, err := Open(t.Context(), cfg)
		if err == nil {
			cg.Close(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), "checkers[0]: sql.database: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
	// Code wins over the configuration, also over what it lacks.
	cfg := base
	WithChecker("Budget", safety.CheckerFunc(nil))(&cfg)
	if checkers, err := cfg.checkers(); err != nil || len(checkers) != 1 {
		t.Errorf("%v, error %v", checkers, err)
	}
}

func TestSourceDefaults(t *testing.T) {
	cfg := Config{
		Guard: GuardConfig{CheckTimeout: 3 * time.Second},
		Checkers: []CheckerConfig{
			{Type: "A", SQL: &SQLCheckerConfig{Attributes: map[string]ColumnConfig{"a": {Column: "a"}}}},
			{Type: "B", Replay: &ReplayCheckerConfig{}},
		},
	}
	got := cfg.withDefaults().Checkers
	want := []CheckerConfig{
		{Type: "A", SQL: &SQLCheckerConfig{AsOf: source.AsOfFetch, Attributes: map[string]ColumnConfig{"a": {Column: "a", Type: entity.KindText}}}},
		{Type: "B", Replay: &ReplayCheckerConfig{Timeout: 3 * time.Second, MaxCalls: 20}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if cfg.Checkers[1].Replay.MaxCalls != 0 || cfg.Checkers[0].SQL.Attributes["a"].Type != 0 {
		t.Error("the defaults were written into the Config")
	}
}

func TestSourceWarnings(t *testing.T) {
	one := map[string]AttributeConfig{"price": {Path: "$.price"}}
	rule := func(c ExtractConfig) ExtractConfig {
		c.Name, c.Type, c.Value = "r", "Product", "$.name"
		if c.Tool == "" && c.Event == "" {
			c.Tool = "search"
		}
		return c
	}
	replay := CheckerConfig{Type: "Product", Replay: &ReplayCheckerConfig{Tool: "search"}}
	columns := CheckerConfig{Type: "Product", SQL: &SQLCheckerConfig{Attributes: map[string]ColumnConfig{"reach": {Column: "reach"}}}}
	exists := CheckerConfig{Type: "Product", SQL: &SQLCheckerConfig{Attributes: map[string]ColumnConfig{"exists": {Column: "listed"}}}}
	for name, test := range map[string]struct {
		checker CheckerConfig
		rule    ExtractConfig
		funcs   map[string]safety.Checker
		want    string
	}{
		"result":         {replay, rule(ExtractConfig{Attributes: one}), nil, ""},
		"another type":   {columns, rule(ExtractConfig{Attributes: map[string]AttributeConfig{"reach": {Path: "$.reach", Type: entity.KindNumber}}}), nil, `"reach" of type "Product" as number, and its checker answers it as text`},
		"another tool":   {replay, rule(ExtractConfig{Tool: "look"}), nil, "reads the result of look, and only search is called again"},
		"code wins":      {replay, rule(ExtractConfig{Tool: "look"}), map[string]safety.Checker{"Product": safety.CheckerFunc(nil)}, ""},
		"column missing": {columns, rule(ExtractConfig{Attributes: one}), nil, `finds the attribute "price" of type "Product", which its checker does not answer`},
		"no attributes":  {columns, rule(ExtractConfig{}), nil, ""},
		"exists as text": {exists, rule(ExtractConfig{}), nil, `"exists" of type "Product" as boolean, and its checker answers it as text`},
		"again, found":   {replay, rule(ExtractConfig{}), nil, ""},
		"column there":   {columns, rule(ExtractConfig{Attributes: map[string]AttributeConfig{"reach": {Path: "$.reach"}}}), nil, ""},
	} {
		got := strings.Join(Config{Checkers: []CheckerConfig{test.checker}, Extract: []ExtractConfig{test.rule}, CheckFuncs: test.funcs}.warnings(), "\n")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// What the policy lets an answer lack makes no approval fail.
func TestSourceWarningsHeedThePolicy(t *testing.T) {
	lacks := func(optional bool) map[string]DriftConfig {
		return map[string]DriftConfig{"quantity": {Optional: optional}}
	}
	other := map[string]DriftConfig{safety.Other: {Optional: true}}
	for name, test := range map[string]struct {
		guard     GuardConfig
		attribute string
		warns     bool
	}{
		"nothing said":                  {GuardConfig{}, "quantity", true},
		"optional":                      {GuardConfig{Drift: lacks(true)}, "quantity", false},
		"optional for the type":         {GuardConfig{Types: map[string]TypeConfig{"Product": {Drift: lacks(true)}}}, "quantity", false},
		"required for the type":         {GuardConfig{Drift: lacks(true), Types: map[string]TypeConfig{"Product": {Drift: lacks(false)}}}, "quantity", true},
		"all others are optional":       {GuardConfig{Drift: other}, "quantity", false},
		"a named one is no other":       {GuardConfig{Drift: other}, "price", true},
		"named beside others of a type": {GuardConfig{Drift: lacks(false), Types: map[string]TypeConfig{"Product": {Drift: other}}}, "quantity", true},
		"the type is optional":          {GuardConfig{Types: map[string]TypeConfig{"Product": {Optional: true}}}, "quantity", false},
	} {
		c := Config{
			Guard:   test.guard,
			Extract: []ExtractConfig{{Name: "r", Tool: "buy", Type: "Product", Value: "$.n", Attributes: map[string]AttributeConfig{test.attribute: {Path: "$.q"}}}},
			Checkers: []CheckerConfig{{Type: "Product", HTTP: &HTTPCheckerConfig{
				Attributes: map[string]AttributeConfig{"reach": {Path: "$.r"}},
			}}},
		}
		if got := c.warnings(); (len(got) > 0) != test.warns {
			t.Errorf("%s: %q, want warnings: %t", name, got, test.warns)
		}
	}
}

// What only package safety refuses has the place of the value.
func TestValidateSQLUse(t *testing.T) {
	c := Config{Checkers: []CheckerConfig{{Type: "A", SQL: &SQLCheckerConfig{
		Database: "d", Query: "SELECT 1", Args: []string{"x"}, Attributes: map[string]ColumnConfig{"a": {Column: "a"}},
	}}}}
	if err := c.validate(); err != nil {
		t.Error(err)
	}
	c.Checkers[0].SQL.Query = " "
	if err := c.validate(); err == nil || !strings.Contains(err.Error(), "Config.Checkers[0].SQL.Query: missing") {
		t.Errorf("error %v", err)
	}
}

// A type that has to be unchanged and that no rule finds is most likely misspelt.
func TestListedTypeThatNoRuleFinds(t *testing.T) {
	rule := ExtractConfig{Name: "r", Tool: "search", Type: "Product", Value: "$.name"}
	for listed, want := range map[string]string{
		"Product":  "",
		"Prodct":   `guard.listed requires the type "Prodct", which no rule finds: every check fails unless a tool declares one; did you mean "Product"?`,
		"Audience": `guard.listed requires the type "Audience", which no rule finds: every check fails unless a tool declares one`,
	} {
		c := Config{
			Extract: []ExtractConfig{rule}, CheckFuncs: map[string]safety.Checker{"Product": safety.CheckerFunc(nil)},
			Guard: GuardConfig{Require: safety.RequireListed, Listed: []string{listed}},
		}
		if got := strings.Join(c.warnings(), "\n"); got != want {
			t.Errorf("%s: %q, want %q", listed, got, want)
		}
	}
}

// What a rule names and no rule shows in a result can be held against nothing.
func TestUnseenWarnings(t *testing.T) {
	price := map[string]AttributeConfig{"price": {Path: "$.price"}}
	quantity := map[string]AttributeConfig{"quantity": {Path: "$.n"}}
	result := ExtractConfig{Name: "offers", Tool: "search", Type: "Product", Value: "$.name", Attributes: price}
	action := ExtractConfig{Name: "lines", Tool: "buy", In: graphsync.InAction, Type: "Product", Value: "$.name"}
	message := ExtractConfig{Name: "brief", Event: "USER_MESSAGE_RECEIVED", Type: "Product", Value: "$", Attributes: price}
	ended := ExtractConfig{Name: "rows", Event: "TOOL_COMPLETED", Type: "Product", Value: "$.tool", Attributes: price}
	with := func(e ExtractConfig, attributes map[string]AttributeConfig) ExtractConfig {
		e.Attributes = attributes
		return e
	}
	typed := func(typ TypeConfig) GuardConfig { return GuardConfig{Types: map[string]TypeConfig{"Product": typ}} }
	const nothing, missing = `names entities of type "Product", which no rule shows in a result`, `names the attribute "quantity" of type "Product", which no rule shows in a result`
	for name, test := range map[string]struct {
		guard GuardConfig
		rules []ExtractConfig
		want  string
	}{
		"shown":                     {GuardConfig{}, []ExtractConfig{result, action, message}, ""},
		"shown by rows":             {GuardConfig{}, []ExtractConfig{ended, action, message}, ""},
		"action alone":              {GuardConfig{Require: safety.RequireNamed}, []ExtractConfig{action}, nothing},
		"message alone":             {GuardConfig{}, []ExtractConfig{message}, nothing},
		"message alone, listed":     {GuardConfig{Require: safety.RequireListed, Listed: []string{"Product"}}, []ExtractConfig{message}, nothing},
		"message that counts not":   {GuardConfig{Require: safety.RequireListed, Listed: []string{"Other"}}, []ExtractConfig{message}, ""},
		"unseen is allowed":         {typed(TypeConfig{Unseen: safety.UnseenAllow}), []ExtractConfig{action}, ""},
		"the type is optional":      {typed(TypeConfig{Optional: true}), []ExtractConfig{action}, ""},
		"attribute of the plan":     {GuardConfig{}, []ExtractConfig{result, with(action, quantity)}, missing},
		"attribute that is allowed": {typed(TypeConfig{Drift: map[string]DriftConfig{"quantity": {Optional: true}}}), []ExtractConfig{result, with(action, quantity)}, ""},
	} {
		got := strings.Join(Config{Guard: test.guard, Extract: test.rules}.unseen(test.guard.withDefaults(), Config{Extract: test.rules}.shown()), "\n")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
