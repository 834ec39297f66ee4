// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package journal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
)

// faultChild runs the role that the environment names on the journal at path and
// prints what came of it.
func faultChild(path string) {
	switch role := os.Getenv(faultChildEnv + "_ROLE"); role {
	case "limit":
		limitedChild(path)
	case "open":
		openChild(path)
	case "visit":
		visitChild(path)
	case "lock":
		lockChild(path)
	default:
		fmt.Println("unknown role", role)
	}
}

// limitedChild records while its files may not grow, then without that limit. It is
// the closest to a full disk that needs no disk of its own: write(2) fails.
func limitedChild(path string) {
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: path}, QueueRows: 300, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		fmt.Println(err)
		return
	}
	limit := before
	limit.Cur = 256 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println(err)
		return
	}
	refused := 0
	for n := range int64(500) {
		if !j.Append(sized(n+1, "X", 2000)) {
			refused++
		}
		if n == 200 {
			fmt.Println("limited:", j.Flush(ctx))
		}
	}
	fmt.Println("refused:", refused)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("free:", j.Flush(ctx))
	s := j.Stats()
	fmt.Println("balance:", s.Unaccounted(), s.Stored+s.Lost[store.LostDroppedOldest], s.Lost[store.LostDroppedOldest] > 0, s.LastError)
	fmt.Println("close:", j.Close(ctx))
}

func TestFileMayNotGrow(t *testing.T) {
	path := journaltest.Path(t)
	out, err := testBinary(t, faultChildEnv+"="+path, faultChildEnv+"_ROLE=limit").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := string(out)
	for _, want := range []string{
		"limited: journal: flush: store rows: ", "the disk does not read or write: check its space",
		"refused: 0\n", "free: <nil>\n", "balance: 0 500 true <nil>\n", "close: <nil>\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the child does not say %q:\n%s", want, text)
		}
	}
	conn := connect(t, path)
	if bad := selectInt(t, conn, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"); bad != 0 {
		t.Error("the file is damaged")
	}
}

// nobody is the user that a child of the superuser becomes.
const nobody = 65534

// openChild opens a journal without the rights of the superuser.
func openChild(path string) {
	if os.Getuid() == 0 {
		if err := syscall.Setgid(nobody); err != nil {
			fmt.Println(err)
			return
		}
		if err := syscall.Setuid(nobody); err != nil {
			fmt.Println(err)
			return
		}
	}
	j, err := journal.Open(context.Background(), journal.Config{Journal: config.Journal{Path: path}})
	if err == nil {
		err = j.Close(context.Background())
	}
	fmt.Println(err)
}

// openFolder returns a new folder that everybody can get to: the superuser's child
// becomes nobody.
func openFolder(t *testing.T) string {
	t.Helper()
	for _, base := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		reachable := true
		for dir := base; reachable && dir != "/"; dir = filepath.Dir(dir) {
			info, err := os.Stat(dir)
			reachable = err == nil && info.Mode()&0o001 != 0
		}
		if !reachable {
			continue
		}
		folder, err := os.MkdirTemp(base, "journal")
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.RemoveAll(folder) })
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	t.Fatal("no temporary folder that every user can get to: set TMPDIR to one")
	return ""
}

func TestOpenWithoutPermission(t *testing.T) {
	tests := []struct {
		name            string
		file, directory os.FileMode // 0: there is no file
		want            string
	}{
		{"file", 0o444, 0o755, "cannot be written: open "},
		{"directory of a new file", 0, 0o555, "name another file with journal.path or CONTEXTGRAPH_JOURNAL_PATH, or change its permissions"},
		{"directory of an old file", 0o644, 0o555, "the file or its folder is read-only: change its permissions"},
		{"none", 0o644, 0o755, "<nil>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := openFolder(t)
			directory := filepath.Join(top, "d")
			path := filepath.Join(directory, "j.db")
			closeJournal(t, reopen(t, journal.Config{Journal: config.Journal{Path: path}}))
			if tt.file == 0 {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			} else if err := os.Chmod(path, tt.file); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(directory, tt.directory); err != nil {
				t.Fatal(err)
			}
			if os.Getuid() == 0 {
				for _, name := range []string{path, directory} {
					if err := os.Chown(name, nobody, nobody); err != nil && !os.IsNotExist(err) {
						t.Fatal(err)
					}
				}
			}
			t.Cleanup(func() { os.Chmod(directory, 0o755) })
			out, err := testBinary(t, faultChildEnv+"="+path, faultChildEnv+"_ROLE=open").CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !strings.Contains(string(out), tt.want) {
				t.Errorf("%q does not say %q", out, tt.want)
			}
		})
	}
}

