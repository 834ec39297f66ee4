// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package setup makes the parts of an instance from its configuration. It stands between the
// root package, or the command line, and the packages that do the work.
package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/source"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Checks returns the checks of all packages that use a part of a configuration.
func Checks() []config.Check {
	return []config.Check{checkRecord, checkAction, warehouse.Check, safety.Check, checkSources}
}

// Load reads the configuration file at path with all checks.
func Load(path string) (config.Config, error) { return config.Load(path, Checks()...) }

// checkSources reports what only package source refuses.
func checkSources(c *config.Config) []config.Problem {
	var p problems
	for i, cc := range c.Checkers {
		if cc.HTTP == nil || cc.HTTP.Check() != nil {
			continue
		}
		if _, err := source.HTTP(*cc.HTTP, nil, nil); err != nil {
			p.add(config.Index("checkers", i)+".http", "correct this part", "%v", err)
		}
	}
	return p
}

// asks returns the checker that asks a service or a database.
func asks(c config.Checker, db source.Querier, now func() time.Time) (safety.Checker, error) {
	switch {
	case c.HTTP != nil:
		return source.HTTP(*c.HTTP, nil, now)
	case c.SQL != nil:
		return source.SQL(*c.SQL, db, safety.OriginSQL, now)
	default:
		return nil, errors.New("no way to ask is given; set HTTP, SQL or Replay")
	}
}

// Code has the parts of an instance that only code can give.
type Code struct {
	// Checkers wins over an entry of the configuration for the same type.
	Checkers map[string]safety.Checker
	// Databases holds those that the configuration names.
	Databases map[string]source.Querier
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// Checkers returns the checker of each type of entities: those of the configuration, except for
// those that repeat calls, and over them those of code.
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

// prepareWithin bounds the questions of [Unprepared].
const prepareWithin = 2 * time.Second

// Unprepared asks the databases of checkers whether they take the queries, and says what they do not take.
func Unprepared(ctx context.Context, checkers map[string]safety.Checker) (faults []string) {
	ctx, cancel := context.WithTimeout(ctx, prepareWithin)
	defer cancel()
	for _, typ := range slices.Sorted(maps.Keys(checkers)) {
		if p, is := checkers[typ].(interface{ Prepare(context.Context) error }); is {
			if err := p.Prepare(ctx); err != nil {
				faults = append(faults, fmt.Sprintf("the checker of %q: %v: each of its checks fails; correct the query, its arguments or its columns", typ, err))
			}
		}
	}
	return faults
}

func noSuchDatabase(name string, given map[string]source.Querier) error {
	remedy := meant(name, slices.Sorted(maps.Keys(given)), fmt.Sprintf("give it: contextgraph.WithDatabase(%q, db)", name))
	return fmt.Errorf("sql.database: no database %q was given by code; %s", name, remedy)
}

// Covered returns the tools with a rule over the arguments of their calls, "in: action".
func Covered(c config.Config) []string {
	var names []string
	for _, e := range c.Extract {
		if e.In == config.InAction && e.Tool != "" {
			names = append(names, e.Tool)
		}
	}
	return names
}

// Replayed returns the types of what rules find in the results of tools, by the tool, if the checker of the type calls
// the tool again. Code checks the types in coded.
func Replayed(c config.Config, coded map[string]safety.Checker) map[string]string {
	tools := make(map[string]string)
	for _, e := range c.WithDefaults().Extract {
		for _, k := range c.Checkers {
			if again := k.Replay; again != nil && k.Type == e.Type && coded[k.Type] == nil && !c.Guard.Types[k.Type].Optional && e.ReadsResult() && e.Tool != "" && (again.Tool == "" || again.Tool == e.Tool) {
				tools[e.Tool] = k.Type
			}
		}
	}
	return tools
}

// Counted returns the rules that say others: count, by their tools.
func Counted(c config.Config) map[string]string {
	rules := make(map[string]string)
	for _, e := range c.Extract {
		if e.Others == config.OthersCount {
			rules[e.Tool] = e.Name
		}
	}
	return rules
}

// Extractor returns the extractor of the rules.
func Extractor(c config.Config) (*graphsync.Extractor, error) {
	x, err := graphsync.Compile(c.Extract)
	if err != nil {
		return nil, fmt.Errorf("contextgraph: configuration: extract: %w", err)
	}
	return x, nil
}

// StoreRules stores the rules in a journal, for readers without the configuration.
func StoreRules(ctx context.Context, j store.Store, x *graphsync.Extractor) error {
	text, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("contextgraph: rules of extraction: %w", err)
	}
	return j.SetRules(ctx, x.Version(), text)
}
