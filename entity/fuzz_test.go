// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package entity_test

import (
	"encoding/json"
	"testing"

	"github.com/adk-contextgraph/contextgraph/entity"
)

func FuzzParseMoney(f *testing.F) {
	for _, s := range []string{"$50,000", "50000", "50,000.00 USD", "USD 50000", "€40", "-$5", "1e3", "$ -.5 CAD"} {
		f.Add(s, "USD")
		f.Add(s, "")
	}
	f.Fuzz(func(t *testing.T, s, def string) {
		v, err := entity.ParseMoney(s, def)
		if err != nil {
			if !v.IsZero() {
				t.Fatalf("%q: a value beside the error %v", s, err)
			}
			return
		}
		if _, ok := v.Rat(); !ok {
			t.Fatalf("%q has no number", s)
		}
		shown, err := entity.ParseMoney(v.String(), "")
		if err != nil || !shown.Equal(v) {
			t.Fatalf("%q is shown as %q, which reads as %s, %v", s, v, shown.Canonical(), err)
		}
	})
}

func FuzzParseNumber(f *testing.F) {
	for _, s := range []string{"0", "-0.50", "1,234.5", "1e3", "9e-64", "00.00e5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := entity.ParseNumber(s)
		if err != nil {
			return
		}
		again, err := entity.ParseNumber(v.String())
		if err != nil || again != v {
			t.Fatalf("%q: normal form %q reads as %q, %v", s, v, again, err)
		}
		if len(v.String()) > 200 {
			t.Fatalf("%q: a normal form of %d bytes", s, len(v.String()))
		}
		r, ok := v.Rat()
		if x, _ := v.Rat(); !ok || x.Cmp(r) != 0 {
			t.Fatalf("%q: Rat differs", s)
		}
	})
}

func FuzzValueJSON(f *testing.F) {
	for _, s := range []string{
		`null`, `{"kind":"money","value":"50000","currency":"USD"}`, `{"kind":"text","value":"x"}`, `{"kind":"boolean","value":"true"}`,
		`{"kind":"time","value":"2026-03-05T14:00:00.5Z"}`, `{"kind":"number","value":"-1e3"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v entity.Value
		if err := json.Unmarshal(data, &v); err != nil {
			return
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("%s cannot be written: %v", data, err)
		}
		var back entity.Value
		if err := json.Unmarshal(out, &back); err != nil || back != v {
			t.Fatalf("%s became %s and then %s, %v", data, out, back.Canonical(), err)
		}
	})
}

func FuzzParseBizNodeID(f *testing.F) {
	for _, s := range []string{"s:t:v", ":t:v", "a%3Ab:t%25:v", "a:b", "%:t:v", "a:b:c:d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		span, typ, value, err := entity.ParseBizNodeID(s)
		if err != nil {
			return
		}
		if got := (entity.Entity{SpanID: span, Type: typ, Value: value}).BizNodeID(); got != s {
			t.Fatalf("%q was split and joined to %q", s, got)
		}
	})
}
