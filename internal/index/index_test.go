// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/index"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openJournal(t *testing.T, dir string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: filepath.Join(dir, "agent.db")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close(t.Context()) })
	return j
}

func some() index.Index {
	return index.Index{Step: 7, Entries: []index.Entry{
		{
			Mark: journal.Mark{LastSeq: math.MaxInt64, LastTime: 2, Events: 3, Lost: 4}, Until: math.MaxInt64, Session: record.Session{App: "shop", User: "ann", ID: "s-ü\x00"},
			Status: "drift", Words: index.WordsOf("Buy shoes"), Start: math.MinInt64, End: -1, Errors: 5, Turns: 6, Prompt: 7, Completion: 8, Total: 9, Detail: `{"gaps":["x"]}`,
		},
		{Mark: journal.Mark{LastSeq: 1}, Words: index.WordsOf()},
	}}
}

func TestReadWhatWasWritten(t *testing.T) {
	j := openJournal(t, t.TempDir())
	if _, err := index.Read(j); !errors.Is(err, index.ErrNone) {
		t.Errorf("without an index: %v", err)
	}
	for _, want := range []index.Index{{Entries: []index.Entry{}}, some()} {
		if err := index.Write(j, want); err != nil {
			t.Fatal(err)
		}
		got, err := index.Read(j)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%v, the index differs (-written +read):\n%s", err, d)
		}
	}
	left, err := os.ReadDir(filepath.Dir(j.Path()))
	if err != nil || len(left) != 4 { // the journal, its log and its shared memory, and the index
		t.Errorf("files %v, %v", left, err)
	}
}

// TestReadDamage changes each byte of an index and cuts it at each: it is none then.
func TestReadDamage(t *testing.T) {
	j := openJournal(t, t.TempDir())
	if err := index.Write(j, some()); err != nil {
		t.Fatal(err)
	}
	path := index.Path(j.Path())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		broken := append([]byte(nil), whole...)
		broken[i] ^= 0x10
		for _, data := range [][]byte{broken, whole[:i]} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := index.Read(j); !errors.Is(err, index.ErrNone) {
				t.Fatalf("byte %d of %d, %d bytes: %v", i, len(whole), len(data), err)
			}
		}
	}
}

func TestReadIndexOfAnotherJournal(t *testing.T) {
	a, b := openJournal(t, t.TempDir()), openJournal(t, t.TempDir())
	if err := index.Write(a, some()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(index.Path(a.Path()), index.Path(b.Path())); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Read(b); !errors.Is(err, index.ErrNone) {
		t.Errorf("the index of another journal: %v", err)
	}
}

// TestModeOfTheIndex holds that nobody may read an index who may not read the journal.
func TestModeOfTheIndex(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	j := openJournal(t, t.TempDir())
	path := index.Path(j.Path())
	for _, mode := range []os.FileMode{0o600, 0o640} {
		if err := errors.Join(os.Chmod(j.Path(), mode), index.Write(j, some())); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("mode %v, %v, want %v", info.Mode(), err, mode)
		}
	}
	if err := os.Chmod(j.Path(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Read(j); err == nil || !strings.Contains(err.Error(), "gives more than that of the journal") {
		t.Errorf("an index that more may read: %v", err)
	}
	if err := errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path)); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Read(j); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a link: %v", err)
	}
	// What is written replaces it, and follows no link.
	if err := index.Write(j, index.Index{}); err != nil {
		t.Fatal(err)
	}
	if got, err := index.Read(j); err != nil || len(got.Entries) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestWords holds that no text is missed, whatever its case and its script.
func TestWords(t *testing.T) {
	texts := []string{"Question 17 about GRÖSSE and price", "s-00017", "日本語の質問です", "İstanbul ẞ", "\xff\xfe\x00 broken", "ab"}
	w := index.WordsOf(texts...)
	for _, text := range texts {
		for i := range text {
			for k := i; k <= len(text); k++ {
				for _, search := range []string{text[i:k], strings.ToUpper(text[i:k]), strings.ToLower(text[i:k])} {
					contains := strings.Contains(strings.ToLower(text), strings.ToLower(search))
					if contains && !w.MayContain(index.WordsOf(search)) {
						t.Fatalf("%q is said not to contain %q", text, search)
					}
				}
			}
		}
	}
	for _, search := range []string{"nothing has this", "question 18", "zebra", "質問 17"} {
		if w.MayContain(index.WordsOf(search)) {
			t.Errorf("%q may be there", search)
		}
	}
	if strings.Contains(string(w), "Question") || len(w) != len(index.WordsOf()) {
		t.Error("the words hold a text, or grow with it")
	}
}

// FuzzRead reads any file as an index.
func FuzzRead(f *testing.F) {
	f.Add("")
	f.Add(index.Encode(index.Index{}, "id"))
	f.Add(index.Encode(some(), "id"))
	f.Fuzz(func(t *testing.T, data string) {
		// The checksum of what is there makes the fields be read.
		for _, text := range []string{data, index.Sum(data)} {
			x, ok := index.Decode(text, "id")
			if !ok {
				continue
			}
			again, ok := index.Decode(index.Encode(x, "id"), "id")
			if d := cmp.Diff(x, again); d != "" || !ok {
				t.Errorf("%t, the index differs from itself (-first +again):\n%s", ok, d)
			}
		}
	})
}
