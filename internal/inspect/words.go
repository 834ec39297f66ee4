// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import "strings"

// words tells which texts a session cannot contain, and cannot be read as a text: a bit stands for
// many sequences of three bytes.
type words []byte

// wordBytes is the length of words. The title and the names of a session have some 200 sequences, which
// set a fifth of the bits: a search of six letters passes one session in 500 in vain, one of ten less
// than one in 100,000.
const wordBytes = 128

// wordsOf returns the words of a session with these texts, in any case of their letters.
func wordsOf(texts ...string) words {
	w := make(words, wordBytes)
	for _, text := range texts {
		text = strings.ToLower(text)
		for i := 0; i+3 <= len(text); i++ {
			// The multiplier of Knuth, section 6.4: the upper bits depend on all three bytes.
			h := (uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16) * 2654435761 >> 22
			w[h/8] |= 1 << (h % 8)
		}
	}
	return w
}

// mayContain reports whether the texts of a session may contain the text that search is made of. If it
// says no, they do not.
func (w words) mayContain(search words) bool {
	for i := range min(len(w), len(search)) {
		if search[i]&^w[i] != 0 {
			return false
		}
	}
	return true
}
