// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/adk-contextgraph/contextgraph/page"
)

// pageName is the page's file in the demo's folder.
const pageName = "contextgraph.html"

// writePage writes the page of all sessions beside the journal and returns its path. A browser
// opens it without a server. The command "contextgraph view --all" writes the same page.
func writePage(ctx context.Context, journal string) (string, error) {
	name := filepath.Join(filepath.Dir(journal), pageName)
	// For its owner only, as the journal.
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fmt.Errorf("the page cannot be written: %w; choose another folder with --dir", err)
	}
	return name, errors.Join(page.Write(ctx, journal, f), f.Close())
}
