// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor finds faults of a configuration, its journal, the clocks, the servers of its
// checkers and its dataset. It changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
)

// Level is how bad a finding is.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Note    Level = "note"
	Warning Level = "warning"
	Error   Level = "error"
)

// Finding is one thing that was looked at.
type Finding struct {
	// Area is "config", "journal", "rules", "replication", "clock", "checkers" or "bigquery".
	Area  string `json:"area"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	// Remedy says how to mend it.
	Remedy string `json:"remedy,omitempty"`
}

// Options select the areas to examine, and the way.
type Options struct {
	// Path is the path of the configuration file, which need not exist.
	Path string
	// Load reads the configuration.
	Load func() (config.Config, error)
	// Dataset connects to the dataset of a configuration.
	Dataset func(context.Context, config.BigQuery) (*bigquery.Dataset, error)
	// Whole searches a journal of any size for damage, and not only one that is read in a moment.
	Whole bool
	// Now is the clock.
	Now func() time.Time
}

// examination is an examination under way.
type examination struct {
	Options
	found []Finding
}

func (x *examination) add(area string, l Level, remedy, format string, args ...any) {
	x.found = append(x.found, Finding{area, l, fmt.Sprintf(format, args...), remedy})
}

func (x *examination) ok(area, format string, args ...any) { x.add(area, OK, "", format, args...) }

// Examine looks at everything that the configuration names. It changes nothing and
// runs no query. The server of a checker gets a connection and at most a HEAD request for its root,
// without the headers of the configuration. After ctx has ended, the findings mean nothing.
func Examine(ctx context.Context, o Options) []Finding {
	x := &examination{Options: o}
	cfg, ok := x.config()
	if !ok {
		return x.found
	}
	last := x.journal(ctx, cfg)
	if !last.IsZero() {
		x.rules(ctx, cfg)
	}
	servers := connect(ctx, cfg.Checkers)
	x.clocks(last, servers)
	for _, s := range servers {
		x.server(s)
	}
	x.elsewhere(cfg.Checkers)
	x.dataset(ctx, cfg.BigQuery)
	return x.found
}

// config reports whether there is a configuration to go on with.
func (x *examination) config() (config.Config, bool) {
	const area = "config"
	cfg, err := x.Load()
	if err != nil {
		x.add(area, Error, "correct it; contextgraph.example.yaml has every key", "%s", strings.TrimPrefix(err.Error(), "contextgraph: "))
		return cfg, false
	}
	if _, err := os.Stat(x.Path); errors.Is(err, fs.ErrNotExist) {
		x.add(area, Note, "name one with --config", "there is no %s: everything has its default, so no rule finds entities and no checker checks them", x.Path)
		return cfg, true
	}
	x.ok(area, "%s is understood: rules: %d, checkers: %d", x.Path, len(cfg.Extract), len(cfg.Checkers))
	if !*cfg.WithDefaults().Enabled {
		x.add(area, Warning, "remove enabled: false", "recording is off, and guarded tools are denied")
	}
	if cfg.Guard.Mode == config.ModeObserve {
		x.add(area, Warning, "set guard.mode to enforce", "guard.mode is observe: verdicts are recorded and block nothing but tools wrapped by Protect")
	}
	for _, p := range setup.Advice(cfg, nil) {
		x.add(area, Warning, p.Remedy+", unless code makes up for it", "%s: %s", p.Path, p.Text)
	}
	return cfg, true
}

// dataset looks at the dataset where one is configured.
func (x *examination) dataset(ctx context.Context, cfg config.BigQuery) {
	const area = "bigquery"
	if !cfg.Enabled() {
		return
	}
	d, err := x.Dataset(ctx, cfg)
	if err != nil {
		x.add(area, Error, "see docs/bigquery.md for credentials", "%v", err)
		return
	}
	defer d.Close()
	x.ok(area, "there are credentials")
	missing, notes, err := d.Plan(ctx)
	name := d.Names().Project() + "." + d.Names().Dataset()
	if err != nil {
		x.add(area, Error, "give the permission that is named, wait where a quota is used up, or correct what is in the way; the quotas are in the console under IAM & Admin, Quotas", "%s: %v", name, err)
		return
	}
	if n := len(missing); n > 0 {
		x.add(area, Warning, `run "contextgraph init"; with --dry-run first to see what it does`, "%s lacks %d of its tables, columns, views or labels, or its graph", name, n)
	} else {
		x.ok(area, "%s has its tables, views and graph", name)
	}
	for _, n := range notes {
		x.add(area, Note, "", "%s", n)
	}
}
