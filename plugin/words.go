// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import "strconv"

// addWords takes in what an agent said.
func (h *history) addWords(author string, said any) {
	for _, key := range h.wordKeys(author, said) {
		h.words[key] = true
	}
}

// wordKeys returns the keys under which what an agent said may come back with its name.
func (h *history) wordKeys(author string, said any) []uint64 {
	keys := []uint64{hashOf("value", h.enc.Digest(said).String())}
	if text, ok := said.(string); ok {
		keys = h.forms(text)
	}
	for i, key := range keys {
		keys[i] = hashOf("by", author, strconv.FormatUint(key, 16))
	}
	return keys
}

// joins reports whether the output of a node holds what an agent said under the name of the
// agent, as that of ADK's node does that joins the outputs of others.
func (h *history) joins(output any) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.joined(output)
}

func (h *history) joined(output any) bool {
	members, _ := output.(map[string]any)
	for name, v := range members {
		for _, key := range h.wordKeys(name, v) {
			if h.words[key] {
				return true
			}
		}
		if h.joined(v) {
			return true
		}
	}
	return false
}
