// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import "net/http"

// A Gate has a lock.
type Gate struct {
	open bool
	lock lock
}

// Try opens the gate with the key that fits.
func (g *Gate) Try(key int) int {
	if !g.lock.fits(key) {
		return http.StatusForbidden
	}
	g.open = true
	return http.StatusOK
}
