// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package text

// Nearest returns the known word that a misspelt one, s, was meant to be, or "" when none is near
// enough.
func Nearest(s string, known []string) string {
	const longest = 64
	if len(s) > longest {
		return ""
	}
	best, distance := "", 3
	word := []rune(s)
	for _, k := range known {
		if d := editDistance(word, []rune(k)); d < distance && d < max(len(s), len(k))/2+1 {
			best, distance = k, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions, substitutions and swaps of
// neighbours that turn a into b.
func editDistance(a, b []rune) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
