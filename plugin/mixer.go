// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
)

// mixer makes hashes that only this process compares with each other. They differ from those of
// another process, so that nobody can make two values for one hash.
type mixer struct {
	seed maphash.Seed
	keys [2]uint64
}

func newMixer() mixer {
	return mixer{maphash.MakeSeed(), [2]uint64{rand.Uint64(), rand.Uint64()}}
}

// text hashes a text.
func (m *mixer) text(s string) uint64 { return maphash.String(m.seed, s) }

// mix hashes two numbers as Go's runtime mixes hashes.
func (m *mixer) mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^m.keys[0], b^m.keys[1])
	return hi ^ lo
}
