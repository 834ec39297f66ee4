// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// A rule that does not compile is one error of the configuration, at the value that is wrong.
func TestCheck(t *testing.T) {
	good := config.Extract{Name: "r", Tool: "t", Type: "Product", Value: "$.name"}
	for name, test := range map[string]struct {
		change func(*config.Extract)
		want   []string // how each error begins
	}{
		"good":                {func(*config.Extract) {}, nil},
		"a path":              {func(e *config.Extract) { e.Each = "$[" }, []string{"Config.Extract[0].Each: "}},
		"no value":            {func(e *config.Extract) { e.Value = "" }, []string{"Config.Extract[0].Value: no path is given"}},
		"a rule of an event":  {func(e *config.Extract) { e.Tool, e.Event = "", "USER_MESSAGE_RECEIVED" }, nil},
		"an unknown place":    {func(e *config.Extract) { e.In = "output" }, []string{"Config.Extract[0].In: "}},
		"tool and event":      {func(e *config.Extract) { e.Event = "USER_MESSAGE_RECEIVED" }, []string{"Config.Extract[0].Event: given beside tool"}},
		"a kind without name": {func(e *config.Extract) { e.ValueType = 77 }, []string{"Config.Extract[0].ValueType: "}},
	} {
		e := good
		test.change(&e)
		var got []string
		if err := (&config.Config{Extract: []config.Extract{e}}).Check(graphsync.Check); err != nil {
			got = strings.Split(err.Error(), "\n")[1:]
		}
		for i := range min(len(got), len(test.want)) {
			if strings.HasPrefix(got[i], test.want[i]) {
				got[i] = test.want[i]
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
