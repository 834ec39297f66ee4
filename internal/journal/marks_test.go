// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/index"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
)

// marks returns the states of the sessions by their ids, and which of them were touched after a step.
func marks(tb testing.TB, j *journal.Journal, step int64) (states map[string]index.Mark, touched []string, last int64) {
	tb.Helper()
	states = make(map[string]index.Mark)
	last, err := j.Marks(tb.Context(), step, func(m journal.MarkedSession, is bool) {
		states[m.Session.ID] = m.Mark
		if is {
			touched = append(touched, m.Session.ID)
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
	return states, touched, last
}

func TestMarks(t *testing.T) {
	j := openJournal(t, nil)
	appendAll(t, j, aged(named("a"), "r-a", 3, day)...)
	appendAll(t, j, aged(named("b"), "r-b", 2, day)...)
	flush(t, j)
	at := sweepTime.Add(-day).UnixMicro()
	got, touched, last := marks(t, j, 0)
	if d := cmp.Diff(map[string]index.Mark{"a": {LastSeq: 3, LastTime: at, Events: 3}, "b": {LastSeq: 5, LastTime: at, Events: 2}}, got); d != "" {
		t.Errorf("the marks differ (-want +got):\n%s", d)
	}
	if len(touched) > 0 || last != 0 {
		t.Errorf("touched %q, step %d, without an approval", touched, last)
	}
	a := openApproval(1)
	a.Session = named("b")
	err := j.Ledger().Create(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if _, touched, last = marks(t, j, 0); !cmp.Equal(touched, []string{"b"}) || last != 1 {
		t.Errorf("touched %q, step %d, after a request in b", touched, last)
	}
	if _, touched, _ = marks(t, j, last); len(touched) > 0 {
		t.Errorf("touched %q, and the step is known", touched)
	}
	// Who knows more steps than there are knows another file.
	if _, touched, _ = marks(t, j, last+1); !cmp.Equal(touched, []string{"a", "b"}) {
		t.Errorf("touched %q, want all", touched)
	}
	// A loss and a removal leave another mark.
	alter(t, j, `INSERT INTO lost_rows VALUES ('shop', 'ann', 'b', 7)`)
	sweep(t, j, config.Retention{MaxAge: time.Hour})
	if got, _, _ = marks(t, j, 0); got["b"].Lost != 7 || len(got) != 1 {
		t.Errorf("marks %+v, want b alone, which lost 7 rows", got)
	}
}

// TestRetentionTakesOutOfTheIndex holds that an index does not keep what retention removed.
func TestRetentionTakesOutOfTheIndex(t *testing.T) {
	tests := []struct {
		name string
		put  func(path, id string, x index.Index) error
		want []int64 // the sessions that are left, by their last rows; nil for no index
	}{
		{"none", func(string, string, index.Index) error { return nil }, nil},
		{"an index", index.Write, []int64{5}},
		{"that of another journal", func(path, _ string, x index.Index) error { return index.Write(path, "another", x) }, nil},
		{"a damaged one", func(path, _ string, _ index.Index) error {
			return os.WriteFile(path+index.Suffix, []byte("old"), 0o600)
		}, nil},
		{"one beside which another process ended while it wrote one", func(path, id string, x index.Index) error {
			long := time.Now().Add(-time.Hour)
			return errors.Join(index.Write(path, id, x), os.WriteFile(path+index.Suffix+".new", nil, 0o600), os.Chtimes(path+index.Suffix+".new", long, long))
		}, []int64{5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := openJournal(t, nil)
			appendAll(t, j, aged(named("old"), "r-a", 3, 2*day)...)
			appendAll(t, j, aged(named("new"), "r-b", 2, time.Hour)...)
			flush(t, j)
			states, _, step := marks(t, j, 0)
			x := index.Index{Step: step, Entries: []*index.Entry{{Mark: states["new"], Status: "none"}, {Mark: states["old"], Status: "none"}}}
			if err := tt.put(j.Path(), j.ID(), x); err != nil {
				t.Fatal(err)
			}
			sweep(t, j, config.Retention{MaxAge: day})
			left, err := index.Read(j.Path(), j.ID())
			if tt.want == nil && !errors.Is(err, fs.ErrNotExist) || tt.want != nil && err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, e := range left.Entries {
				got = append(got, e.LastSeq)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("the entries differ (-want +got):\n%s", d)
			}
			if _, err := os.Stat(j.Path() + index.Suffix + ".new"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("an unfinished index: %v", err)
			}
		})
	}
}

// TestIndexThatCannotBeRemoved holds that retention says that an index may keep too much.
func TestIndexThatCannotBeRemoved(t *testing.T) {
	j := openJournal(t, nil)
	if err := os.MkdirAll(j.Path()+index.Suffix+"/file", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := j.Sweep(t.Context(), config.Retention{MaxAge: day}, sweepTime); err == nil {
		t.Error("nothing is said")
	}
}
