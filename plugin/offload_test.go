// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent/llmagent"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
)

// The mark that stands for a secret may be longer than the secret. What is stored is
// whole all the same: the row says that all of the text stands there.
func TestStoredTextIsWholeWithoutItsSecrets(t *testing.T) {
	text := strings.Repeat("pwd=a\n", 10_000) + "the end"
	want := strings.Repeat("pwd=[REDACTED]\n", 10_000) + "the end"
	for name, part := range map[string]*genai.Part{
		"text":          {Text: text},
		"text as bytes": {InlineData: &genai.Blob{MIMEType: "text/csv", Data: []byte(text)}},
	} {
		t.Run(name, func(t *testing.T) {
			store := &shelf{scheme: "file:///parts/"}
			r := newRunner(t, recorder.Config{Sink: &rowtest.Sink{}, Options: recorder.Options{Offload: store}}, llmagent.Config{Model: adktest.Says("ok")})
			adktest.Run(t, r, "u", "s", &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{part}})
			if len(store.parts) != 1 {
				t.Fatalf("%d parts were stored, want 1", len(store.parts))
			}
			for _, got := range store.parts {
				if _, got, _ = strings.Cut(got, " "); got != want {
					t.Errorf("%d bytes were stored that end in %q, want %d that end in %q", len(got), got[len(got)-20:], len(want), want[len(want)-20:])
				}
			}
		})
	}
}
