// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/internal/index"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const id = "0123456789abcdef0123456789abcdef"

// newJournal makes a file in the place of a journal.
func newJournal(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func some() index.Index {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	return index.Index{Step: 7, Entries: []*index.Entry{
		{
			Mark: index.Mark{LastSeq: math.MaxInt64, LastTime: 2, Events: 3, Lost: 4}, Until: math.MaxInt64, Status: "drift", Words: index.WordsOf("Buy shoes"),
			Start: at.UnixMicro(), End: -1, Errors: math.MinInt64, Turns: 6, Prompt: 7, Completion: 8, Total: 9,
			Requests: []index.Request{{Status: "pending", At: at, WaitedMS: 5, Waits: true}, {}}, Verdicts: []string{"safe", "drift"}, Gaps: []string{"x"},
		},
		{Mark: index.Mark{LastSeq: 1}, Words: index.WordsOf()},
	}}
}

func TestReadWhatWasWritten(t *testing.T) {
	path := newJournal(t)
	if _, err := index.Read(path, id); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without an index: %v", err)
	}
	for _, want := range []index.Index{{Entries: []*index.Entry{}}, some()} {
		if err := index.Write(path, id, want); err != nil {
			t.Fatal(err)
		}
		got, err := index.Read(path, id)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%v, the index differs (-written +read):\n%s", err, d)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 2 {
		t.Errorf("files %v, %v", left, err)
	}
}

// TestLinkToAJournal holds that a journal has one index, whatever name it is opened by.
func TestLinkToAJournal(t *testing.T) {
	path, link := newJournal(t), filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip(err) // links need a right there
		}
		t.Fatal(err)
	}
	if err := index.Write(link, id, some()); err != nil {
		t.Fatal(err)
	}
	if x, err := index.Read(path, id); err != nil || len(x.Entries) != 2 {
		t.Errorf("%d entries, %v", len(x.Entries), err)
	}
	if err := index.Remove(link); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Read(link, id); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after it was removed: %v", err)
	}
}

// TestReadDamage changes each byte of an index and cuts it at each: it is none then.
func TestReadDamage(t *testing.T) {
	path := newJournal(t)
	if err := index.Write(path, id, some()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path + index.Suffix)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		broken := append([]byte(nil), whole...)
		broken[i] ^= 0x10
		for _, data := range [][]byte{broken, whole[:i]} {
			if err := os.WriteFile(path+index.Suffix, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := index.Read(path, id); !errors.Is(err, index.ErrUnusable) {
				t.Fatalf("byte %d of %d, %d bytes: %v", i, len(whole), len(data), err)
			}
		}
	}
}

// TestReadOther reads an index of another journal and one of another version.
func TestReadOther(t *testing.T) {
	path := newJournal(t)
	if err := index.Write(path, id, some()); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Read(path, strings.Repeat("0", len(id))); !errors.Is(err, index.ErrUnusable) {
		t.Errorf("the index of another journal: %v", err)
	}
	data := index.Sum(strings.Replace(index.Encode(some(), id), "index 1\n", "index 2\n", 1))
	if err := os.WriteFile(path+index.Suffix, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Read(path, id); !errors.Is(err, index.ErrUnusable) {
		t.Errorf("an index of another version: %v", err)
	}
}

// TestShortestEntry holds that an index of the shortest entries is read.
func TestShortestEntry(t *testing.T) {
	text := index.Encode(index.Index{Entries: []*index.Entry{{}}}, id)
	if got := len(text) - len(index.Encode(index.Index{}, id)); got < index.Least {
		t.Errorf("an entry of %d bytes, and %d is taken for the least", got, index.Least)
	}
	if _, ok := index.Decode(text, id); !ok {
		t.Error("it is not read")
	}
}

// TestWriteAtOnce holds that of two processes that write one leaves it to the other, and that an index
// that a process did not finish before it ended is removed.
func TestWriteAtOnce(t *testing.T) {
	path := newJournal(t)
	other := path + index.Suffix + ".new"
	if err := os.WriteFile(other, []byte("so far"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := index.Write(path, id, some()); !errors.Is(err, index.ErrBusy) {
		t.Errorf("while another process writes: %v", err)
	}
	if data, err := os.ReadFile(other); err != nil || string(data) != "so far" {
		t.Errorf("what the other process wrote is %q, %v", data, err)
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(other, long, long); err != nil {
		t.Fatal(err)
	}
	if err := index.Write(path, id, some()); err != nil {
		t.Errorf("after it ended: %v", err)
	}
	if _, err := os.Stat(other); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the unfinished index: %v", err)
	}
}

// TestWriteFails holds that nothing is left of an index that cannot be written.
func TestWriteFails(t *testing.T) {
	path := newJournal(t)
	if err := os.Mkdir(path+index.Suffix, 0o700); err != nil { // nothing takes the place of a folder
		t.Fatal(err)
	}
	if err := index.Write(path, id, some()); err == nil || errors.Is(err, index.ErrBusy) {
		t.Errorf("in the place of a folder: %v", err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 2 {
		t.Errorf("files %v, %v", left, err)
	}
}

// TestModeOfTheIndex holds that nobody may read an index who may not read the journal.
func TestModeOfTheIndex(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	path := newJournal(t)
	name := path + index.Suffix
	for _, mode := range []os.FileMode{0o600, 0o640} {
		if err := errors.Join(os.Chmod(path, mode), index.Write(path, id, some())); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("mode %v, %v, want %v", info.Mode(), err, mode)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Read(path, id); err == nil || !strings.Contains(err.Error(), "gives more than the journal") {
		t.Errorf("an index that more may read: %v", err)
	}
	if err := errors.Join(os.Rename(name, name+"2"), os.Symlink(name+"2", name)); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Read(path, id); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a link: %v", err)
	}
	// What is written replaces it, and follows no link.
	if err := index.Write(path, id, index.Index{}); err != nil {
		t.Fatal(err)
	}
	if got, err := index.Read(path, id); err != nil || len(got.Entries) != 0 {
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
			first := index.Encode(x, "id")
			again, ok := index.Decode(first, "id")
			if second := index.Encode(again, "id"); second != first || !ok {
				t.Errorf("%t, the index differs from itself:\n%q\n%q", ok, first, second)
			}
		}
	})
}
