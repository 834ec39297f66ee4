// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// The tests of this file are of values at a bound, which others pass by: each was written
// for a change of the code that no other test noticed.

// What is attached without a name never gets to the ledger.
func TestAttachNothing(t *testing.T) {
	b := newBench(t, nil, strava)
	a := b.ask()
	l := &attaching{Ledger: b.ledger}
	g := b.with(l)
	for _, names := range [][2]string{{"", "conf-2"}, {a.ID, ""}, {"", ""}} {
		if err := g.Attach(t.Context(), names[0], names[1]); err == nil || l.calls > 0 {
			t.Errorf("%q: error %v, the ledger was called %d times", names, err, l.calls)
		}
	}
}

// attaching counts what is attached and finds what it is told to.
type attaching struct {
	safety.Ledger
	calls  int
	found  safety.Approval
	getErr error
}

func (l *attaching) Attach(context.Context, string, string) error {
	l.calls++
	return safety.ErrConflict
}

func (l *attaching) Get(context.Context, string) (safety.Approval, error) { return l.found, l.getErr }

// A conflict is none only if the ledger says that this approval has this confirmation.
func TestAttachConflict(t *testing.T) {
	b := newBench(t, nil, strava)
	a := b.ask()
	mine := safety.Approval{ID: a.ID, ConfirmationID: "conf-1"}
	for name, test := range map[string]struct {
		found  safety.Approval
		getErr error
		ok     bool
	}{
		"the same":             {mine, nil, true},
		"another approval":     {safety.Approval{ID: "another", ConfirmationID: "conf-1"}, nil, false},
		"another confirmation": {safety.Approval{ID: a.ID, ConfirmationID: "conf-2"}, nil, false},
		"the same, and an error": {
			mine, errors.New("disk"), false,
		},
	} {
		g := b.with(&attaching{Ledger: b.ledger, found: test.found, getErr: test.getErr})
		if err := g.Attach(t.Context(), a.ID, "conf-1"); (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestArgsOfMaximalSize(t *testing.T) {
	const most = 4 << 20
	for size, ok := range map[int]bool{most - 1: true, most: true, most + 1: false} {
		args := map[string]any{"a": strings.Repeat("x", size-len(`{"a":""}`))}
		_, canonical, err := safety.ArgsDigest(args)
		if (err == nil) != ok || ok && len(canonical) != size {
			t.Errorf("%d bytes: %d bytes, error %v", size, len(canonical), err)
		}
	}
}

// The years that JSON can hold are recorded.
func TestYearsThatAreRecorded(t *testing.T) {
	for year, recorded := range map[int]bool{-1: false, 0: true, 1: true, 9999: true, 10000: false} {
		asOf := time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
		b := newBench(t, answering(safety.State{Attributes: strava.Attributes, AsOf: asOf}, nil), strava)
		if got := b.check().Entities()[0].AsOf; got.Equal(asOf) != recorded || !recorded && !got.IsZero() {
			t.Errorf("year %d: recorded as %v", year, got)
		}
	}
}

func TestNumberOfRows(t *testing.T) {
	for n, want := range map[int]string{1: "from 1 row:", 2: "from 2 rows:"} {
		b := newBench(t, nil, strava)
		b.record.snap.Receipt.Failed = n
		if detail := b.check().Failures()[0].Detail; !strings.Contains(detail, want) {
			t.Errorf("%q, want %q in it", detail, want)
		}
	}
}

// The shortest time is one, also for a type.
func TestShortestTimes(t *testing.T) {
	p := safety.DefaultPolicy()
	p.MaxAge, p.Timeout, p.Deadline, p.RequestLifetime = 1, 1, 1, 1
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	p = safety.DefaultPolicy()
	plain := p.Version()
	p.Types = map[string]safety.TypePolicy{"Product": {MaxAge: 1}}
	if p.Version() == plain {
		t.Error("a MaxAge of 1ns for a type changes nothing")
	}
}

// A text of the maximal length is not cut.
func TestDetailOfMaximalLength(t *testing.T) {
	for n, cut := range map[int]bool{499: false, 500: false, 501: true} {
		text := strings.Repeat("x", n)
		b := newBench(t, answering(safety.State{}, errors.New(text)), strava)
		if got := b.check().Failures()[0].Detail; (got != text) != cut || len(got) > 500 {
			t.Errorf("%d bytes: %d bytes remain", n, len(got))
		}
	}
}
