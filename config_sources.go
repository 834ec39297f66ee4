// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/nearest"
	"github.com/adk-contextgraph/contextgraph/internal/source"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// SQLCheckerConfig asks a database with one query for each entity. The answer is
// exactly one row.
type SQLCheckerConfig struct {
	// Database names a database that code gives with [WithDatabase]. Required, but for
	// [SQLChecker], which gets the database itself.
	Database string
	// Query has parameters as the driver of the database writes them: ?, $1, @p1.
	// Required.
	Query string
	// Args are the arguments of the parameters, in order. {value}, {type} and
	// {attributes.NAME} in them stand for those of the entity; they never become part
	// of the query. Defaults to none.
	Args []string
	// AsOf says how old the answer is: the name of a column with a time, or "fetch" for
	// the time the query was sent. Defaults to "fetch".
	AsOf string
	// Version is the name of a column with the revision of the row. Defaults to none.
	Version string
	// Attributes are the values in the row, by name. At least one is required.
	Attributes map[string]ColumnConfig
}

// ColumnConfig says in which column an attribute is.
type ColumnConfig struct {
	// Column is the name of the column, as the query gives it. Required.
	Column string
	// Type is the type of the value. Defaults to [entity.KindText].
	Type entity.Kind
	// Currency is the currency of a money value that names none, in ISO 4217:
	// USD. Defaults to none.
	Currency string
}

// ReplayCheckerConfig calls the tool again that an entity was seen with, with the same
// arguments, and compares what the rules find in its result. Code registers the tools
// that may be called, with [Instance.Replayable].
type ReplayCheckerConfig struct {
	// Tool is the only tool that is called. Defaults to any that is registered.
	Tool string
	// Timeout bounds one call. It is at most guard.check_timeout, which is the default.
	Timeout time.Duration
	// MaxCalls is how many calls one check may repeat for this type; entities that were
	// seen in one call share it. Defaults to 20.
	MaxCalls int
}

const (
	defaultMaxCalls = 20
	largestMaxCalls = 1000
)

// checkSource reports a checker that has not exactly one way to ask.
func (c *CheckerConfig) checkSource(p *problems, k keyPath) {
	var given []string
	if c.HTTP != nil {
		given = append(given, "http")
		c.HTTP.check(p, k.field("http"))
	}
	if c.SQL != nil {
		given = append(given, "sql")
		c.SQL.check(p, k.field("sql"))
	}
	if c.Replay != nil {
		given = append(given, "replay")
		c.Replay.check(p, k.field("replay"))
	}
	switch len(given) {
	case 1:
	case 0:
		p.add(k.field("http"), "missing", "say how to ask: write one of the mappings http, sql or replay")
	default:
		p.add(k.field(given[1]), "given beside "+given[0], "keep one of "+strings.Join(given, ", ")+": a type has one source")
	}
}

func (c *SQLCheckerConfig) check(p *problems, k keyPath) {
	name(p, k.field("database"), c.Database, "the name that code gives the database with WithDatabase")
	if strings.TrimSpace(c.Query) == "" {
		p.add(k.field("query"), "missing", "write for example SELECT price FROM placements WHERE name = ?")
	}
	for i, arg := range c.Args {
		checkArg(p, k.field("args").index(i), arg)
	}
	column(p, k.field("as_of"), c.AsOf)
	column(p, k.field("version"), c.Version)
	at := k.field("attributes")
	if len(c.Attributes) == 0 {
		p.add(at, "no attribute is given", "name at least one: a checker that answers nothing makes every check fail")
	}
	for _, attribute := range slices.Sorted(maps.Keys(c.Attributes)) {
		at, a := at.entry(attribute), c.Attributes[attribute]
		attributeName(p, at, attribute)
		name(p, at.field("column"), a.Column, "the name of a column of the query")
		checkKind(p, at.field("type"), at.field("currency"), a.Type, a.Currency)
	}
}

// column reports an optional name of a column that no query can have.
func column(p *problems, k keyPath, s string) {
	if s != "" {
		name(p, k, s, "the name of a column of the query")
	}
}

// checkArg reports an argument with a placeholder that is not known.
func checkArg(p *problems, k keyPath, arg string) {
	for _, m := range placeholder.FindAllStringSubmatch(arg, -1) {
		attribute, isAttribute := strings.CutPrefix(m[1], "attributes.")
		if m[1] != "value" && m[1] != "type" && !(isAttribute && entity.IsAttributeName(attribute)) {
			p.add(k, quote(arg)+" has the unknown placeholder "+quote(m[0]), placeholderRemedy)
			return
		}
	}
	if strings.ContainsAny(placeholder.ReplaceAllString(arg, ""), "{}") {
		p.add(k, quote(arg)+" has a brace without its counterpart", placeholderRemedy)
	}
}

