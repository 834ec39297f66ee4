// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/internal/offload/gcs"
)

// serviceAccount returns the key file of an account that gets its tokens from uri.
func serviceAccount(t *testing.T, uri string) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p", "private_key_id": "k",
		"client_email": "agent@p.iam.gserviceaccount.com", "token_uri": uri,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// scopes returns what the assertion of a token request asks for.
func scopes(t *testing.T, assertion string) string {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		t.Errorf("assertion %q", assertion)
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Error(err)
	}
	var claims struct{ Scope string }
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Error(err)
	}
	return claims.Scope
}

// TestCredentials: the client asks for the one scope it needs, sends its token, and
// adds nothing to the caller's trace.
func TestCredentials(t *testing.T) {
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got, want := scopes(t, r.FormValue("assertion")), "https://www.googleapis.com/auth/devstorage.read_write"; got != want {
			t.Errorf("scope %q, want %q", got, want)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token": "secret", "token_type": "Bearer", "expires_in": 3600}`)
	}))
	t.Cleanup(tokens.Close)
	b := newBucket(t)
	b.fail = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if got := r.Header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("authorization %q", got)
		}
		if got := r.Header.Get("Traceparent"); got != "" {
			t.Errorf("trace %q", got)
		}
		return false
	}
	spans := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	ctx, span := provider.Tracer("test").Start(t.Context(), "run")

	s, err := gcs.Open(ctx, "gs://agent-parts/p", option.WithEndpoint(b.URL+"/storage/v1/"),
		option.WithAuthCredentialsJSON(option.ServiceAccount, serviceAccount(t, tokens.URL)))
	if err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"small": 10, "big": 9 << 20} {
		if err := s.Create(ctx, name, "text/plain", make([]byte, size)); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	span.End()
	if started := spans.Started(); len(started) != 1 {
		t.Errorf("%d spans, want the test's own", len(started))
	}
	if len(b.objects) != 2 {
		t.Errorf("%d objects, want 2", len(b.objects))
	}
}
