// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func (s *db) Name() string   { return s.name }
func (s *db) ID() string     { return s.id }
func (s *db) Secret() []byte { return bytes.Clone(s.secret) }

// milestones are the types of [store.Milestone].
var milestones = slices.DeleteFunc(slices.Clone(record.EventTypes()), func(t string) bool { return !store.Milestone(t) })

func (s *db) Standings(ctx context.Context, sessions []record.Session) ([]store.Standing, error) {
	out := make([]store.Standing, len(sessions))
	for i, of := range sessions {
		var err error
		if out[i].Rows, err = read(ctx, s, "select_milestones", rowOf(of), keyOf(of), slices.Clone(milestones)); err != nil {
			return nil, err
		}
		if out[i].Approvals, err = s.List(ctx, safety.Query{Session: of, Brief: true}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *db) OpenRequests(ctx context.Context, now time.Time, limit int) ([]record.Session, error) {
	return read(ctx, s, "select_open_requests", scanSession, now.UnixMicro(), max(limit, 0))
}

func (s *db) Requested(ctx context.Context, of record.Session, prefix string, limit int) ([]record.Session, error) {
	return read(ctx, s, "select_requested", scanSession, prefix, of.App, of.User, max(limit, 0))
}

// Summaries reads all before it calls each.
func (s *db) Summaries(ctx context.Context, now time.Time, each func(*store.Summary)) error {
	all, err := read(ctx, s, "select_summaries", func(r scanner) (sum store.Summary, err error) {
		var kept *string
		var is store.Summary
		of := &is.Session
		err = r.to(&of.App, &of.User, &of.ID, &is.LastSeq, &is.LastTime, &is.Events, &kept, &is.Words, &is.More)
		if err == nil && kept != nil {
			err = json.Unmarshal([]byte(*kept), &sum)
			sum.Known = true
		}
		sum.Session, sum.LastSeq, sum.LastTime, sum.Events = is.Session, is.LastSeq, is.LastTime, is.Events
		sum.Words, sum.More = is.Words, is.More
		return sum, err
	}, now.UnixMicro())
	for i := range all {
		each(&all[i])
	}
	return err
}

func (s *db) Stamp(ctx context.Context, of record.Session) (store.Stamp, error) {
	return only(read(ctx, s, "select_stamp", func(r scanner) (st store.Stamp, err error) {
		return st, r.to(&st.LastSeq, &st.Events, &st.Lost, &st.Steps)
	}, keyOf(of)))
}

func (s *db) KeepSummaries(ctx context.Context, list []store.NewSummary) error {
	return s.do(ctx, "keep summaries", func(ctx context.Context) error {
		for _, sum := range list {
			kept := sum.Summary
			kept.Session, kept.Words, kept.More = record.Session{}, nil, nil
			text, err := json.Marshal(kept)
			if err != nil {
				return err
			}
			_, err = exec(ctx, s.pool, "keep_summary", keyOf(sum.Session), sum.Of.LastSeq, sum.Of.Events, sum.Of.Lost, sum.Of.Steps,
				sum.Until.UnixMicro(), string(text), slices.Concat([]byte{}, sum.Words), slices.Concat([]byte{}, sum.More))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *db) Rules(ctx context.Context, digest string) ([]byte, bool, error) {
	list, err := read(ctx, s, "select_rules", one[string], digest)
	text, err := only(list, err)
	return []byte(text), len(list) > 0, err
}

func (s *db) SetRules(ctx context.Context, digest string, rules []byte) error {
	if digest == "" {
		return errors.New("postgres: note the rules: they have no digest")
	}
	return s.do(ctx, "note the rules", func(ctx context.Context) error {
		_, err := exec(ctx, s.pool, "upsert_rules", digest, string(rules))
		return err
	})
}
