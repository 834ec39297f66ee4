// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent/llmagent"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// What rows have of each kind of part is what the plugin for Python writes for it: the
// values here are those of its content parser. Only the response of an answer to a call is
// left out.
func TestPartsAsThePythonPluginHasThem(t *testing.T) {
	call := &genai.Part{FunctionCall: &genai.FunctionCall{ID: "c1", Name: "sign", Args: m{"n": 1}}}
	answer := &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "c1", Name: "sign", Response: m{"signed": true}}}
	code := &genai.Part{ExecutableCode: &genai.ExecutableCode{Language: genai.LanguagePython, Code: "print(1)"}}
	result := &genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Outcome: genai.OutcomeOK, Output: "1"}}
	element := func(mime, text, attributes string) m {
		return m{"mime_type": mime, "text": text, "part_index": 0.0, "part_attributes": attributes, "storage_mode": "INLINE"}
	}
	const asJSON, plain = "application/json", "text/plain"
	for name, tt := range map[string]struct {
		part    *genai.Part
		summary string
		want    m
	}{
		"text": {genai.NewPartFromText("Sign it"), "Sign it", element(plain, "Sign it", "{}")},
		"call": {call, "", element(asJSON, "Function: sign", `{"function_name":"sign"}`)},
		"answer": {answer, "Function response: sign",
			element(asJSON, "Function response: sign", `{"function_response":{"id":"c1","name":"sign"}}`)},
		"answer without a name": {&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "c1"}}, "Function response: unknown",
			element(asJSON, "Function response: unknown", `{"function_response":{"id":"c1"}}`)},
		"code": {code, "Executable code (PYTHON): print(1)",
			element(plain, "print(1)", `{"executable_code":{"code":"print(1)","language":"PYTHON"}}`)},
		"result of code": {result, "Code execution result (OUTCOME_OK): 1",
			element(plain, "1", `{"code_execution_result":{"outcome":"OUTCOME_OK","output":"1"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			row := userRow(t, tt.part)
			if got := contentOf(t, row)["text_summary"]; got != tt.summary {
				t.Errorf("text_summary = %q, want %q", got, tt.summary)
			}
			var parts []m
			if err := json.Unmarshal(row.ContentParts, &parts); err != nil {
				t.Fatal(err)
			}
			diff(t, "parts", []m{tt.want}, parts)
		})
	}
	t.Run("all", func(t *testing.T) {
		row := userRow(t, genai.NewPartFromText("Sign it"), call, answer, code, result)
		const want = "Sign it | Function response: sign | Executable code (PYTHON): print(1) | Code execution result (OUTCOME_OK): 1"
		if got := contentOf(t, row)["text_summary"]; got != want {
			t.Errorf("text_summary = %q, want %q", got, want)
		}
	})
}

// userRow is the row of a message with the parts.
func userRow(t *testing.T, parts ...*genai.Part) record.Event {
	t.Helper()
	sink, r := recorded(t, recorder.Config{}, emits(t, "root"))
	adktest.Run(t, r, "u", "s", &genai.Content{Role: genai.RoleUser, Parts: parts})
	return one(t, sink, record.UserMessageReceived)
}

func contentOf(t *testing.T, e record.Event) (content m) {
	t.Helper()
	if err := json.Unmarshal(e.Content, &content); err != nil {
		t.Fatal(err)
	}
	return content
}

// A request has a configuration where something is configured.
func TestConfigurationOfARequest(t *testing.T) {
	temperature := float32(0.5)
	for name, tt := range map[string]struct {
		config *genai.GenerateContentConfig
		want   any
	}{
		"nothing": {&genai.GenerateContentConfig{}, nil},
		"labels":  {&genai.GenerateContentConfig{Labels: map[string]string{"team": "ads"}}, nil},
		"one":     {&genai.GenerateContentConfig{Temperature: &temperature}, m{"temperature": 0.5}},
		"several": {&genai.GenerateContentConfig{ResponseMIMEType: "text/plain", MaxOutputTokens: 7}, m{"response_mime_type": "text/plain", "max_output_tokens": 7.0}},
	} {
		t.Run(name, func(t *testing.T) {
			sink, r := recorded(t, recorder.Config{}, llm(t, llmagent.Config{Name: "root", Model: adktest.CallsOnce(), GenerateContentConfig: tt.config}))
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			diff(t, "llm_config", tt.want, rowtest.Attribute(t, one(t, sink, record.LLMRequest), "llm_config"))
		})
	}
}
