// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/propose"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/record"
)

// propose prints a draft of a configuration, made from the calls of a recorded session. If flows is not
// "", it writes two flows into that folder.
func (a *app) propose(ctx context.Context, s record.Session, flows string) error {
	cfg, err := a.fileConfig()
	if err != nil {
		return err
	}
	src, err := a.recorded(ctx, cfg)
	if err != nil {
		return err
	}
	defer src.close()
	seen, err := a.read(ctx, src, s)
	if err != nil {
		return err
	}
	rec, err := src.Record(ctx, seen.Session)
	if err != nil {
		return err
	}
	var guarded []string
	for _, q := range seen.Approvals {
		if q.Kind == "confirmation" && !slices.Contains(guarded, q.Tool) {
			guarded = append(guarded, q.Tool)
		}
	}
	draft := propose.From(rec.Rows, guarded)
	if flows != "" {
		if len(cfg.Extract) == 0 {
			if cfg, err = config.Parse("the draft", draft, nil); err != nil {
				return err
			}
		}
		if err := a.writeFlows(flows, cfg, rec.Rows, guarded); err != nil {
			return err
		}
	}
	_, err = a.stdout.Write(draft)
	return err
}

// writeFlows writes an honest flow and an attack, made from a session, into a folder. It replaces no
// file.
func (a *app) writeFlows(dir string, cfg config.Config, rows []record.Event, guarded []string) error {
	x, err := setup.Extractor(cfg)
	if err != nil {
		return err
	}
	unchanged, changed, err := propose.Flows(rows, guarded, x)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	names, texts := []string{"unchanged.yaml", "changed.yaml"}, [][]byte{unchanged, changed}
	for _, name := range names {
		if path := filepath.Join(dir, name); exists(path) {
			return fmt.Errorf("%s is there already: remove it, or name another folder with --flows", path)
		}
	}
	for i, name := range names {
		path := filepath.Join(dir, name)
		if texts[i] == nil {
			a.note("no flow %s: the guarded call names nothing that the rules read; correct the rules, then run this again", path)
			continue
		}
		if err := os.WriteFile(path, texts[i], 0o644); err != nil {
			return err
		}
		a.note("wrote %s; try it with contextgraph test %s", path, dir)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
