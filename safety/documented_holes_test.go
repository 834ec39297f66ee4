// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestW03UnknownSessionDenies(t *testing.T) {
	b := newBench(t, nil, strava)
	for _, s := range []safety.Session{
		{}, {App: "a", User: "b"}, {App: "a", ID: "c"}, {User: "b", ID: "c"},
	} {
		r, err := b.guard.Check(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		wantFailure(t, r, safety.ReasonSession)
	}
	b.record.snap = safety.Snapshot{} // what a mistyped session has
	r := b.check()
	wantFailure(t, r, safety.ReasonNoEntities)
	wantFailure(t, r, safety.ReasonIncompleteRecord)
}

// What is not what it was at the request fails the check of the call.
func TestOtherThanAtTheRequest(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*bench)
		want  string // the reason, "" for a permit
	}{
		"a lower watermark":    {func(b *bench) { b.record.snap.Receipt.Watermark-- }, safety.ReasonIncompleteRecord},
		"fewer rows":           {func(b *bench) { b.record.snap.Receipt.RowsRead-- }, safety.ReasonIncompleteRecord},
		"more, as a run gives": {func(b *bench) { b.record.snap.Receipt.Watermark++; b.record.snap.Receipt.RowsRead++ }, ""},
		"other rules":          {func(b *bench) { b.record.snap.Receipt.Version = "other rules" }, safety.ReasonRulesChanged},
		"another policy":       {func(b *bench) { b.cfg.Policy.MinConfidence = 0.6; b.guard = b.made() }, safety.ReasonPolicyChanged},
	} {
		b := newBench(t, nil, strava).approved()
		test.spoil(b)
		_, r, err := b.permit()
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		wantRefusal(t, err, safety.CodeCheckFailed)
		if got := reasons(r); len(got) != 1 || got[0] != test.want {
			t.Errorf("%s: failures %v, want %s", name, got, test.want)
		}
	}
}
