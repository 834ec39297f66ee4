// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
)

// A guarded tool does not run with keys that it may take for one.
func TestKeysThatFoldAlike(t *testing.T) {
	for name, tt := range map[string]struct {
		args    m
		refused string
	}{
		"distinct":        {m{"stock": 1, "stocks": m{"a": 1, "b": []any{m{"c": 1}}}}, ""},
		"case":            {m{"stock": 1, "Stock": 2}, `"Stock" and "stock"`},
		"kelvin":          {m{"stock": 1, "stoc\u212a": 2}, `"stock" and "stoc\u212a"`},
		"long s":          {m{"size": 1, "\u017fize": 2}, `"size" and "\u017fize"`},
		"inside":          {m{"order": m{"lines": []any{m{"n": 1}, m{"n": 1, "N": 2}}}}, `"N" and "n"`},
		"other languages": {m{"straße": 1, "strasse": 2, "ı": 1, "i": 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			mdl := adktest.Script(adktest.Calls(call("c1", "buy", tt.args)), adktest.Text("done"))
			_, g := newGate(recorder.Config{Sink: &rowtest.Sink{}}, gate.Config{Guard: unusedGuard(), Settings: config.Guard{Tools: config.Tools("buy")}})
			r := newRunner(asks("root", mdl, gives("buy", m{"price": 1})), plugins(g))
			events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			result := fmt.Sprint(adktest.Responses(events, "buy"))
			if got := strings.Contains(result, "which programs may take for one"); got != (tt.refused != "") || !strings.Contains(result, tt.refused) {
				t.Errorf("result %s, want a refusal that names %s", result, tt.refused)
			}
			if len(adktest.Confirmations(events)) != 0 && tt.refused != "" {
				t.Error("somebody was asked")
			}
		})
	}
}
