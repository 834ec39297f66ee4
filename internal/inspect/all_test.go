// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// pages is a source of pages, of which the last one fails.
type pages struct {
	inspect.Source
	ids map[string][]string // of the sessions of a page, by its place
	// next has the place of the next page.
	next map[string]string
}

var errGone = errors.New("it is gone")

func (p pages) Sessions(_ context.Context, q inspect.Query) (inspect.Page, error) {
	ids, ok := p.ids[q.After]
	if !ok {
		return inspect.Page{}, errGone
	}
	page := inspect.Page{Next: p.next[q.After]}
	for _, id := range ids {
		page.Sessions = append(page.Sessions, inspect.Summary{Session: record.Session{ID: id}})
	}
	return page, nil
}

// A session that goes on while the pages are read comes once, and an error ends them.
func TestAll(t *testing.T) {
	src := pages{
		ids:  map[string][]string{"": {"s1", "s2"}, "2": {"s2", "s3"}},
		next: map[string]string{"": "2", "2": "3"},
	}
	var got []string
	var failed error
	for s, err := range inspect.All(t.Context(), src, inspect.Query{}) {
		if err != nil {
			failed = err
			continue
		}
		got = append(got, s.Session.ID)
	}
	if diff := cmp.Diff([]string{"s1", "s2", "s3"}, got); diff != "" || !errors.Is(failed, errGone) {
		t.Errorf("sessions (-want +got):\n%s%v", diff, failed)
	}
	for range inspect.All(t.Context(), src, inspect.Query{}) {
		break // asks for no other page
	}
}
