// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"log/slog"
	"maps"

	"go.opentelemetry.io/otel/metric"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Option changes a Config in code. What code sets wins over the environment and
// the file.
type Option func(*Config)

// WithChecker checks entities of the given type with c, in place of a checker of
// the configuration.
func WithChecker(entityType string, c safety.Checker) Option {
	return func(cfg *Config) {
		checkers := make(map[string]safety.Checker, len(cfg.CheckFuncs)+1)
		maps.Copy(checkers, cfg.CheckFuncs)
		checkers[entityType] = c
		cfg.CheckFuncs = checkers
	}
}

// WithDatabase lets checkers of the configuration ask db under the given name
// (checkers[].sql.database). A *sql.DB is one. Closing it is left to the caller, after
// the Instance is closed.
func WithDatabase(name string, db Querier) Option {
	return func(cfg *Config) {
		databases := maps.Clone(cfg.Databases)
		if databases == nil {
			databases = make(map[string]Querier)
		}
		databases[name] = db
		cfg.Databases = databases
	}
}

// WithAuthorizer lets a decide who may approve an action. A nil a is one that refuses
// everybody: who names an authorizer does not mean to do without.
func WithAuthorizer(a safety.Authorizer) Option {
	if a == nil {
		a = safety.AuthorizerFunc(nil)
	}
	return func(cfg *Config) { cfg.Authorize = a }
}

// WithLogger sends what an operator should know to l.
func WithLogger(l *slog.Logger) Option {
	return func(cfg *Config) { cfg.Logger = l }
}

// WithFormatter puts the content of every row through f, see [Config.Format].
func WithFormatter(f func(eventType string, content []byte) ([]byte, error)) Option {
	return func(cfg *Config) { cfg.Format = f }
}

// WithClassifier lets f decide which tool results are errors, see
// [Config.Classify].
func WithClassifier(f func(t tool.Tool, args, result map[string]any) error) Option {
	return func(cfg *Config) { cfg.Classify = f }
}

// WithWarehouse connects the journal to the dataset that the configuration names, if
// it names one, with open: Open of package warehouse/bigquery.
func WithWarehouse(open warehouse.Opener) Option {
	return func(cfg *Config) { cfg.OpenWarehouse = open }
}

// WithMeterProvider makes the instruments of the recorder with p.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(cfg *Config) { cfg.MeterProvider = p }
}
