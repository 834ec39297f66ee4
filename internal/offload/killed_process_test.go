// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/offload"
)

// crashChildEnv makes the test binary store parts in the folder it names until it is
// killed; crashNoLinksEnv makes it do so without hard links.
const (
	crashChildEnv   = "OFFLOAD_CRASH_CHILD"
	crashNoLinksEnv = "OFFLOAD_CRASH_NO_LINKS"
)

const crashPartSize = 3 << 20 // several writes

func crashChild(dir string) {
	d, err := offload.OpenDir(dir, false)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	if os.Getenv(crashNoLinksEnv) != "" {
		d.WithoutLinks()
	}
	for n := 0; ; n++ {
		name := fmt.Sprintf("2026-07-31/%d/%d", os.Getpid(), n)
		if err := d.Create(context.Background(), name, "", bytes.Repeat([]byte{byte(n)}, crashPartSize)); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("stored", name)
	}
}

// TestKill kills a process that stores parts, again and again. Every part it said was
// stored is there, and no part is there in half.
func TestKill(t *testing.T) {
	for _, noLinks := range []string{"", "1"} {
		t.Run("noLinks="+noLinks, func(t *testing.T) {
			dir := t.TempDir()
			stored := make(map[string]bool)
			rounds := testsize.Rounds(t, 3, 40)
			for range rounds {
				crash(t, dir, noLinks, stored)
			}
			openDir(t, dir, false)
			leftovers := 0
			for name, data := range files(t, dir) {
				if path.Dir(name) == ".contextgraph" {
					leftovers++
					continue
				}
				if len(data) != crashPartSize || strings.Trim(data, data[:1]) != "" {
					t.Errorf("%s is there in half", name)
				}
				delete(stored, name)
			}
			if len(stored) > 0 {
				t.Errorf("stored, but not there: %v", stored)
			}
			t.Logf("%d leftovers of %d kills", leftovers, rounds)
		})
	}
}

// crash runs one child and kills it somewhere in the middle of a part.
func crash(t *testing.T, dir, noLinks string, stored map[string]bool) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), crashChildEnv+"="+dir, crashNoLinksEnv+"="+noLinks)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	note := func() {
		word, name, _ := strings.Cut(lines.Text(), " ")
		if word != "stored" {
			t.Errorf("child: %s", lines.Text())
			return
		}
		stored[filepath.ToSlash(name)] = true
	}
	for range 1 + rand.IntN(3) {
		if lines.Scan() {
			note()
		}
	}
	// The child goes on for as long as this takes.
	io.CopyN(io.Discard, rand.NewChaCha8([32]byte{}), int64(rand.IntN(8<<20)))
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	for lines.Scan() {
		note()
	}
	cmd.Wait() // its error is that it was killed
}
