// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What others wrote is in the page as they published it.
func TestVendoredFilesAreUnchanged(t *testing.T) {
	const dir = "assets/vendor"
	sums, err := os.Open(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	defer sums.Close()
	want := map[string]string{}
	for lines := bufio.NewScanner(sums); lines.Scan(); {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok {
			t.Fatalf("line %q", lines.Text())
		}
		want[name] = sum
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == "SHA256SUMS" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if got := hex.EncodeToString(sum[:]); got != want[f.Name()] {
			t.Errorf("%s has the sum %s, want %q", f.Name(), got, want[f.Name()])
		}
		delete(want, f.Name())
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}
