// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
)

// A path may not take a time that grows with the square of an answer.
func TestCostlyPaths(t *testing.T) {
	for path, costly := range map[string]bool{
		"$.price": false, "$.items[*].price": false, "$..price": false, "$..items[?@.name=='x'].price": false,
		"$.items[?@.price>$.limits[0].most]": false, "$.items[?@.a && ($['b..c'] || !@.d)]": false,
		`$.items[?@.name=="a..b$.c[*]"]`: false, "$.items[?count(@.parts[*])>1]": false, "$.items[?@.x==$]": false, "$[?$]": false,
		"$..a..b": true, "$..*..*": true, "$.items[?@..x]": true, "$..[?@..[?@..x]]": true, "$.items[?count(@..x)>1]": true,
		"$.items[?$.items[*]]": true, "$.items[?count($.items[*])>1]": true, "$.items[?count($.items[0:9])>1]": true,
		"$.items[?$..x]": true, "$.items[?@.a[?$.b[?@.c]]]": true,
	} {
		text := fmt.Sprintf("checkers:\n  - type: Product\n    http:\n      url: http://ads.example/{value}\n      as_of: fetch\n      attributes:\n        price: {path: %q}\n", path)
		_, err := config.Parse("contextgraph.yaml", []byte(text), nil)
		if got := err != nil && strings.Contains(err.Error(), "may take hours on a long answer"); got != costly || err != nil && !costly {
			t.Errorf("%s: %v, want that it is refused: %t", path, err, costly)
		}
	}
}
