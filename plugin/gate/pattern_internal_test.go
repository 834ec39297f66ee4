// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"slices"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
)

func TestToolNames(t *testing.T) {
	set, err := newToolNames(slices.Values([]string{"provision_*", "sell", `b\*`, "buy"}))
	if err != nil {
		t.Fatal(err)
	}
	for want, names := range map[bool][]string{
		true:  {"buy", "sell", "provision_a/b", "b*"},
		false: {"", "Buy", "buyer", "rebuy", "provision", "provision-a", `b\*`},
	} {
		for _, name := range names {
			if got := set.match(name); got != want {
				t.Errorf("the set has %q: %v, want %v", name, got, want)
			}
		}
	}
	if got, want := set.all(), []pattern{"buy", "sell", `b\*`, "provision_*"}; !slices.Equal(got, want) {
		t.Errorf("all() = %q, want %q", got, want)
	}
	if empty := new(toolNames); set.empty() || !empty.empty() {
		t.Errorf("empty() = %v, and %v for a set of nothing", set.empty(), empty.empty())
	}
	for _, p := range []string{"[", "a[b", `a\`, "[]a]", "*["} {
		if _, err := New(Config{Settings: config.Guard{Tools: config.Tools("buy", p)}}); err == nil {
			t.Errorf("a Gate that guards %q: no error", p)
		}
	}
}
