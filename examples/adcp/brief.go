// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// brief is what a buyer wants: the message that opens a session.
type brief struct {
	Advertiser string `json:"advertiser"`
	Account    string `json:"account"`
	Category   string `json:"category"`
	Budget     string `json:"budget"`             // as people write it: "$200,000"
	Audience   string `json:"audience,omitempty"` // empty: the campaign targets no audience
	Draft      bool   `json:"draft,omitempty"`    // also draft the campaign before asking for approval
}

// briefMark opens the line of a message that carries a brief.
const briefMark = "Campaign brief: "

// text is the brief as the message the root agent gets.
func (b brief) text() (string, error) {
	data, err := json.Marshal(b)
	if err != nil {
		return "", fmt.Errorf("brief of %s: %w", b.Advertiser, err)
	}
	return fmt.Sprintf("Plan a campaign of %s for %s, and provision it once it is approved.\n%s%s", b.Budget, b.Advertiser, briefMark, data), nil
}

// findBrief reads the brief out of a message, if there is one.
func findBrief(message string) (brief, bool) {
	for line := range strings.Lines(message) {
		data, ok := strings.CutPrefix(line, briefMark)
		if !ok {
			continue
		}
		var b brief
		if err := json.Unmarshal([]byte(data), &b); err == nil && b.Account != "" {
			return b, true
		}
	}
	return brief{}, false
}
