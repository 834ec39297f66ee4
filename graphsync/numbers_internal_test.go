// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A union has the numbers of both, as few intervals, and changes neither.
func TestNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 2_000 {
		all := make(map[int64]bool)
		some := func() (n *numbers) {
			for range random.IntN(8) {
				first := random.Int64N(40) + 1
				last := first + random.Int64N(4)
				n = union(n, &numbers{first: first, last: last})
				for ; first <= last; first++ {
					all[first] = true
				}
			}
			return n
		}
		a := some()
		b := some()
		if random.IntN(3) == 0 { // they share their lower part
			b = union(a, b)
		}
		wereA, wereB := a.intervals(), b.intervals()
		got := union(a, b).intervals()
		var want []interval
		for n := range int64(60) {
			if all[n] != holds(got, n) {
				t.Fatalf("%v and %v are %v: %d", wereA, wereB, got, n)
			}
			switch {
			case !all[n]:
			case all[n-1]:
				want[len(want)-1].last = n
			default:
				want = append(want, interval{n, n})
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v and %v are %v, want %v", wereA, wereB, got, want)
		}
		if !slices.Equal(wereA, a.intervals()) || !slices.Equal(wereB, b.intervals()) {
			t.Fatalf("the union of %v and %v changed them: %v and %v", wereA, wereB, a.intervals(), b.intervals())
		}
	}
	// A greater number is added in front of what is there.
	a := union(&numbers{first: 1, last: 2}, &numbers{first: 5, last: 6})
	if b := union(a, &numbers{first: 9, last: 9}); b.lower != a {
		t.Errorf("%v is not shared by %v", a.intervals(), b.intervals())
	}
}
