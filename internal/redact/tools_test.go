// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/redact"
)

const (
	webToken    = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	githubToken = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
)

// Tokens that need no name to be told.
func TestTokens(t *testing.T) {
	for _, token := range []string{
		webToken, "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0NTY3ODkwIn0", githubToken, "gho_16C7e42F292c6912E7710c838347Ae178B4a",
		"github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789", "AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE",
		"AIzaSyA1234567890abcdefghijklmnopqrstuv", "ya29.a0AfH6SMBx1234567890abcdefghij", "xoxb-123456789012-abcdefABCDEF1234",
		"xoxp-123456789012-abcdefABCDEF1234", "sk-proj-abcdEFGH1234ijklMNOP5678", "sk-ant-api03-abcdEFGH1234ijklMNOP5678-x",
		"sk-0123456789abcdef0123456789abcdef", "sk_live_abcdEFGH1234ijkl", "glpat-abcdEFGH1234ijklMNOP", "123456789:AAabcdefghijklmnopqrstuvwxyz_012345", "npm_abcdEFGH1234ijklMNOP5678qrstUVWX90",
	} {
		for _, text := range []string{"%s", "the token %s was refused.", "see %s.", "(%s)", `\n%s\n`, "a,%s,b", `x "%s" y`, "a=%s", "/%s/x"} {
			in, want := fmt.Sprintf(text, token), fmt.Sprintf(text, "[REDACTED]")
			var c redact.Cleaner
			if got := c.Clean(in); got != want || c.Redacted != 1 {
				t.Errorf("got %s, want %s; redacted %d", got, want, c.Redacted)
			}
			c = redact.Cleaner{}
			if got := c.Clean(jsonString(t, []any{map[string]any{"out": in}})); strings.Contains(got, token) {
				t.Errorf("%s in JSON: %s", token, got)
			}
		}
	}
	for _, s := range []string{
		"eyJhbGciOiJIUzI1NiJ9", "keyJustLikeThat.of.a.longer.word", "they Just", "AKIA", "AKIAIOSFODNN7EXAMPLEX", "SKIPPED ASIAN MARKET",
		"sk-slovakia-2026-travel-guide-for-families", "SKU sk-1234-5678-9012-3456", "task-0123456789abcdef0123456789abcdef", "ghp_short",
		"high_performance_computing_cluster_2026", "desk_test_1234567890", "sk-123e4567-e89b-12d3-a456-426614174000", "xoxo-hugs", "npm_config_registry",
		"hf_dataset_for_the_evaluation_of_models", "glpat-expiry-mail-jobs-x", "glpat-of-the-build-bots", "see hooks.slack.com/services/ for more", "at 12345:All of it, 12345678:AAA",
		"12345678:AAabcdefghijklmnopqrstuvwxyz01234567890", "version 1.2.3-4, 2026-11-28, r8_1, fo1_x, m2_per_floor, csv2_x, https://discord.com/api/webhooks/x/y",
		"github_pat_abc", "glpat-x", "AIzawa 2026", "29.99 EUR", "order_id, group_id, user_id, hook_url",
	} {
		var c redact.Cleaner
		if got := c.Clean(s); got != s || c.Redacted != 0 {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestSecretsOfTools(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"flag", "run --password hunter2 --user bob", "run --password [REDACTED] --user bob"},
		{"flag with a quote", `run --api-key "a b" x`, `run --api-key "[REDACTED]" x`},
		{"flag with an equals sign", "run --token=abc -v", "run --token=[REDACTED] -v"},
		{"flag of Go", "run -token abc -v", "run -token [REDACTED] -v"},
		{"flag on a line of its own", "run \\\n  --client-secret abc \\\n  -v", "run \\\n  --client-secret [REDACTED] \\\n  -v"},
		{"flags as a list", `cmd: ['run', '--password', 'hunter2']`, `cmd: ['run', '--password', '[REDACTED]']`},
		{"flags as JSON", `{"args":["run","--password","hunter2","-v"]}`, `{"args":["run","--password","[REDACTED]","-v"]}`},
		{"flags as JSON on lines", "[\n  \"--password\",\n  \"hunter2\"\n]", "[\n  \"--password\",\n  \"[REDACTED]\"\n]"},
		{"password of a client", "mysql -u root -phunter2 db", "mysql -u root -p[REDACTED] db"},
		{"password of a login", "docker login -u bob -p hunter2 registry", "docker login -u bob -p [REDACTED] registry"},
		{"flag of Go of a login", "app login -password hunter2 -v", "app login -password [REDACTED] -v"},
		{"key behind a user flag", "curl -u token: abc", "curl -u token: [REDACTED]"},
		{"sshpass", "sshpass -p 'hunter2' ssh host", "sshpass -p '[REDACTED]' ssh host"},
		{"user of curl", "curl -u bob:hunter2 https://h", "curl -u bob:[REDACTED] https://h"},
		{"user of curl in quotes", "curl --user 'bob:hunter2' https://h", "curl --user 'bob:[REDACTED]' https://h"},
		{"data source", "open bob:hunter2@tcp(db:3306)/x: refused", "open bob:[REDACTED]@tcp(db:3306)/x: refused"},
		{"connection string of Azure", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=abc==;EndpointSuffix=x", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=[REDACTED];EndpointSuffix=x"},
		{"code of a redirect", "https://app/cb?state=1&code=4%2F0AX4XfWhabcdefgh&scope=x", "https://app/cb?state=1&code=[REDACTED]&scope=x"},
		{"environment", "export AWS_SECRET_ACCESS_KEY=abc\nPORT=80\n", "export AWS_SECRET_ACCESS_KEY=[REDACTED]\nPORT=80\n"},
		{"variable", `{"name":"DB_PASSWORD","value":"hunter2"}`, `{"name":"DB_PASSWORD","value":"[REDACTED]"}`},
		{"variable among others", `[{"name":"PORT","value":"80"},{"name":"API_KEY","type":"t","value":"x"},{"name":"HOST","value":"h"}]`,
			`[{"name":"PORT","value":"80"},{"name":"API_KEY","type":"t","value":"[REDACTED]"},{"name":"HOST","value":"h"}]`},
		{"value before its name", `{"value":"hunter2","name":"DB_PASSWORD"}`, `{"value":"[REDACTED]","name":"DB_PASSWORD"}`},
		{"value long before its name", `{"a":1,"value":12,"b":{"c":1},"name":"DB_PASSWORD","d":"token=x"}`, `{"a":1,"value":"[REDACTED]","b":{"c":1},"name":"DB_PASSWORD","d":"token=[REDACTED]"}`},
		{"parameter of CloudFormation", `{"ParameterKey":"DBPassword","ParameterValue":"x"}`, `{"ParameterKey":"DBPassword","ParameterValue":"[REDACTED]"}`},
		{"header of an archive", `{"headers":[{"name":"Cookie","value":"sid=1"}]}`, `{"headers":[{"name":"Cookie","value":"[REDACTED]"}]}`},
		{"variable in YAML", "env:\n- name: DB_PASSWORD\n  value: hunter2\n- name: PORT\n  value: 80\n", "env:\n- name: DB_PASSWORD\n  value: [REDACTED]\n- name: PORT\n  value: 80\n"},
		{"variable in Python", "{'name': 'DB_PASSWORD', 'value': 'x'}", "{'name': 'DB_PASSWORD', 'value': '[REDACTED]'}"},
		{"variable printed by Go", "{Name:DB_PASSWORD Value:x}", "{Name:DB_PASSWORD Value:[REDACTED]}"},
		{"field of a form", `<input name="password" value="x">`, `<input name="password" value="[REDACTED]">`},
		{"struct printed by Go", "&{User:bob Password:hunter2 Token:abc N:1}", "&{User:bob Password:[REDACTED] Token:[REDACTED] N:1}"},
		{"struct printed by Go with quotes", `main.C{User:"bob", Password:"a b", N:1}`, `main.C{User:"bob", Password:"[REDACTED]", N:1}`},
		{"kubeconfig", "users:\n- name: bob\n  user:\n    token: abc\n    client-key-data: LS0t\n", "users:\n- name: bob\n  user:\n    token: [REDACTED]\n    client-key-data: [REDACTED]\n"},
		{"block of YAML", "a: 1\nsecret: |\n  one\n\n  two\nb: 2\n", "a: 1\nsecret: [REDACTED]\nb: 2\n"},
		{"folded block in a list", "- password: >-\n    one\n  b: 2\n", "- password: [REDACTED]\n  b: 2\n"},
		{"object in YAML", "credentials:\n  user: a\n  pass: b\nc: 1", "credentials:[REDACTED]\nc: 1"},
		{"wrapped URI", `Get "https://u:p@h/x?token=abc": dial tcp: lookup h: no such host`, `Get "https://[REDACTED]@h/x?token=[REDACTED]": dial tcp: lookup h: no such host`},
		{"character references alone", "password&#61;hunter2", redact.MarkSensitive},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c redact.Cleaner
			if diff := cmp.Diff(tt.want, c.Clean(tt.in)); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
			n := c.Redacted
			if again := c.Clean(tt.want); again != tt.want || c.Redacted != n || n == 0 {
				t.Errorf("cleaned twice: %s, %d and %d more", again, n, c.Redacted-n)
			}
		})
	}
}

// What looks like one of these and is none stays.
func TestToolsWithoutSecrets(t *testing.T) {
	for _, s := range []string{
		"The --token flag is required, use --password to set one; --api-key must be given.", "git commit --author me -p 1",
		"docker run -u 1000:1000 -p 8080:80 img", "psql -p 5432 -U bob", "well-paid and built-to-last", "--- a/x\n+++ b/x", "| --- | --- |",
		`{"name":"total","value":5}`, `{"name":"page_token","value":"x"}`, `{"key":"color","value":"red"}`, `{"value":5,"name":"Total"}`,
		"name: PORT\nvalue: 80", "https://shop/?code=SUMMER10&x=1", "mailto:bob@example.com", "at 10:30@gate", "AT&T, R&D, a&b; Q&A &amp; more",
		"Get a token:\n\n    run this", "if token:\n    pass", `["-v","--name","x"]`, "status:\n  ok: 1",
	} {
		var c redact.Cleaner
		if got := c.Clean(s); got != s || c.Redacted != 0 || c.Lost > 0 {
			t.Errorf("%q became %q, redacted %d, lost %d", s, got, c.Redacted, c.Lost)
		}
	}
}
