// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

import "errors"

// FileURL is under test with paths of other systems.
var FileURL = fileURL

// ClaimName is where a file system without hard links has the claim to a name.
var ClaimName = claimName

// CloseGrace is how long Close waits for a store that does not answer.
const CloseGrace = closeGrace

// WithoutLinks makes d work as on a file system without hard links.
func (d *Dir) WithoutLinks() {
	d.link = func(string, string) error { return errors.ErrUnsupported }
}
