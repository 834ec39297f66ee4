// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"

	"github.com/adk-contextgraph/contextgraph/internal/propose"
	"github.com/adk-contextgraph/contextgraph/record"
)

// propose prints a draft of a configuration, made from the calls of a recorded session.
func (a *app) propose(ctx context.Context, s record.Session) error {
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
	_, err = a.stdout.Write(propose.From(rec.Rows, guarded))
	return err
}
