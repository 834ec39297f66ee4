// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package entity_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
)

func must(t testing.TB) func(entity.Value, error) entity.Value {
	return func(v entity.Value, err error) entity.Value {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestParseMoney(t *testing.T) {
	tests := []struct {
		in, def   string
		canonical string
		shown     string
	}{
		{"$50,000", "", "money:50000:USD", "$50,000"},
		{"50000", "USD", "money:50000:USD", "$50,000"},
		{"50,000.00 USD", "", "money:50000:USD", "$50,000"},
		{"50,000.00 USD", "EUR", "money:50000:USD", "$50,000"},
		{"USD 50000", "SEK", "money:50000:USD", "$50,000"},
		{"USD50000", "", "money:50000:USD", "$50,000"},
		{"$50000", "CAD", "money:50000:CAD", "50,000 CAD"},
		{"$50000", "EUR", "money:50000:USD", "$50,000"},
		{"$50 CAD", "USD", "money:50:CAD", "50 CAD"},
		{"€40", "USD", "money:40:EUR", "€40"},
		{"40 €", "", "money:40:EUR", "€40"},
		{"£1.5", "", "money:1.5:GBP", "£1.50"},
		{"¥1000", "", "money:1000:JPY", "¥1,000"},
		{"¥1000", "CNY", "money:1000:CNY", "1,000 CNY"},
		{"-$5", "", "money:-5:USD", "-$5"},
		{"$-5", "", "money:-5:USD", "-$5"},
		{"-5", "SEK", "money:-5:SEK", "-5 SEK"},
		{"40000", "SEK", "money:40000:SEK", "40,000 SEK"},
		{"40000", "", "money:40000:", "40,000"},
		{" $ 0.25 ", "", "money:0.25:USD", "$0.25"},
		{"$0.125", "", "money:0.125:USD", "$0.125"},
		{"-$0.00", "", "money:0:USD", "$0"},
		{"US$400", "CAD", "money:400:USD", "$400"},
		{"CA$400", "", "money:400:CAD", "400 CAD"},
		{"400 CA$", "USD", "money:400:CAD", "400 CAD"},
		{"-A$5.50", "USD", "money:-5.5:AUD", "-5.50 AUD"},
		{"HK$ 1,000 HKD", "", "money:1000:HKD", "1,000 HKD"},
		{"1e3", "USD", "money:1000:USD", "$1,000"},
		{"$.50", "", "money:0.5:USD", "$0.50"},
	}
	for _, tt := range tests {
		v, err := entity.ParseMoney(tt.in, tt.def)
		if err != nil {
			t.Errorf("ParseMoney(%q, %q): %v", tt.in, tt.def, err)
			continue
		}
		if v.Kind() != entity.KindMoney || v.Canonical() != tt.canonical || v.String() != tt.shown {
			t.Errorf("ParseMoney(%q, %q) = %s shown %q, want %s shown %q", tt.in, tt.def, v.Canonical(), v, tt.canonical, tt.shown)
		}
	}
}

func TestParseMoneyErrors(t *testing.T) {
	for _, in := range []string{
		"", " ", "$", "USD", "abc", "50K", "$50,00", "50.000,00", "1,2345", "--5", "-$-5", "$$5", "5 $ €", "€5 USD", "US$5 CAD", "XY$5", "a$5", "US$", "AU$$5",
		"50 usd", "1.2.3", "5.", ",500", "1_000", "0x10", "NaN", "Inf", "1e65", "1e-65", "1e", "٥", strings.Repeat("9", 65),
		"1e64000000000000000000", "5 USD USD", "$5\x00", "(5)",
	} {
		if v, err := entity.ParseMoney(in, "USD"); err == nil {
			t.Errorf("ParseMoney(%q) = %s, want an error", in, v.Canonical())
		}
	}
	if _, err := entity.ParseMoney("5", "usd"); err == nil {
		t.Error("a default currency in lower case was accepted")
	}
	if _, err := entity.Money("5", "US"); err == nil {
		t.Error("Money accepted the currency US")
	}
}

func TestOneBudgetHoweverWritten(t *testing.T) {
	written := must(t)(entity.ParseMoney("$50,000", ""))
	number := must(t)(entity.FromAny(float64(50000), entity.KindMoney, "USD"))
	code := must(t)(entity.ParseMoney("50,000.00 USD", ""))
	made := must(t)(entity.Money("50000.0", "USD"))
	want := entity.Entity{Type: "Budget", Value: "$50,000", Norm: written}.CanonicalKey()
	for _, v := range []entity.Value{number, code, made} {
		if !v.Equal(written) || v != written {
			t.Errorf("%s is not equal to %s", v.Canonical(), written.Canonical())
		}
		if got := (entity.Entity{Type: "Budget", Value: v.String(), Norm: v}).CanonicalKey(); got != want {
			t.Errorf("key %s, want %s", got, want)
		}
	}
	if euro := must(t)(entity.Money("50000", "EUR")); euro.Equal(written) {
		t.Error("50000 EUR equals 50000 USD")
	}
}

func TestParseNumber(t *testing.T) {
	tests := []struct{ in, want string }{
		{"0", "0"}, {"-0", "0"}, {"0.000", "0"}, {"52000", "52000"}, {"1,234.5", "1234.5"}, {"1e3", "1000"}, {"1E+3", "1000"},
		{"-0.940", "-0.94"}, {"+7", "7"}, {"007", "7"}, {"12.5e-1", "1.25"}, {"1e-3", "0.001"}, {"1,000,000", "1000000"},
		{strings.Repeat("9", 64), strings.Repeat("9", 64)}, {"1e64", "1" + strings.Repeat("0", 64)},
		{"0." + strings.Repeat("0", 63) + "1", "0." + strings.Repeat("0", 63) + "1"},
	}
	for _, tt := range tests {
		v, err := entity.ParseNumber(tt.in)
		if err != nil || v.String() != tt.want || v.Canonical() != "number:"+tt.want {
			t.Errorf("ParseNumber(%q) = %s, %v, want %s", tt.in, v, err, tt.want)
		}
	}
	for _, in := range []string{"", "-", ".", "1.", "1 000", "1,00", "1,,000", "e3", "1e1.5", "1e65", "99e64", "0.1e-64", "5e64000", "1e-70", "$5", "12a", strings.Repeat("0", 300)} {
		if v, err := entity.ParseNumber(in); err == nil {
			t.Errorf("ParseNumber(%q) = %s, want an error", in, v)
		}
	}
}

func TestNumber(t *testing.T) {
	if v := must(t)(entity.Number(0.1)); v.String() != "0.1" {
		t.Errorf("Number(0.1) = %s", v)
	}
	if v := must(t)(entity.Number(int64(math.MinInt64))); v.String() != "-9223372036854775808" {
		t.Errorf("Number(MinInt64) = %s", v)
	}
	if a, b := must(t)(entity.Number(12)), must(t)(entity.Number(12.0)); !a.Equal(b) {
		t.Error("12 and 12.0 differ")
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, 1e-300} {
		if _, err := entity.Number(x); err == nil {
			t.Errorf("Number(%v) has no error", x)
		}
	}
}

func TestFromAny(t *testing.T) {
	tests := []struct {
		in   any
		kind entity.Kind
		want string // empty: an error
	}{
		{"Reels", entity.KindText, "text:Reels"},
		{float64(12), entity.KindText, "text:12"},
		{json.Number("1.50"), entity.KindText, "text:1.5"},
		{true, entity.KindText, ""},
		{nil, entity.KindText, ""},
		{map[string]any{}, entity.KindText, ""},
		{float64(0.94), entity.KindNumber, "number:0.94"},
		{"1,200", entity.KindNumber, "number:1200"},
		{int8(3), entity.KindNumber, "number:3"},
		{uint64(math.MaxUint64), entity.KindNumber, "number:18446744073709551615"},
		{math.NaN(), entity.KindNumber, ""},
		{json.Number("x"), entity.KindNumber, ""},
		{"twelve", entity.KindNumber, ""},
		{true, entity.KindNumber, ""},
		{[]any{1.0}, entity.KindNumber, ""},
		{json.Number("50000"), entity.KindMoney, "money:50000:USD"},
		{"€5", entity.KindMoney, "money:5:EUR"},
		{false, entity.KindMoney, ""},
		{true, entity.KindBool, "boolean:true"},
		{"true", entity.KindBool, ""},
		{float64(1), entity.KindBool, ""},
		{nil, entity.KindBool, ""},
		{"2026-03-05T15:00:00.1234567+01:00", entity.KindTime, "time:2026-03-05T14:00:00.123456Z"},
		{"2026-03-05T15:00:00", entity.KindTime, ""},
		{"2026-03-05", entity.KindTime, ""},
		{float64(1), entity.KindTime, ""},
		{"x", entity.KindNone, ""},
	}
	for _, tt := range tests {
		v, err := entity.FromAny(tt.in, tt.kind, "USD")
		if (err != nil) != (tt.want == "") || v.Canonical() != tt.want {
			t.Errorf("FromAny(%v, %s) = %q, %v, want %q", tt.in, tt.kind, v.Canonical(), err, tt.want)
		}
	}
}

func TestValueAccessors(t *testing.T) {
	at := time.Date(2026, 3, 5, 15, 0, 0, 1234567, time.FixedZone("", 3600))
	v := entity.Time(at)
	if got, ok := v.AsTime(); !ok || !got.Equal(at.Truncate(time.Microsecond)) || got.Location() != time.UTC {
		t.Errorf("AsTime = %v, %v", got, ok)
	}
	if _, ok := v.AsText(); ok {
		t.Error("a time has a text")
	}
	if b, ok := entity.Bool(true).AsBool(); !b || !ok {
		t.Error("AsBool of true")
	}
	if _, ok := (entity.Value{}).AsBool(); ok {
		t.Error("none is a boolean")
	}
	if _, ok := entity.Bool(true).Rat(); ok {
		t.Error("a boolean has a number")
	}
	m := must(t)(entity.Money("0.1", "USD"))
	r, _ := m.Rat()
	r.SetInt64(9)
	if again, _ := m.Rat(); again.RatString() != "1/10" {
		t.Errorf("the amount changed through Rat: %s", again.RatString())
	}
	if !entity.Time(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		t.Error("the year 10000 has a value")
	}
	if got := entity.Text("a\xffb").String(); got != "a\uFFFDb" {
		t.Errorf("Text with bad UTF-8 = %q", got)
	}
	for _, k := range []entity.Kind{entity.KindText, entity.KindNumber, entity.KindMoney, entity.KindBool, entity.KindTime} {
		if got, err := entity.ParseKind(k.String()); err != nil || got != k {
			t.Errorf("ParseKind(%s) = %v, %v", k, got, err)
		}
	}
	if _, err := entity.ParseKind("none"); err == nil {
		t.Error("none is a configurable kind")
	}
}

func TestValueJSON(t *testing.T) {
	tests := []struct {
		v    entity.Value
		json string
	}{
		{entity.Value{}, `null`},
		{entity.Text("a\"b"), `{"kind":"text","value":"a\"b"}`},
		{entity.Text(""), `{"kind":"text","value":""}`},
		{must(t)(entity.Money("50,000", "USD")), `{"kind":"money","value":"50000","currency":"USD"}`},
		{must(t)(entity.ParseNumber("0.940")), `{"kind":"number","value":"0.94"}`},
		{entity.Bool(false), `{"kind":"boolean","value":"false"}`},
		{entity.Time(time.UnixMicro(1).UTC()), `{"kind":"time","value":"1970-01-01T00:00:00.000001Z"}`},
	}
	for _, tt := range tests {
		got, err := json.Marshal(tt.v)
		if err != nil || string(got) != tt.json {
			t.Errorf("Marshal(%s) = %s, %v, want %s", tt.v.Canonical(), got, err, tt.json)
		}
		var back entity.Value
		if err := json.Unmarshal(got, &back); err != nil || !back.Equal(tt.v) {
			t.Errorf("Unmarshal(%s) = %s, %v", got, back.Canonical(), err)
		}
	}
	for _, in := range []string{
		`{}`, `[]`, `"x"`, `{"kind":"none","value":"x"}`, `{"kind":"text"}`, `{"kind":"text","value":5}`, `{"kind":"number","value":"x"}`,
		`{"kind":"number","value":"1,000"}`, `{"kind":"number","value":"1","currency":"USD"}`, `{"kind":"money","value":"1","currency":"usd"}`,
		`{"kind":"boolean","value":"yes"}`, `{"kind":"time","value":"today"}`, `{"kind":"text","value":"x","extra":1}`,
		`{"kind":"time","value":"0000-01-01T00:00:00+10:00"}`,
	} {
		v := entity.Bool(true)
		if err := json.Unmarshal([]byte(in), &v); err == nil || !v.Equal(entity.Bool(true)) {
			t.Errorf("Unmarshal(%s) = %s, %v, want an error and no change", in, v.Canonical(), err)
		}
	}
	type doc struct {
		V entity.Value `json:"v,omitzero"`
	}
	if got, _ := json.Marshal(doc{}); string(got) != `{}` {
		t.Errorf("omitzero: %s", got)
	}
	if diff := cmp.Diff(doc{V: entity.Text("x")}, doc{V: entity.Text("x")}); diff != "" {
		t.Error(diff)
	}
}
