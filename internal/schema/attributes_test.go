// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

func TestAttributesRead(t *testing.T) {
	adk := func(members string) (a schema.ADK) {
		if err := json.Unmarshal([]byte(members), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, test := range []struct {
		name, text string
		want       schema.Attributes
		err        string
	}{
		{"nothing", ``, schema.Attributes{}, ""},
		{"null", `null`, schema.Attributes{}, ""},
		{"a text", `"x"`, schema.Attributes{}, "cannot unmarshal string"},
		{"no JSON", `{"model":`, schema.Attributes{}, "unexpected end of JSON input"},
		{"others are left", `{"model":"m","other":{"adk":1}}`, schema.Attributes{Model: "m"}, ""},
		{
			"a member of another type", `{"model":{},"response_text":"said","adk":{"drift":"yes","branch":"a.b","confirmed":[1]}}`,
			schema.Attributes{ResponseText: "said", ADK: adk(`{"branch":"a.b"}`)}, "cannot unmarshal object into Go struct field Attributes.model",
		},
		{
			"tokens", `{"usage_metadata":{"prompt_token_count":7.4,"candidates_token_count":"9","total_token_count":1e3}}`,
			schema.Attributes{Usage: schema.Usage{Prompt: 7, Total: 1000}}, "",
		},
		{
			"calls", `{"function_calls":[{"id":"c","name":"buy","args":{"n": 1}}]}`,
			schema.Attributes{FunctionCalls: []schema.FunctionCall{{ID: "c", Name: "buy", Args: json.RawMessage(`{"n": 1}`)}}}, "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got schema.Attributes
			err := got.Read([]byte(test.text))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want one with %q", err, test.err)
			}
		})
	}
}

func TestCallID(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "", `{"call_id":"a"}`: "a", `{"function_call_id":"b"}`: "b", `{"call_id":"a","function_call_id":"b"}`: "a",
		`{"call_id":"","function_call_id":"b"}`: "b", `{"call_id":7}`: "7", `{"call_id":{},"function_call_id":null}`: "",
	} {
		var ids schema.CallIDs
		if err := json.Unmarshal([]byte(text), &ids); err != nil || ids.CallID() != want {
			t.Errorf("%s: %q, %v, want %q", text, ids.CallID(), err, want)
		}
	}
}

func TestScalar(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`null`, `"" false`}, {`[true]`, `"" false`}, {`{"a":1}`, `"" false`},
		{`""`, `"" true`}, {`"a\nb"`, `"a\nb" true`}, {"\"a\xffb\"", `"a�b" true`},
		{`true`, `"true" true, true`}, {`"FALSE"`, `"FALSE" true, false`}, {`"yes"`, `"yes" true`},
		{`1.50`, `"1.50" true, 1.5`}, {`"7"`, `"7" true, 7`}, {`"NaN"`, `"NaN" true`}, {`1e400`, `"1e400" true`},
	} {
		var s schema.Scalar
		if err := json.Unmarshal([]byte(test.text), &s); err != nil {
			t.Errorf("%s: %v", test.text, err)
		}
		got := fmt.Sprintf("%q %v", s.Text, s.Valid)
		if b := s.Bool(); b != nil {
			got += fmt.Sprintf(", %v", *b)
		}
		if f := s.Float(); f != nil {
			got += fmt.Sprintf(", %v", *f)
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.text, got, test.want)
		}
	}
	if got := schema.First(schema.Scalar{}, schema.Scalar{Valid: true}, schema.Scalar{Text: "x", Valid: true}); got != "" {
		t.Errorf("First = %q, want the empty text, which is valid", got)
	}
}

func TestReadRequest(t *testing.T) {
	for content, want := range map[string]string{
		``: "", `"text"`: "", `{"tool":"ask_user"}`: "ask_user", `{"tool":{},"args":{"originalFunctionCall":{"name":"buy"}}}`: "buy",
		`{"tool":"adk_request_confirmation","args":{"originalFunctionCall":{"name":"buy"}}}`: "buy",
	} {
		if got := schema.ReadRequest([]byte(content)).ToolName(); got != want {
			t.Errorf("%s: %q, want %q", content, got, want)
		}
	}
}

// FuzzAttributesRead holds that what is read is text that the columns can have, and that JSON
// without objects, lists or nulls in the place of a scalar is read whole.
func FuzzAttributesRead(f *testing.F) {
	for _, seed := range []string{`{}`, `{"adk":{"call_id":"a\u0000","confirmed":"TRUE","read":{"results":{"a":"b"}}}}`, `[`, "{\"adk\":{\"call_id\":\"\xff\"}}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var a schema.Attributes
		err := a.Read(text)
		if err == nil && len(text) > 0 && !json.Valid(text) {
			t.Errorf("%q is no JSON", text)
		}
		if id := a.ADK.CallID(); !utf8.ValidString(id) {
			t.Errorf("call %q", id)
		}
		var plain struct {
			ADK struct {
				Call any `json:"call_id"`
			} `json:"adk"`
		}
		if json.Unmarshal(text, &plain) == nil {
			if want, is := plain.ADK.Call.(string); is && a.ADK.Call.Text != want {
				t.Errorf("call %q, want %q", a.ADK.Call.Text, want)
			}
		}
	})
}