// visitChild opens a journal, looks at it and closes it.
func visitChild(path string) {
	ctx := context.Background()
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: path}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := j.Count(ctx)
	fmt.Println(n, "rows", err, j.Close(ctx))
}

// visit does that in a process of its own and returns what it says.
func visit(t *testing.T, path string) string {
	t.Helper()
	out, err := testBinary(t, faultChildEnv+"="+path, faultChildEnv+"_ROLE=visit").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// lockChild tells whether SQLite's locks leave the file at path to this process alone,
// as an older SQLite asks before it deletes the log of a file that it closes.
func lockChild(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	const firstShared, sharedSize = 1<<30 + 2, 510
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Start: firstShared, Len: sharedSize})
	fmt.Println(err)
}

// TestSecondJournalOfAProcess opens a file twice in one process. POSIX takes all locks
// of a file from a process that closes any descriptor of it, so the second journal
// must not do that to the first.
func TestSecondJournalOfAProcess(t *testing.T) {
	path := journaltest.Path(t)
	first := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	check := func(when string) {
		t.Helper()
		out, err := testBinary(t, faultChildEnv+"="+path, faultChildEnv+"_ROLE=lock").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := strings.TrimSpace(string(out)); got != syscall.EAGAIN.Error() && got != syscall.EACCES.Error() {
			t.Errorf("%s: another process asks for the file alone: %s", when, got)
		}
	}
	check("one journal")
	second := reopen(t, journal.Config{Journal: config.Journal{Path: path}})
	check("two journals")
	closeJournal(t, second)
	check("one journal again")
	appendAll(t, first, event(testSession, "r", 1, "X"))
	flush(t, first)
	if got := visit(t, path); got != "1 rows <nil> <nil>" {
		t.Errorf("the visitor says %q, want 1 row", got)
	}
}

// TestFileLosesItsName: nothing is acknowledged that would be gone with the process.
func TestFileLosesItsName(t *testing.T) {
	const want = "was deleted, moved or replaced while it was open"
	for name, lose := range map[string]func(t *testing.T, path string) error{
		"database deleted": func(_ *testing.T, path string) error { return os.Remove(path) },
		"log deleted":      func(_ *testing.T, path string) error { return os.Remove(path + "-wal") },
		"moved":            func(_ *testing.T, path string) error { return os.Rename(path, path+".old") },
		"replaced": func(t *testing.T, path string) error {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				if err := os.Rename(path+suffix, path+".old"+suffix); err != nil {
					return err
				}
			}
			// Another process begins anew, and is still there when the first one closes.
			j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}, Logger: slog.New(slog.DiscardHandler)})
			if err == nil {
				appendAll(t, j, event(testSession, "new", 1, "X"))
				err = j.Flush(t.Context())
				t.Cleanup(func() { closeJournal(t, j) })
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := journaltest.Path(t)
			j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			appendAll(t, j, event(testSession, "r", 1, "X"))
			flush(t, j)
			if err := lose(t, path); err != nil {
				t.Fatal(err)
			}
			if err := j.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Flush of nothing: %v, want %q", err, want)
			}
			appendAll(t, j, event(testSession, "r", 2, "X"))
			for what, err := range map[string]error{
				"Flush": j.Flush(t.Context()), "Create": j.Ledger().Create(t.Context(), storetest.Pending(1)),
			} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", what, err, want)
				}
			}
			j.SetCloseGrace(patience)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := j.Close(ctx); !errors.Is(err, journal.ErrUnwritten) {
				t.Errorf("Close() = %v, want ErrUnwritten", err)
			}
			if s := j.Stats(); s.Stored != 1 || s.Lost[store.LostUnwritten] != 1 {
				t.Errorf("stats %+v: want one row stored, one lost", s)
			}
			balance(t, j)
			if name == "replaced" {
				if got := visit(t, path); got != "1 rows <nil> <nil>" {
					t.Errorf("in the new file, the visitor says %q", got)
				}
			}
		})
	}
}
