// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

type lock int

func (l lock) fits(key int) bool { return int(l) == key }

// Break names only a field and a method of the file of the gate.
func (l lock) Break(gates []struct{ *Gate }) {
	for _, g := range gates {
		g.open = true
	}
}
