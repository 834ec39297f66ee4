// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
)

var geminiVersion = regexp.MustCompile(`^gemini-(\d+(?:\.\d+)?)`)

// ExtractThinking returns the thinking_config that is sent with each row, as JSON; empty
// for none. Thoughts are billed, and an extraction needs few. A model refuses a setting
// that it does not know, so the setting depends on the model, by
// https://cloud.google.com/vertex-ai/generative-ai/docs/thinking: of Gemini 2.5 the flash
// models can be kept from thinking, pro thinks with at least 128 tokens, and from version
// 3 on a level takes the place of the budget. Of another model nothing is known.
func ExtractThinking(c config.Extraction) string {
	const leastOfPro = 128
	if c.ThinkingBudget > 0 {
		return thinkingBudget(c.ThinkingBudget)
	}
	model := path.Base(c.Model)
	m := geminiVersion.FindStringSubmatch(model)
	if m == nil {
		return ""
	}
	version, err := strconv.ParseFloat(m[1], 64)
	switch {
	case err != nil, version < 2.5:
		return ""
	case version >= 3:
		return `{"thinking_level": "LOW"}`
	case strings.Contains(model, "pro"):
		return thinkingBudget(leastOfPro)
	}
	return thinkingBudget(0)
}

func thinkingBudget(tokens int) string { return fmt.Sprintf(`{"thinking_budget": %d}`, tokens) }
