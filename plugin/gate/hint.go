// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// approvalHint is the hint of ADK's own requests for a confirmation.
func approvalHint(name string) string {
	return fmt.Sprintf("Please approve or reject the tool call %s() by responding with a FunctionResponse with an expected ToolConfirmation payload.", name)
}

// Bounds of the arguments in a hint.
const (
	maxHintedArgs  = 5
	maxHintedValue = 60 // bytes
)

// ownHint returns the tool's own text for a request. ADK's default sentence speaks to a
// program: the name of the tool and its arguments take its place, those that rules read first.
func (g *Gate) ownHint(hint, name string, args map[string]any, notChecked []string) string {
	if hint != "" && hint != approvalHint(name) {
		return hint
	}
	data, err := json.Marshal(args)
	if err != nil {
		return name
	}
	redacted, _ := jsonenc.Decode(g.redact(data))
	shown, _ := redacted.(map[string]any)
	if len(shown) == 0 {
		return name
	}
	var said, long []string
	keys := slices.Sorted(maps.Keys(shown))
	slices.SortStableFunc(keys, func(a, b string) int { return rank(notChecked, a) - rank(notChecked, b) })
	for _, key := range keys {
		name := key
		if !entity.IsAttributeName(name) {
			name = inQuotes(name)
		}
		switch v := shown[key].(type) {
		case []any:
			long = append(long, fmt.Sprintf("%s (%d)", name, len(v)))
		default:
			if text, scalar := scalarText(v); scalar {
				said = append(said, name+" "+text)
			} else {
				long = append(long, name)
			}
		}
	}
	said = append(said, long...)
	if more := len(said) - maxHintedArgs; more > 0 {
		said = append(said[:maxHintedArgs], plural(more, "more argument", "more arguments"))
	}
	return name + " with " + strings.Join(said, ", ")
}

// rank puts the arguments that rules read before the others.
func rank(notChecked []string, key string) int {
	if slices.Contains(notChecked, key) {
		return 1
	}
	return 0
}

// scalarText returns a scalar of JSON as text, and a text in quotes; false for anything else.
func scalarText(v any) (said string, ok bool) {
	switch v := v.(type) {
	case string:
		return inQuotes(v), true
	case json.Number:
		return text.Clip(v.String(), maxHintedValue), true
	case bool:
		return fmt.Sprint(v), true
	}
	return "", false
}

func inQuotes(s string) string {
	return `"` + strings.ReplaceAll(text.Clip(s, maxHintedValue), `"`, "'") + `"`
}

// redact returns one value of JSON as a row would have it; nil if doc is anything else.
func (g *Gate) redact(doc []byte) []byte {
	v, ok := jsonenc.Decode(doc)
	if !ok {
		return nil
	}
	return g.rec.Encode(v).JSON
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
