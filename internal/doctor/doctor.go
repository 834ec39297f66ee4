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
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
)

const (
	// tightDisk is how little room on the disk is worth a warning, and noDisk an error.
	tightDisk = 1 << 30
	noDisk    = 64 << 20
	// lateRows is how long a row may wait for a destination before that is worth a warning.
	lateRows = 15 * time.Minute
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
	// Area is "config", "journal", "store", "rules", "replication", "clock", "checkers" or "bigquery".
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
	var last time.Time
	if cfg.Store.Postgres.DSN != "" {
		x.database(ctx, cfg)
	} else {
		last = x.journal(ctx, cfg.Journal.WithDefaults().Path)
	}
	if !last.IsZero() {
		x.rules(ctx, cfg)
	}
	servers := connect(ctx, cfg.Checkers)
	x.clocks(last, servers)
	x.checkers(servers, cfg.Checkers)
	if cfg.BigQuery.Enabled() {
		x.dataset(ctx, cfg.BigQuery)
	}
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

// journal looks at the journal, and returns the time of the newest row, zero when there is none.
func (x *examination) journal(ctx context.Context, path string) time.Time {
	const area = "journal"
	defer x.disk(filepath.Dir(path))
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		x.add(area, Note, "run the agent, or name another one with --journal", "there is no journal at %s yet", path)
		return time.Time{}
	}
	h, err := journal.Examine(ctx, path, x.Whole)
	size := fmt.Sprintf("%s, with %s in its log", Bytes(h.Bytes), Bytes(h.LogBytes))
	switch {
	case err != nil:
		x.add(area, Error, "name another journal with --journal, or restore this one from a copy", "%v", err)
		return time.Time{}
	case h.Bytes == 0:
		x.add(area, Note, "run the agent, or name another one with --journal", "%s is empty: nothing was recorded in it yet", path)
		return time.Time{}
	case !h.Checked:
		x.add(area, Note, "contextgraph doctor --full reads it whole", "%s was not searched for damage: it has %s", path, size)
	case len(h.Damage) > 0:
		x.add(area, Error, "stop the agents, keep a copy of the file, and restore an earlier one: what is damaged cannot be relied on",
			"SQLite finds %s damaged: %s", path, strings.Join(h.Damage, "; "))
	default:
		x.ok(area, "%s is sound, %s", path, size)
	}
	if info != nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		x.add(area, Warning, fmt.Sprintf("chmod 600 %q", path), "others can read it (%s), and it holds full payloads", info.Mode().Perm())
	}
	x.ok(area, "%d sessions with %d rows", h.Sessions, h.Rows)
	if h.LostRows > 0 {
		x.add(area, Warning, "look for a full disk or queue in the logs of the agents; a session that lost rows approves nothing any more, start a new one",
			"%d rows of %d sessions were lost before they were stored", h.LostRows, h.LostSessions)
	} else {
		x.ok(area, "no row is known to be lost")
	}
	for _, d := range h.Destinations {
		x.destination(d)
	}
	return h.Last
}

func (x *examination) disk(dir string) {
	const area, remedy = "journal", "make room, or bound the journal with journal.retention"
	free, known := freeDisk(dir)
	switch {
	case !known:
	case free < noDisk:
		x.add(area, Error, remedy, "the disk has %s left: rows will be lost, and guarded tools denied", Bytes(free))
	case free < tightDisk:
		x.add(area, Warning, remedy, "the disk has %s left", Bytes(free))
	default:
		x.ok(area, "the disk has %s left", Bytes(free))
	}
}

func (x *examination) destination(d journal.Destination) {
	const area = "replication"
	waited := x.Now().Sub(d.Oldest).Round(time.Second)
	sent := "somebody sends"
	if d.LeasedUntil.Before(x.Now()) {
		sent = "nobody sends"
	}
	level, remedy := Note, ""
	if waited > lateRows {
		level, remedy = Warning, "start the agent that streams, and look for errors of BigQuery in its log"
	}
	if d.Rows == 0 {
		x.ok(area, "%s has every row", d.Name)
	} else {
		x.add(area, level, remedy, "%s lacks %d rows, the oldest for %s; %s", d.Name, d.Rows, waited, sent)
	}
	if d.Graphs > 0 {
		x.add(area, Note, "", "%s lacks the graphs of sessions after %d requests for approval, answers and verdicts", d.Name, d.Graphs)
	}
	if d.DeadLetters > 0 {
		x.add(area, Warning, `see "contextgraph dead-letters"`, "%s refused %d rows for what they hold", d.Name, d.DeadLetters)
	}
}

// dataset looks at the dataset.
func (x *examination) dataset(ctx context.Context, cfg config.BigQuery) {
	const area = "bigquery"
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

// Bytes writes a number of bytes for people.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, units := float64(n)/1024, "KMGT"
	for f >= 1024 && len(units) > 1 {
		f, units = f/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", f, units[0])
}
