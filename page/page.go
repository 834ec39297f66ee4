// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package page writes the sessions of a journal as one HTML page: the graph of why, the thoughts
// of the agents, the timeline, and every approval with its verdicts. The page works from a disk:
// it needs no server and fetches nothing from a network. "contextgraph view" writes the same page.
//
// The package is optional. A program that does not import it does not link the page.
package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
)

// Write writes the page of the journal in the file journalPath to w, and leaves w open. The page
// has the newest sessions, until their payloads are 64 MiB, and says whether there are more.
// Without its data it is smaller than 350 KB. Its data is compressed: a session of 10,000 spans has a
// page of some 6 MB. Chrome and Edge 93, Firefox 113, Safari 16.4 and later ones open it.
//
// The page holds everything that was said in its sessions: keep it as you keep the journal. It
// has what is on disk, so a program that records into this journal calls Instance.Flush first.
//
// The error names the journal if there is none, if it cannot be read, or if it has no session.
// Then nothing is written to w. An error of w is returned as it is.
func Write(ctx context.Context, journalPath string, w io.Writer) error {
	err := write(ctx, journalPath, w)
	if err != nil && ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx)) // SQLite only says that it was interrupted
	}
	return err
}

func write(ctx context.Context, journalPath string, w io.Writer) (err error) {
	if err := journal.Missing(journalPath); err != nil {
		return fmt.Errorf("page: %w: give the file that the agent records into, journal.path of its configuration", err)
	}
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: journalPath}})
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	defer func() { err = errors.Join(err, j.Close(context.WithoutCancel(ctx))) }()
	doc := viewer.Document{Generated: time.Now()}
	if doc.Queries, err = viewer.Queries(config.BigQuery{}); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	if err := doc.Newest(ctx, inspect.NewJournal(j), viewer.Choice{}); err != nil {
		return fmt.Errorf("page: reading %s: %w", journalPath, err)
	}
	if len(doc.Sessions) == 0 {
		return fmt.Errorf("page: the journal %s has no sessions: run the agent first", journalPath)
	}
	return viewer.Write(w, doc)
}
