// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package identity shows how a program behind ADK's REST server tells contextgraph who calls: the
// caller sends a token that the program has signed.
//
//	cg, err := contextgraph.FromFile("contextgraph.yaml", contextgraph.WithIdentity(identity.Caller))
//	...
//	api, err := adkrest.NewServer(adkrest.ServerConfig{PluginConfig: cg.PluginConfig(), ...})
//	...
//	http.ListenAndServe(":8080", identity.Signed(key, api))
package identity

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
)

type callerKey struct{}

// Token returns the token of a person: the name and its signature. A real one also ends some day.
func Token(key []byte, name string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(name))
	return name + "." + hex.EncodeToString(mac.Sum(nil))
}

// Signed lets only requests with a token pass, and notes in their context who has it.
func Signed(key []byte, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		name := token[:max(strings.LastIndexByte(token, '.'), 0)]
		if name == "" || !hmac.Equal([]byte(token), []byte(Token(key, name))) {
			http.Error(w, "the request has no token, or another one than this program signed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, name)))
	})
}

// Caller returns who sent the request of a context. It is for contextgraph.WithIdentity.
func Caller(ctx context.Context) (string, error) {
	if name, ok := ctx.Value(callerKey{}).(string); ok {
		return name, nil
	}
	return "", errors.New("the run does not come from a request with a token")
}
