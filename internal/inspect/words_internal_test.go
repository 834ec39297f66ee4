// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"
	"testing"
)

// TestWords holds that no text is missed, whatever its case and its script.
func TestWords(t *testing.T) {
	texts := []string{"Question 17 about GRÖSSE and price", "s-00017", "日本語の質問です", "İstanbul ẞ", "\xff\xfe\x00 broken", "ab"}
	w := wordsOf(texts...)
	for _, text := range texts {
		for i := range text {
			for k := i; k <= len(text); k++ {
				for _, search := range []string{text[i:k], strings.ToUpper(text[i:k]), strings.ToLower(text[i:k])} {
					contains := strings.Contains(strings.ToLower(text), strings.ToLower(search))
					if contains && !w.mayContain(wordsOf(search)) {
						t.Fatalf("%q is said not to contain %q", text, search)
					}
				}
			}
		}
	}
	for _, search := range []string{"nothing has this", "question 18", "zebra", "質問 17"} {
		if w.mayContain(wordsOf(search)) {
			t.Errorf("%q may be there", search)
		}
	}
	if strings.Contains(string(w), "Question") || len(w) != len(wordsOf()) {
		t.Error("the words hold a text, or grow with it")
	}
}
