// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

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

// examineJournal returns the time of the newest row, zero when there is none.
func (a *app) examineJournal(ctx context.Context, cfg config.Config, found *findings) time.Time {
	const area = "journal"
	path := journalPath(cfg)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		found.add(area, levelNote, "run the agent, or name another one with --journal", "there is no journal at %s yet", path)
		a.examineDisk(filepath.Dir(path), found)
		return time.Time{}
	}
	h, err := journal.Examine(ctx, path)
	if err != nil {
		found.add(area, levelError, "name another journal with --journal, or restore this one from a copy", "%v", err)
		return time.Time{}
	}
	if h.Bytes == 0 {
		found.add(area, levelNote, "run the agent, or name another one with --journal", "%s is empty: nothing was recorded in it yet", path)
		a.examineDisk(filepath.Dir(path), found)
		return time.Time{}
	}
	if len(h.Damage) > 0 {
		found.add(area, levelError, "stop the agents, keep a copy of the file, and restore an earlier one: what is damaged cannot be relied on",
			"SQLite finds %s damaged: %s", path, strings.Join(h.Damage, "; "))
	} else {
		found.add(area, levelOK, "", "%s is sound, %s, with %s in its log", path, bytesText(h.Bytes), bytesText(h.LogBytes))
	}
	if info != nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		found.add(area, levelWarning, fmt.Sprintf("chmod 600 %q", path), "others can read it (%s), and it holds full payloads", info.Mode().Perm())
	}
	switch {
	case h.Version > h.Known:
		found.add(area, levelError, "use a newer contextgraph", "its version is %d, and this program knows versions up to %d", h.Version, h.Known)
		return time.Time{}
	case h.Version < h.Known:
		found.add(area, levelNote, "any other command, and the next start of an agent, brings it up to date", "its version is %d, and the newest is %d", h.Version, h.Known)
		return time.Time{}
	}
	found.add(area, levelOK, "", "version %d, %d sessions with %d rows", h.Version, h.Sessions, h.Rows)
	if h.LostRows > 0 {
		found.add(area, levelWarning, "look for a full disk or queue in the logs of the agents; a session that lost rows approves nothing any more, start a new one",
			"%d rows of %d sessions were lost before they were stored", h.LostRows, h.LostSessions)
	} else {
		found.add(area, levelOK, "", "no row is known to be lost")
	}
	a.examineDisk(filepath.Dir(path), found)
	for _, d := range h.Destinations {
		a.examineDestination(d, found)
	}
	if len(h.Destinations) == 0 && cfg.BigQuery.Enabled() {
		found.add("replication", levelNote, "the program of the agent has to give bqstream.Option()", "a dataset is configured, and nobody has sent anything to it from this journal")
	}
	return h.Last
}

func (a *app) examineDisk(dir string, found *findings) {
	const area = "journal"
	free, known := freeDisk(dir)
	const remedy = "make room, or bound the journal with journal.retention"
	switch {
	case !known:
	case free < noDisk:
		found.add(area, levelError, remedy, "the disk has %s left: rows will be lost, and guarded tools denied", bytesText(free))
	case free < tightDisk:
		found.add(area, levelWarning, remedy, "the disk has %s left", bytesText(free))
	default:
		found.add(area, levelOK, "", "the disk has %s left", bytesText(free))
	}
}

func (a *app) examineDestination(d journal.Destination, found *findings) {
	const area = "replication"
	waited := a.now().Sub(d.Oldest).Round(time.Second)
	sent := "somebody sends"
	if d.LeasedUntil.Before(a.now()) {
		sent = "nobody sends"
	}
	switch {
	case d.Rows == 0:
		found.add(area, levelOK, "", "%s has every row", d.Name)
	case waited > lateRows:
		found.add(area, levelWarning, "start the agent that streams, and look for errors of BigQuery in its log", "%s lacks %d rows, the oldest for %s; %s", d.Name, d.Rows, waited, sent)
	default:
		found.add(area, levelNote, "", "%s lacks %d rows, the oldest for %s; %s", d.Name, d.Rows, waited, sent)
	}
	if d.DeadLetters > 0 {
		found.add(area, levelWarning, `see "contextgraph dead-letters"`, "%s refused %d rows for what they hold", d.Name, d.DeadLetters)
	}
}

// bytesText says a number of bytes.
func bytesText(n int64) string {
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
