// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
)

var update = flag.Bool("update", false, "write the golden file of the current version")

// TestGoldenOfThisVersion keeps a file of the current version in testdata, for the
// tests of later versions. Such a file is never changed once its version is
// released.
func TestGoldenOfThisVersion(t *testing.T) {
	golden := filepath.Join("testdata", "v11.db")
	if *update {
		path := filepath.Join(t.TempDir(), "golden.db")
		openAndClose(t, path, func(j *Journal) {
			for n := int64(1); n <= 3; n++ {
				j.Append(goldenRow(n))
			}
			o := j.Outbox("golden")
			if _, err := o.Acquire(t.Context(), "owner", time.Minute); err != nil {
				t.Fatal(err)
			}
			refused := []DeadLetter{{Seq: 2, Bytes: 100, Reason: "no", Code: "X"}}
			if err := o.Advance(t.Context(), "owner", 2, refused); err != nil {
				t.Fatal(err)
			}
		})
		conn := openConn(t, path, sqlite.OpenReadWrite)
		if err := execAll(conn, "PRAGMA journal_mode = DELETE", "PRAGMA page_size = 512", "VACUUM"); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	version, err := userVersion(openConn(t, golden, sqlite.OpenReadOnly))
	if err != nil || version != len(migrations) {
		t.Errorf("%s has version %d, %v, want %d", golden, version, err, len(migrations))
	}
}
