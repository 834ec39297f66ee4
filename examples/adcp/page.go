// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
)

// pageName is the page's file in the demo's folder.
const pageName = "contextgraph.html"

// writePage writes the page of all sessions beside the journal and returns its path. A browser opens it without a
// server. It is what "contextgraph view --all" writes.
func writePage(ctx context.Context, path string) (page string, err error) {
	j, err := journal.Open(ctx, journal.Config{Path: path})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, j.Close(context.WithoutCancel(ctx))) }()
	src := inspect.NewJournal(j)
	doc := viewer.Document{Source: src.Name(), Generated: time.Now(), Complete: true}
	if doc.Queries, err = viewer.Queries(config.BigQuery{}); err != nil {
		return "", err
	}
	list, err := src.Sessions(ctx, inspect.Query{})
	if err != nil {
		return "", err
	}
	doc.Note = fmt.Sprintf("All %d sessions of the demo, with their full payloads.", len(list.Sessions))
	for _, one := range list.Sessions {
		record, err := src.Record(ctx, one.Session)
		if err != nil {
			return "", err
		}
		seen, err := inspect.New(record, doc.Generated)
		if err != nil {
			return "", err
		}
		doc.Sessions = append(doc.Sessions, seen)
	}
	page = filepath.Join(filepath.Dir(path), pageName)
	// For its owner only, as the journal.
	f, err := os.OpenFile(page, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fmt.Errorf("the page cannot be written: %w; choose another folder with --dir", err)
	}
	return page, errors.Join(viewer.Write(f, doc), f.Close())
}