func (c *ReplayCheckerConfig) check(p *problems, k keyPath) {
	if c.Tool != "" {
		name(p, k.field("tool"), c.Tool, "the name of a tool")
	}
	checkDuration(p, k.field("timeout"), c.Timeout, maxLifetime)
	if c.MaxCalls < 0 || c.MaxCalls > largestMaxCalls {
		p.add(k.field("max_calls"), strconv.Itoa(c.MaxCalls)+" is out of range", "write a number from 1 to "+strconv.Itoa(largestMaxCalls))
	}
}

// checkReplays reports what of the checkers that repeat calls does not go with the guard.
func (c Config) checkReplays(p *problems, root keyPath) {
	limit := c.Guard.withDefaults().CheckTimeout
	for i, cc := range c.Checkers {
		at := root.field("checkers").index(i).field("replay").field("timeout")
		if cc.Replay != nil && cc.Replay.Timeout > limit && !p.failed(at) {
			p.add(at, cc.Replay.Timeout.String()+" is longer than guard.check_timeout ("+limit.String()+")", "one call cannot take longer than the check of its entity: write a shorter duration")
		}
	}
}

// unanswered says which part of a rule a checker that repeats calls cannot answer, or
// returns "". A rule that reads no result needs no answer of its own: the checker repeats
// the call whose result showed the entity.
func (c *ReplayCheckerConfig) unanswered(e ExtractConfig) string {
	if e.readsResult() && c.Tool != "" && c.Tool != e.Tool {
		return "reads the result of " + e.Tool + ", and only " + c.Tool + " is called again"
	}
	return ""
}

func (c *SQLCheckerConfig) withDefaults() *SQLCheckerConfig {
	filled := *c
	filled.AsOf = cmp.Or(c.AsOf, source.AsOfFetch)
	filled.Attributes = maps.Clone(c.Attributes)
	for name, a := range filled.Attributes {
		a.Type = cmp.Or(a.Type, entity.KindText)
		filled.Attributes[name] = a
	}
	return &filled
}

// withDefaults needs a guard with its defaults.
func (c *ReplayCheckerConfig) withDefaults(g GuardConfig) *ReplayCheckerConfig {
	filled := *c
	filled.Timeout = cmp.Or(c.Timeout, g.CheckTimeout)
	filled.MaxCalls = cmp.Or(c.MaxCalls, defaultMaxCalls)
	return &filled
}

// config returns the configuration of the checker over db.
func (c *SQLCheckerConfig) config(db Querier) source.SQLConfig {
	cfg := source.SQLConfig{
		Database: db, Name: c.Database, Query: c.Query, Args: c.Args, AsOf: c.AsOf, Version: c.Version,
		Attributes: make(map[string]source.SQLAttribute, len(c.Attributes)),
	}
	for name, a := range c.Attributes {
		cfg.Attributes[name] = source.SQLAttribute{Column: a.Column, Kind: a.Type, Currency: a.Currency}
	}
	return cfg
}

// checker returns the checker over the database that code gave.
func (c *SQLCheckerConfig) checker(cfg Config) (safety.Checker, error) {
	db, ok := cfg.Databases[c.Database]
	if !ok || db == nil {
		known := slices.Sorted(maps.Keys(cfg.Databases))
		remedy := fmt.Sprintf("give it: contextgraph.WithDatabase(%q, db)", c.Database)
		if near := nearest.Word(c.Database, known); near != "" && near != c.Database {
			remedy = fmt.Sprintf("did you mean %q? Else %s", near, remedy)
		}
		return nil, fmt.Errorf("sql.database: no database %q was given by code; %s", c.Database, remedy)
	}
	sc := c.config(db)
	sc.Now = cfg.Now
	return source.SQL(sc)
}

// noDatabase stands for the database of a configuration that is only looked at.
type noDatabase struct{}

func (noDatabase) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, sql.ErrConnDone
}

// column lists the keys of an attribute in a column.
func (d *decoder) column(c *ColumnConfig) decodeFunc {
	return d.mapping([]key{
		{"column", text(d, &c.Column)},
		{"type", d.kind(&c.Type)},
		{"currency", text(d, &c.Currency)},
	})
}

func (d *decoder) sql(c *SQLCheckerConfig) decodeFunc {
	return d.mapping([]key{
		{"database", text(d, &c.Database)},
		{"query", text(d, &c.Query)},
		{"args", d.texts(&c.Args)},
		{"as_of", text(d, &c.AsOf)},
		{"version", text(d, &c.Version)},
		{"attributes", entries(d, &c.Attributes, d.column)},
	})
}

func (d *decoder) replay(c *ReplayCheckerConfig) decodeFunc {
	return d.mapping([]key{
		{"tool", text(d, &c.Tool)},
		{"timeout", d.duration(&c.Timeout, "5s")},
		{"max_calls", d.count(&c.MaxCalls, "20")},
	})
}
