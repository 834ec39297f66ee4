// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/source"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// placementTable is a database with the row of strava as it was seen.
func placementTable() *fakeDB {
	return &fakeDB{columns: []string{"price", "available"}, rows: [][]driver.Value{{"40000.00", true}}}
}

// placementQuery is a configuration for it.
func placementQuery() config.SQL {
	return config.SQL{
		Database: "ads", Query: "SELECT price, available FROM placements WHERE name = ?", Args: []string{"{value}"},
		Attributes: map[string]config.Column{
			"price":        {Column: "price", Type: entity.KindMoney, Currency: "USD"},
			"availability": {Column: "available", Type: entity.KindBool},
		},
	}
}

func sqlChecker(t testing.TB, cfg config.SQL, db source.Querier) safety.Checker {
	t.Helper()
	c, err := source.SQL(cfg, db, safety.OriginSQL, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSQL(t *testing.T) {
	for name, plain := range map[string]bool{"read-only": false, "without read-only transactions": true} {
		t.Run(name, func(t *testing.T) {
			f := placementTable()
			f.plain = plain
			got, err := sqlChecker(t, placementQuery(), f.open(t)).Check(t.Context(), strava)
			if err != nil {
				t.Fatal(err)
			}
			want := safety.State{
				Attributes: values{"price": usd("$40,000"), "availability": entity.Bool(true)}, AsOf: epoch,
				Origins: []safety.Origin{{Kind: "sql", Name: "ads"}},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if f.query != "SELECT price, available FROM placements WHERE name = ?" || !cmp.Equal(f.args, []any{"Strava Sponsored Routes"}) {
				t.Errorf("asked %q with %v", f.query, f.args)
			}
			if begun := f.readOnly; begun != f.rollbacks || (begun == 1) == plain {
				t.Errorf("%d read-only transactions, %d rolled back", begun, f.rollbacks)
			}
		})
	}
}

// What an entity holds is passed beside the query and never in it.
func TestSQLArguments(t *testing.T) {
	at := time.Date(2026, 3, 5, 14, 0, 0, 0, time.UTC)
	e := thing("Product", "x'; DROP TABLE placements; --", values{
		"text": entity.Text("t"), "yes": entity.Bool(true), "at": entity.Time(at), "count": number(7), "ratio": number(0.1),
		"price": usd("$40,000.10"), "huge": usd("$123456789012345678901234.56"),
	})
	f := placementTable()
	cfg := placementQuery()
	cfg.Args = []string{
		"{value}", "{type}", "{attributes.text}", "{attributes.yes}", "{attributes.at}", "{attributes.count}", "{attributes.ratio}",
		"{attributes.price}", "{attributes.huge}", "eu", "{type}/{attributes.count}", "<{attributes.price}>", "",
		"id-{attributes.count}", "{attributes.count}{attributes.yes}",
	}
	sqlChecker(t, cfg, f.open(t)).Check(t.Context(), e)
	want := []any{
		"x'; DROP TABLE placements; --", "Product", "t", true, at, int64(7), "0.1",
		"40000.1", "123456789012345678901234.56", "eu", "Product/7", "<$40,000.10>", "",
		"id-7", "7true",
	}
	if diff := cmp.Diff(want, f.args); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if strings.Contains(f.query, "DROP") {
		t.Errorf("query %q", f.query)
	}

	cfg.Args = []string{"{attributes.gone}"}
	if _, err := sqlChecker(t, cfg, f.open(t)).Check(t.Context(), e); err == nil || !strings.Contains(err.Error(), "no attribute gone") {
		t.Errorf("error %v", err)
	}
}

func TestSQLTimeAndVersion(t *testing.T) {
	at := epoch.Add(-time.Second)
	for name, test := range map[string]struct {
		version     driver.Value
		asOf        driver.Value
		wantVersion string
	}{
		"text":    {"v7", at.Format(time.RFC3339Nano), "v7"},
		"bytes":   {[]byte("v7"), []byte(at.Format(time.RFC3339Nano)), "v7"},
		"integer": {int64(8), at, "8"},
		"time":    {at, at, "2026-01-19T11:00:12Z"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeDB{columns: []string{"price", "available", "at", "rev"}, rows: [][]driver.Value{{int64(40000), int64(1), test.asOf, test.version}}}
			cfg := placementQuery()
			cfg.AsOf, cfg.Version = "at", "rev"
			got, err := sqlChecker(t, cfg, f.open(t)).Check(t.Context(), strava)
			if err != nil || !got.AsOf.Equal(at) || got.Version != test.wantVersion {
				t.Errorf("as of %s, version %q, error %v", got.AsOf, got.Version, err)
			}
			if diff := cmp.Diff(values{"price": usd("$40,000"), "availability": entity.Bool(true)}, got.Attributes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSQLReadsValues(t *testing.T) {
	at := time.Date(2026, 3, 5, 14, 0, 0, 0, time.UTC)
	exact := "90071992547409931.01" // no float64
	for _, test := range []struct {
		in       driver.Value
		kind     entity.Kind
		currency string
		want     entity.Value
		err      string // in the error
	}{
		{in: exact, kind: entity.KindMoney, currency: "USD", want: usd(exact)},
		{in: []byte(exact), kind: entity.KindMoney, currency: "USD", want: usd(exact)},
		{in: "40 EUR", kind: entity.KindMoney, currency: "USD", want: must(entity.ParseMoney("40", "EUR"))},
		{in: int64(40), kind: entity.KindMoney, currency: "USD", want: usd("$40")},
		{in: 0.1, kind: entity.KindMoney, currency: "USD", want: usd("$0.10")},
		{in: int64(7), kind: entity.KindNumber, want: number(7)},
		{in: "0.10", kind: entity.KindNumber, want: number(0.1)},
		{in: 0.5, kind: entity.KindNumber, want: number(0.5)},
		{in: int64(7), kind: entity.KindText, want: entity.Text("7")},
		{in: []byte("x"), kind: entity.KindText, want: entity.Text("x")},
		{in: strings.Repeat("x", 64<<10), kind: entity.KindText, want: entity.Text(strings.Repeat("x", 64<<10))},
		{in: true, kind: entity.KindBool, want: entity.Bool(true)},
		{in: int64(0), kind: entity.KindBool, want: entity.Bool(false)},
		{in: at, kind: entity.KindTime, want: entity.Time(at)},
		{in: "2026-03-05T14:00:00Z", kind: entity.KindTime, want: entity.Time(at)},

		{in: `["Desk", 17]`, kind: entity.KindSet, want: entity.Set("17", "Desk")},
		{in: []byte(`[]`), kind: entity.KindSet, want: entity.Set()},
		{in: nil, kind: entity.KindSet, want: entity.Set()},
		{in: []byte(nil), kind: entity.KindSet, want: entity.Set()},
		{in: "{Desk,Chair}", kind: entity.KindSet, err: "it is no list in JSON"},
		{in: `["Desk"] x`, kind: entity.KindSet, err: "it is no list in JSON"},
		{in: `{"a": "Desk"}`, kind: entity.KindSet, err: "an object is not a set"},
		{in: `[null]`, kind: entity.KindSet, err: "null is no element"},
		{in: int64(1), kind: entity.KindSet, err: "not a set"},

		{in: nil, kind: entity.KindText},
		{in: []byte(nil), kind: entity.KindText},

		{in: "true", kind: entity.KindBool, err: "is a text, not a boolean"},
		{in: int64(2), kind: entity.KindBool, err: "not a boolean"},
		{in: 1.0, kind: entity.KindBool, err: "not a boolean"},
		{in: true, kind: entity.KindMoney, err: "not a money"},
		{in: "much", kind: entity.KindMoney, err: "much"},
		{in: math.NaN(), kind: entity.KindNumber, err: "NaN is not a number"},
		{in: math.Inf(-1), kind: entity.KindMoney, err: "-Inf is not a number"},
		{in: at, kind: entity.KindText, err: "is not a text"},
		{in: at, kind: entity.KindMoney, err: "is not a money"},
		{in: time.Time{}, kind: entity.KindTime, err: "is not a time"},
		{in: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), kind: entity.KindTime, err: "is not a time"},
		{in: "2026-03-05 14:00:00", kind: entity.KindTime, err: "RFC 3339"},
		{in: []byte{0xff}, kind: entity.KindText, err: "UTF-8"},
		{in: strings.Repeat("x", 64<<10+1), kind: entity.KindText, err: "more than 65536 bytes"},
	} {
		f := &fakeDB{columns: []string{"v"}, rows: [][]driver.Value{{test.in}}}
		cfg := placementQuery()
		cfg.Attributes = map[string]config.Column{"a": {Column: "v", Type: test.kind, Currency: test.currency}}
		got, err := sqlChecker(t, cfg, f.open(t)).Check(t.Context(), strava)
		var named *safety.AnswerError
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) || !errors.As(err, &named) || named.Reason != safety.ReasonTypeMismatch || len(got.Attributes) > 0 {
				t.Errorf("%T %.40v as %s: %v, error %v, want one about %q", test.in, test.in, test.kind, got.Attributes, err, test.err)
			}
			continue
		}
		if err != nil || !got.Attributes["a"].Equal(test.want) {
			t.Errorf("%T %v as %s: %v, error %v", test.in, test.in, test.kind, got.Attributes["a"], err)
		}
	}
}

// Whatever is not one row that is understood in full fails the check.
func TestSQLRefusesAnswers(t *testing.T) {
	good := []driver.Value{"40000", true}
	for name, test := range map[string]struct {
		change func(*fakeDB)
		cfg    func(*config.SQL)
		reason string
		want   string // in the summary
	}{
		"two rows":           {func(f *fakeDB) { f.rows = append(f.rows, good) }, nil, safety.ReasonError, "more than one row"},
		"two results":        {func(f *fakeDB) { f.more = true }, nil, safety.ReasonError, "more than one row"},
		"query fails":        {func(f *fakeDB) { f.queryErr = errors.New("no such table") }, nil, safety.ReasonError, "ads: no such table"},
		"breaks at once":     {func(f *fakeDB) { f.rows, f.rowErr = nil, errors.New("reset") }, nil, safety.ReasonError, "reading the row: reset"},
		"breaks behind it":   {func(f *fakeDB) { f.rowErr = errors.New("reset") }, nil, safety.ReasonError, "reading the row: reset"},
		"NULL":               {func(f *fakeDB) { f.rows[0][0] = nil }, nil, safety.ReasonMissingAttribute, "price was seen as $40,000 and is not in the answer, where it was looked for at column price"},
		"wrong type":         {func(f *fakeDB) { f.rows[0][1] = "yes" }, nil, safety.ReasonTypeMismatch, "availability in column available"},
		"NaN":                {func(f *fakeDB) { f.rows[0][0] = math.NaN() }, nil, safety.ReasonTypeMismatch, "NaN"},
		"no such column":     {nil, func(c *config.SQL) { c.AsOf = "at" }, safety.ReasonNoAsOf, "as-of in column at: the query gives no column of that name, spelt the same; it gives available, price"},
		"a column twice":     {func(f *fakeDB) { f.columns[1] = "price" }, nil, safety.ReasonTypeMismatch, "2 columns of that name"},
		"NULL for a time":    {func(f *fakeDB) { f.rows[0][0] = nil }, func(c *config.SQL) { c.AsOf = "price" }, safety.ReasonNoAsOf, "it is NULL"},
		"text for a time":    {nil, func(c *config.SQL) { c.AsOf = "price" }, safety.ReasonNoAsOf, "RFC 3339"},
		"NULL for a version": {func(f *fakeDB) { f.rows[0][0] = nil }, func(c *config.SQL) { c.Version = "price" }, safety.ReasonMissingAttribute, "version in column price"},
		"an empty version":   {func(f *fakeDB) { f.rows[0][0] = "" }, func(c *config.SQL) { c.Version = "price" }, safety.ReasonMissingAttribute, "the text is empty"},
		"no such version":    {nil, func(c *config.SQL) { c.Version = "rev" }, safety.ReasonMissingAttribute, "version in column rev"},
		"an argument":        {nil, func(c *config.SQL) { c.Args = []string{"{attributes.id}"} }, safety.ReasonError, "ads: argument 1"},
		"a stale answer": {func(f *fakeDB) {
			f.columns, f.rows[0] = append(f.columns, "at"), append(f.rows[0], epoch.Add(-time.Hour))
		},
			func(c *config.SQL) { c.AsOf = "at" }, safety.ReasonStaleAnswer, "more than 30s before"},
	} {
		t.Run(name, func(t *testing.T) {
			f := placementTable()
			if test.change != nil {
				test.change(f)
			}
			cfg := placementQuery()
			if test.cfg != nil {
				test.cfg(&cfg)
			}
			r := check(t, sqlChecker(t, cfg, f.open(t)))
			if r.IsSafeToApprove() || !r.CheckFailed() || !strings.Contains(r.Summary(), test.want) {
				t.Errorf("want a failure about %q\n%s", test.want, r.Summary())
			}
			wantFailure(t, r, test.reason)
			if got := r.Entities()[0].Origins; name != "an argument" && !cmp.Equal(got, []safety.Origin{{Kind: "sql", Name: "ads"}}) {
				t.Errorf("origins %v", got)
			}
		})
	}
}

// A transaction that cannot be begun is one the database does not have: the query
// says what else is wrong.
func TestSQLTransactionFails(t *testing.T) {
	f := placementTable()
	f.beginErr = errors.New("no read-only transactions here")
	if _, err := sqlChecker(t, placementQuery(), f.open(t)).Check(t.Context(), strava); err != nil {
		t.Error(err)
	}
	f.queryErr = errors.New("no route")
	if _, err := sqlChecker(t, placementQuery(), f.open(t)).Check(t.Context(), strava); err == nil || !strings.Contains(err.Error(), "no route") {
		t.Errorf("error %v", err)
	}
}

// closedRows is a database that gives rows which nobody can read any more.
type closedRows struct{ db *sql.DB }

func (c closedRows) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := c.db.QueryContext(ctx, query, args...)
	if err == nil {
		err = rows.Close()
	}
	return rows, err
}

// A database needs no transactions.
func TestSQLQuerierAlone(t *testing.T) {
	_, err := sqlChecker(t, placementQuery(), closedRows{placementTable().open(t)}).Check(t.Context(), strava)
	if err == nil || !strings.Contains(err.Error(), "reading the columns") {
		t.Errorf("error %v", err)
	}
}

// What package config refuses never becomes a checker, whoever calls, nor does one without a
// database.
func TestSQLRefuses(t *testing.T) {
	db := placementTable().open(t)
	_, err := source.SQL(config.SQL{
		Args:       []string{"{valeu}", "{value", "{attributes.}"},
		Attributes: map[string]config.Column{"reach": {Type: entity.KindNumber}},
	}, db, safety.OriginSQL, nil)
	for _, want := range []string{
		"Database: missing", "Query: missing", `Args[0]: "{valeu}" has the unknown placeholder`, `Args[1]: "{value" has a brace without`,
		"Args[2]", `Attributes["reach"].Column: missing`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := source.SQL(config.SQL{}, db, safety.OriginSQL, nil); err == nil || !strings.Contains(err.Error(), "no attribute is given") {
		t.Errorf("error %v", err)
	}
	// The second is what sql.Open returns beside an error that nobody looked at.
	for _, db := range []source.Querier{nil, (*sql.DB)(nil)} {
		if _, err := source.SQL(placementQuery(), db, safety.OriginSQL, nil); err == nil || !strings.Contains(err.Error(), "Database is nil") {
			t.Errorf("error %v", err)
		}
	}
}

// A checker has a copy of its configuration, and the clock of the machine unless it gets another.
func TestSQLAlone(t *testing.T) {
	cfg := placementQuery()
	before := time.Now()
	c, err := source.SQL(cfg, placementTable().open(t), safety.OriginBigQuery, nil)
	if err != nil {
		t.Fatal(err)
	}
	delete(cfg.Attributes, "price")
	got, err := c.Check(t.Context(), strava)
	if err != nil || got.AsOf.Before(before) || len(got.Attributes) != 2 || got.Origins[0].Kind != safety.OriginBigQuery {
		t.Errorf("%+v, error %v", got, err)
	}
}

// What every check would fail with is known before one is made: a query that is not taken, a column that is not given.
func TestSQLPrepare(t *testing.T) {
	whole := placementQuery()
	whole.Version, whole.AsOf = "revision", "read_at"
	columns := []string{whole.Version, whole.AsOf}
	for _, a := range whole.Attributes {
		columns = append(columns, a.Column)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		db   *fakeDB
		kind string
		ctx  context.Context
		want string
	}{
		"right":         {&fakeDB{columns: columns}, safety.OriginSQL, t.Context(), ""},
		"no such table": {&fakeDB{queryErr: errors.New("no such table: placements")}, safety.OriginSQL, t.Context(), "does not take the query, with NULL for each of its arguments: no such table: placements"},
		"a lost column": {&fakeDB{columns: columns[1:]}, safety.OriginSQL, t.Context(), fmt.Sprintf("gives no column %q; it gives [", columns[0])},
		"a lost time":   {&fakeDB{columns: append(columns[:1:1], columns[2:]...)}, safety.OriginSQL, t.Context(), `gives no column "read_at"`},
		"no version":    {&fakeDB{columns: columns[1:]}, safety.OriginSQL, t.Context(), ""},
		"away":          {&fakeDB{queryErr: driver.ErrBadConn}, safety.OriginSQL, t.Context(), ""},
		"no time":       {&fakeDB{queryErr: errors.New("canceled")}, safety.OriginSQL, ended, ""},
		"costs money":   {&fakeDB{queryErr: errors.New("no such table: placements")}, "bigquery", t.Context(), ""},
	} {
		query := whole
		if name == "no version" {
			query.Version = ""
		}
		c, err := source.SQL(query, querierOf{tt.db.open(t)}, tt.kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = c.(interface{ Prepare(context.Context) error }).Prepare(tt.ctx)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if tt.want == "" && tt.kind == safety.OriginSQL && tt.ctx.Err() == nil && (len(tt.db.args) != len(whole.Args) || tt.db.args[0] != nil) {
			t.Errorf("%s: asked with %v", name, tt.db.args)
		}
	}
}
