// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// The tests of this file are of values at a bound, which others pass by: each was written
// for a change of the code that no other test noticed.

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
