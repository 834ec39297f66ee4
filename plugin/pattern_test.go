// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"testing"

	recorder "github.com/adk-contextgraph/contextgraph/plugin"
)

func TestToolPattern(t *testing.T) {
	for _, tt := range []struct {
		pattern recorder.ToolPattern
		yes, no []string
	}{
		{"buy", []string{"buy"}, []string{"", "Buy", "buyer", "rebuy"}},
		{"provision_*", []string{"provision_", "provision_campaign", "provision_a/b"}, []string{"provision", "deprovision_campaign", "Provision_campaign"}},
		{"*", []string{"buy", "files/delete", "a/b/c", "", "日本"}, nil},
		{"files?delete", []string{"files/delete", "files_delete"}, []string{"filesdelete", "files//delete"}},
		{"*/delete", []string{"files/delete", "a/b/delete"}, []string{"delete", "files/deleted"}},
		{"files/*", []string{"files/delete", "files/a/b"}, []string{"files", "files_delete"}},
		{"[a-c]uy", []string{"buy"}, []string{"duy", "uy"}},
		{"[^b]uy", []string{"guy"}, []string{"buy"}},
		{"x[!-/]y", []string{"x-y", "x.y", "x/y"}, []string{"xay", "xy"}},
		{"files[.-0]delete", []string{"files/delete", "files.delete"}, []string{"files_delete"}},
		{`b\*`, []string{"b*"}, []string{"buy", `b\*`}},
	} {
		if err := tt.pattern.Validate(); err != nil {
			t.Errorf("%q: %v", tt.pattern, err)
		}
		for want, names := range map[bool][]string{true: tt.yes, false: tt.no} {
			for _, name := range names {
				if got := tt.pattern.Match(name); got != want {
					t.Errorf("%q matches %q: %v, want %v", tt.pattern, name, got, want)
				}
			}
		}
	}
	for _, p := range []recorder.ToolPattern{"[", "a[b", `a\`, "[]a]", "*["} {
		if p.Validate() == nil {
			t.Errorf("%q is taken for a pattern", p)
		}
		if p.Match("a") {
			t.Errorf("%q matches", p)
		}
		if _, err := recorder.New(recorder.Config{Tools: []string{"buy", string(p)}}); err == nil {
			t.Errorf("a Recorder that guards %q: no error", p)
		}
	}
}
