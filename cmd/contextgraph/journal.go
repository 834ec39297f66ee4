// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// journalPath returns where the journal of the configuration is.
func journalPath(cfg config.Config) string {
	return cfg.Journal.WithDefaults().Path
}

// hasJournal reports whether there is a journal where the configuration says.
func hasJournal(cfg config.Config) bool {
	_, err := os.Stat(journalPath(cfg))
	return err == nil
}

// openJournal opens the journal of the configuration, which must exist. instead ends the text of an
// error. The caller closes the journal.
func openJournal(ctx context.Context, cfg config.Config, instead string) (*journal.Journal, error) {
	path := journalPath(cfg)
	if err := journal.Missing(path); err != nil {
		return nil, fmt.Errorf("%w; name it with journal.path in the configuration%s", err, instead)
	}
	return journal.Open(ctx, journal.Config{Journal: config.Journal{Path: path}})
}

// copyJournal copies a journal, with the rows in its log, into a new folder below that for temporary files. SQLite
// reads no file in WAL mode on a disk that it cannot write to.
func copyJournal(path string) (copied string, err error) {
	dir, err := os.MkdirTemp("", "contextgraph-")
	if err != nil {
		return "", err
	}
	copied = filepath.Join(dir, filepath.Base(path))
	for _, suffix := range []string{"", "-wal"} {
		from, err := os.Open(path + suffix)
		if errors.Is(err, fs.ErrNotExist) && suffix != "" {
			break
		}
		if err == nil {
			var to *os.File
			if to, err = os.OpenFile(copied+suffix, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
				_, err = io.Copy(to, from)
				err = errors.Join(err, to.Close())
			}
			_ = from.Close() // it was only read
		}
		if err != nil {
			return "", errors.Join(fmt.Errorf("copy the journal: %w", err), os.RemoveAll(dir))
		}
	}
	return copied, nil
}

// journalSource reads graphs from a journal, for a dataset.
type journalSource struct {
	journal *journal.Journal
	folds   *graphsync.Sessions
}

// pageSize is how many sessions or dead letters are listed at a time.
const pageSize = 1000

func (j *journalSource) find(ctx context.Context, s record.Session, after time.Time) ([]record.Session, error) {
	if s.ID != "" {
		return inspect.NewJournal(j.journal).Find(ctx, s)
	}
	var found []record.Session
	for offset := 0; ; offset += pageSize {
		page, err := j.journal.Sessions(ctx, store.Query{App: s.App, User: s.User, Limit: pageSize, Offset: offset})
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			if !one.Last.Before(after) {
				found = append(found, one.Session)
			}
		}
		if len(page) < pageSize {
			return found, nil
		}
	}
}

func (j *journalSource) graphs(ctx context.Context, sessions []record.Session) iter.Seq2[bigquery.SessionGraphs, error] {
	return func(yield func(bigquery.SessionGraphs, error) bool) {
		for _, s := range sessions {
			g, err := bigquery.JournalGraph(ctx, j.journal, j.folds, s)
			if !yield(bigquery.SessionGraphs{Session: s, Graphs: []warehouse.SessionGraph{g}}, err) {
				return
			}
		}
	}
}

// back does nothing: the graph was made of the journal.
func (*journalSource) back(context.Context, record.Session) (int, error) { return 0, nil }
