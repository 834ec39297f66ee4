// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// clearKeys returns an error if an object anywhere in v has two keys that Go's encoding/json
// takes for one: "stock", "Stock", and "stocK" with the sign of Kelvin. The error names both. A
// rule may read the one and the tool the other, so that the check and the effect differ.
func clearKeys(v any) error {
	switch v := v.(type) {
	case map[string]any:
		names := make(map[string]string, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			name := foldKey(k)
			if other, ok := names[name]; ok {
				return fmt.Errorf("its arguments have the keys %+q and %+q, which programs may take for one; send one of them", other, k)
			}
			names[name] = k
			if err := clearKeys(v[k]); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := clearKeys(e); err != nil {
				return err
			}
		}
	case []map[string]any:
		for _, e := range v {
			if err := clearKeys(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// foldKey maps keys to one text that are equal as [strings.EqualFold] has it.
func foldKey(k string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
			least = min(least, c)
		}
		return least
	}, k)
}
