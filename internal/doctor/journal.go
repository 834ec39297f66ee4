// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

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
	"github.com/adk-contextgraph/contextgraph/internal/journal"
)

const (
	// tightDisk is how little room on the disk is worth a warning, and noDisk an error.
	tightDisk = 1 << 30
	noDisk    = 64 << 20
	// lateRows is how long a row may wait for a destination before that is worth a warning.
	lateRows = 15 * time.Minute
	// aheadOfUs is how far the clock of those who record may be ahead.
	aheadOfUs = time.Minute
)

// journal looks at the journal, and returns the time of the newest row, zero when there is none.
func (x *examination) journal(ctx context.Context, cfg config.Config) time.Time {
	const area = "journal"
	path := cfg.Journal.WithDefaults().Path
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		x.noJournal("there is no journal at %s yet", path)
		return time.Time{}
	}
	h, err := journal.Examine(ctx, path, x.Whole)
	if err != nil {
		x.add(area, Error, "name another journal with --journal, or restore this one from a copy", "%v", err)
		return time.Time{}
	}
	if h.Bytes == 0 {
		x.noJournal("%s is empty: nothing was recorded in it yet", path)
		return time.Time{}
	}
	switch {
	case !h.Checked:
		x.add(area, Note, "contextgraph doctor --full reads it whole", "%s was not searched for damage: it has %s, with %s in its log", path, Bytes(h.Bytes), Bytes(h.LogBytes))
	case len(h.Damage) > 0:
		x.add(area, Error, "stop the agents, keep a copy of the file, and restore an earlier one: what is damaged cannot be relied on",
			"SQLite finds %s damaged: %s", path, strings.Join(h.Damage, "; "))
	default:
		x.ok(area, "%s is sound, %s, with %s in its log", path, Bytes(h.Bytes), Bytes(h.LogBytes))
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
	x.disk(filepath.Dir(path))
	for _, d := range h.Destinations {
		x.destination(d)
	}
	if len(h.Destinations) == 0 && cfg.BigQuery.Enabled() {
		x.add("replication", Note, "the program of the agent has to give the option bqstream.Option()", "a dataset is configured, and nobody has sent anything to it from this journal")
	}
	return h.Last
}

func (x *examination) noJournal(format, path string) {
	x.add("journal", Note, "run the agent, or name another one with --journal", format, path)
	x.disk(filepath.Dir(path))
}

func (x *examination) disk(dir string) {
	const area = "journal"
	free, known := freeDisk(dir)
	const remedy = "make room, or bound the journal with journal.retention"
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
	switch {
	case d.Rows == 0:
		x.ok(area, "%s has every row", d.Name)
	case waited > lateRows:
		x.add(area, Warning, "start the agent that streams, and look for errors of BigQuery in its log", "%s lacks %d rows, the oldest for %s; %s", d.Name, d.Rows, waited, sent)
	default:
		x.add(area, Note, "", "%s lacks %d rows, the oldest for %s; %s", d.Name, d.Rows, waited, sent)
	}
	if d.Graphs > 0 {
		x.add(area, Note, "", "%s lacks the graphs of sessions after %d requests for approval, answers and verdicts", d.Name, d.Graphs)
	}
	if d.DeadLetters > 0 {
		x.add(area, Warning, `see "contextgraph dead-letters"`, "%s refused %d rows for what they hold", d.Name, d.DeadLetters)
	}
}

// Bytes writes a number of bytes for people.
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
