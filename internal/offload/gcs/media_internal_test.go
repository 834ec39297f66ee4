// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func TestMedia(t *testing.T) {
	for _, data := range []string{"", "d", "the data of a part"} {
		if err := iotest.TestReader(newMedia([]byte(data)), []byte(data)); err != nil {
			t.Errorf("%q: %v", data, err)
		}
	}
}

// TestMediaReleased: what reads on after the release gets neither the data nor a
// regular end.
func TestMediaReleased(t *testing.T) {
	for _, read := range []int{0, 3, 4} {
		m := newMedia([]byte("data"))
		if _, err := io.ReadFull(m, make([]byte, read)); err != nil {
			t.Fatal(err)
		}
		m.release()
		if rest, err := io.ReadAll(m); len(rest) != 0 || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("after %d bytes: %q, %v", read, rest, err)
		}
	}
}
