// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package testsize

import (
	"fmt"
	"math/bits"
	"testing"
)

// Combinations returns combinations of the values of several lists, which it gets the lengths of.
// A combination has the index of a value of each list. The thorough size has all of them. The quick
// size has enough of them for any values of so many lists as strength says to meet: with 1 each value
// stands in a combination, with 2 each pair of values of two lists.
func Combinations(t testing.TB, strength int, lengths ...int) [][]int {
	t.Helper()
	all := [][]int{{}}
	for _, n := range lengths {
		var longer [][]int
		for _, c := range all {
			for i := range n {
				longer = append(longer, append(c[:len(c):len(c)], i))
			}
		}
		all = longer
	}
	if Thorough() || strength >= len(lengths) {
		return all
	}
	missing := make(map[string]bool)
	for _, c := range all {
		for _, met := range meetings(strength, c) {
			missing[met] = true
		}
	}
	var chosen [][]int
	for len(missing) > 0 {
		var best []int
		most := 0
		for _, c := range all {
			n := 0
			for _, met := range meetings(strength, c) {
				if missing[met] {
					n++
				}
			}
			if n > most {
				best, most = c, n
			}
		}
		for _, met := range meetings(strength, best) {
			delete(missing, met)
		}
		chosen = append(chosen, best)
	}
	return chosen
}

// meetings names the values that meet in a combination, so many at a time.
func meetings(strength int, c []int) (out []string) {
	for lists := range 1 << len(c) {
		if bits.OnesCount(uint(lists)) != strength {
			continue
		}
		met := ""
		for i, value := range c {
			if lists>>i&1 == 1 {
				met += fmt.Sprint(i, "=", value, " ")
			}
		}
		out = append(out, met)
	}
	return out
}
