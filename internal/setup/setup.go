// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package setup makes the parts of an instance of its configuration: what stands between the
// root package, or the command line, and the packages that do the work.
package setup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/nearest"
	"github.com/adk-contextgraph/contextgraph/internal/source"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Checks returns the checks of all packages that use a part of a configuration.
func Checks() []config.Check {
	return []config.Check{checkRecord, warehouse.Check, safety.Check, graphsync.Check, checkSources}
}

// Load reads the configuration file at path with all checks.
func Load(path string) (config.Config, error) { return config.Load(path, Checks()...) }

// checkSources reports checkers that cannot be made.
func checkSources(k config.Key, c *config.Config) {
	for i := range c.Checkers {
		at := k.Of(&c.Checkers).Index(i)
		if !at.Sound() || c.Checkers[i].Replay != nil {
			continue
		}
		if _, err := asks(c.Checkers[i], noDatabase{}, nil); err != nil {
			way := at.Of(&c.Checkers[i].HTTP)
			if c.Checkers[i].SQL != nil {
				way = at.Of(&c.Checkers[i].SQL)
			}
			way.Wrong(strings.ReplaceAll(err.Error(), "\n", ", "), "correct this part")
		}
	}
}

// noDatabase stands for the database of a configuration that is only looked at.
type noDatabase struct{}

func (noDatabase) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, sql.ErrConnDone
}

// asks returns the checker that asks a service or a database.
func asks(c config.Checker, db source.Querier, now func() time.Time) (safety.Checker, error) {
	switch c = c.WithDefaults(); {
	case c.HTTP != nil:
		return source.NewHTTPChecker(HTTP(*c.HTTP, now))
	case c.SQL != nil:
		return source.SQL(SQL(*c.SQL, db, now))
	default:
		return nil, errors.New("no way to ask is given; set HTTP, SQL or Replay")
	}
}

// HTTP returns the configuration of a checker that asks a service.
func HTTP(h config.HTTP, now func() time.Time) source.HTTPConfig {
	h = h.WithDefaults()
	cfg := source.HTTPConfig{
		URL: h.URL, AsOf: h.AsOf, Version: h.Version, Now: now,
		Headers:    make(map[string]string, len(h.Headers)),
		Attributes: make(map[string]source.HTTPAttribute, len(h.Attributes)),
	}
	for name, value := range h.Headers {
		cfg.Headers[name] = string(value)
	}
	for name, a := range h.Attributes {
		cfg.Attributes[name] = source.HTTPAttribute{Path: a.Path, Kind: a.Type, Currency: a.Currency}
	}
	return cfg
}

// SQL returns the configuration of a checker that asks db.
func SQL(s config.SQL, db source.Querier, now func() time.Time) source.SQLConfig {
	s = s.WithDefaults()
	cfg := source.SQLConfig{
		Database: db, Name: s.Database, Query: s.Query, Args: s.Args, AsOf: s.AsOf, Version: s.Version, Now: now,
		Attributes: make(map[string]source.SQLAttribute, len(s.Attributes)),
	}
	for name, a := range s.Attributes {
		cfg.Attributes[name] = source.SQLAttribute{Column: a.Column, Kind: a.Type, Currency: a.Currency}
	}
	return cfg
}

// Code is what code gives and no file can.
type Code struct {
	// Checkers wins over an entry of the configuration for the same type.
	Checkers map[string]safety.Checker
	// Databases holds those that the configuration names.
	Databases map[string]source.Querier
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// Checkers returns the checker of each type of entities: those of the configuration, but
// for those that repeat calls, and over them those of code.
func Checkers(c config.Config, code Code) (map[string]safety.Checker, error) {
	checkers := make(map[string]safety.Checker, len(c.Checkers)+len(code.Checkers))
	for i, cc := range c.Checkers {
		if code.Checkers[cc.Type] != nil || cc.Replay != nil {
			continue
		}
		var db source.Querier
		if cc.SQL != nil {
			if db = code.Databases[cc.SQL.Database]; db == nil {
				return nil, fmt.Errorf("contextgraph: configuration: checkers[%d]: %w", i, noSuchDatabase(cc.SQL.Database, code.Databases))
			}
		}
		checker, err := asks(cc, db, code.Now)
		if err != nil {
			return nil, fmt.Errorf("contextgraph: configuration: checkers[%d]: %w", i, err)
		}
		checkers[cc.Type] = checker
	}
	maps.Copy(checkers, code.Checkers)
	return checkers, nil
}

func noSuchDatabase(name string, given map[string]source.Querier) error {
	remedy := fmt.Sprintf("give it: contextgraph.WithDatabase(%q, db)", name)
	if near := nearest.Word(name, slices.Sorted(maps.Keys(given))); near != "" && near != name {
		remedy = fmt.Sprintf("did you mean %q? Else %s", near, remedy)
	}
	return fmt.Errorf("sql.database: no database %q was given by code; %s", name, remedy)
}

// Covered returns the tools whose arguments a rule says the meaning of.
func Covered(c config.Config) []string {
	var names []string
	for _, e := range c.Extract {
		if e.In == config.InAction && e.Tool != "" {
			names = append(names, e.Tool)
		}
	}
	return names
}

// Extractor returns the extractor of the rules.
func Extractor(c config.Config) (*graphsync.Extractor, error) {
	x, err := graphsync.Compile(c.Extract)
	if err != nil {
		return nil, fmt.Errorf("contextgraph: configuration: extract: %w", err)
	}
	return x, nil
}

// Policy returns the policy of the gate.
func Policy(c config.Config) (safety.Policy, error) {
	p, err := safety.NewPolicy(c.Guard)
	if err != nil {
		return safety.Policy{}, fmt.Errorf("contextgraph: configuration: %w", err)
	}
	return p, nil
}
