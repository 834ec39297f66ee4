// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

import (
	"errors"
	"fmt"
)

// FileURL is under test with paths of other systems.
var FileURL = fileURL

// CloseGrace is how long Close waits for a store that does not answer.
const CloseGrace = closeGrace

// WithoutLinks makes d work as on a file system without hard links.
func (d *Dir) WithoutLinks() {
	d.link = func(string, string) error { return errors.ErrUnsupported }
}

// Check returns an error unless every accepted part is accounted for: it is stored,
// lost for a reason, or queued.
func (s Stats) Check() error {
	var lost uint64
	for _, n := range s.Lost {
		lost += n
	}
	if s.Queued < 0 || s.Accepted != s.Stored+lost+uint64(s.Queued) {
		return fmt.Errorf("offload: %d parts accepted, but %d stored + %d lost + %d queued", s.Accepted, s.Stored, lost, s.Queued)
	}
	return nil
}
