// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

const (
	webToken    = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	githubToken = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
)

type variable struct {
	Name  string
	Value *string
	From  any `json:",omitempty"`
}

// What encoding knows by reflection only.
type (
	settings  map[string]any
	arguments []string
	setting   struct {
		Name  string `json:"name"`
		Value string
	}
)

func TestSecretsInValues(t *testing.T) {
	value := "hunter2"
	for _, tt := range []struct {
		name string
		in   any
		want string
	}{
		{"variable", map[string]any{"name": "DB_PASSWORD", "value": value}, `{"name":"DB_PASSWORD","value":"[REDACTED]"}`},
		{"variable of strings", map[string]string{"Key": "DB_PASSWORD", "Value": value}, `{"Key":"DB_PASSWORD","Value":"[REDACTED]"}`},
		{"harmless variable", map[string]any{"name": "PORT", "value": 80}, `{"name":"PORT","value":80}`},
		{"struct", []variable{{"API_KEY", &value, nil}, {"PORT", &value, nil}}, `[{"Name":"API_KEY","Value":"[REDACTED]"},{"Name":"PORT","Value":"hunter2"}]`},
		{"cookie", struct{ Name, Value string }{"Cookie", value}, `{"Name":"Cookie","Value":"[REDACTED]"}`},
		{"value sorted before its name", map[string]any{"Value": value, "name": "DB_PASSWORD"}, `{"Value":"[REDACTED]","name":"DB_PASSWORD"}`},
		{"field sorted before its name", setting{"DB_PASSWORD", value}, `{"Value":"[REDACTED]","name":"DB_PASSWORD"}`},
		{"value beside two names", map[string]any{"key": "a", "name": "DB_PASSWORD", "value": value}, `{"key":"a","name":"DB_PASSWORD","value":"[REDACTED]"}`},
		{"variable of a map type", settings{"name": "DB_PASSWORD", "value": value}, `{"name":"DB_PASSWORD","value":"[REDACTED]"}`},
		{"variable of pointers", map[string]*string{"key": new("api_key"), "value": &value}, `{"key":"api_key","value":"[REDACTED]"}`},
		{"harmless variable of a map type", settings{"name": "PORT", "value": 80}, `{"name":"PORT","value":80}`},
		{"flags of a list type", arguments{"run", "--password", value, "-v"}, `["run","--password","[REDACTED]","-v"]`},
		{"flags in an array", [3]string{"run", "--token", value}, `["run","--token","[REDACTED]"]`},
		{"pairs in arrays", [][2]string{{"Authorization", value}, {"Host", value}}, `[["Authorization","[REDACTED]"],["Host","hunter2"]]`},
		{"array of two", [2]string{"token", "password"}, `["token","password"]`},
		{"flags", []string{"run", "--password", value, "-v"}, `["run","--password","[REDACTED]","-v"]`},
		{"flag without a value", []any{"run", "--password", "-v"}, `["run","--password","-v"]`},
		{"pairs", []any{[]any{"Authorization", value}, []string{"Host", value}}, `[["Authorization","[REDACTED]"],["Host","hunter2"]]`},
		{"list", []any{"token", "password"}, `["token","password"]`},
		{"header", http.Header{"X-Api-Key": {value}, "Age": {"1"}}, `{"Age":["1"],"X-Api-Key":"[REDACTED]"}`},
		{"values of a form", url.Values{"password": {value}, "n": {"1"}}, `{"n":["1"],"password":"[REDACTED]"}`},
		{"number", map[string]any{"passcode": 1234.0, "n": json.Number("1")}, `{"n":1,"passcode":"[REDACTED]"}`},
		{"token as a key", map[string]any{githubToken: 1}, `{"[REDACTED]":1}`},
		{"error", fmt.Errorf("login: %w", &url.Error{Op: "Get", URL: "https://h/?access_token=" + value, Err: http.ErrServerClosed}),
			`"login: Get \"https://h/?access_token=[REDACTED]\": http: Server closed"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := encode(t, jsonenc.Limits{}, tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}
