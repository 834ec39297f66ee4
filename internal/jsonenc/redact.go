// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package jsonenc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// secretKey reports whether a key names a secret. The list is the Python
// plugin's; keys are compared without case and separators, so that
// "access_token", "Access-Token" and "accessToken" are one.
func secretKey(k string) bool {
	if strings.HasPrefix(k, "temp:") {
		// Session state under temp: is meant for one run only and is never kept.
		return true
	}
	// The other prefixes say who shares a value of the session state, not what it
	// is.
	if rest, ok := strings.CutPrefix(k, "user:"); ok {
		k = rest
	} else if rest, ok := strings.CutPrefix(k, "app:"); ok {
		k = rest
	}
	if len(k) < 3 || !secretLetters[k[0]] {
		return false
	}
	// Longer than any name in the list; of a longer key the prefix counts.
	var folded [48]byte
	n := 0
	for i := 0; i < len(k) && n < len(folded); i++ {
		switch c := k[i]; {
		case c == '_' || c == '-' || c == ' ' || c == '.':
		case 'A' <= c && c <= 'Z':
			folded[n] = c + ('a' - 'A')
			n++
		default:
			folded[n] = c
			n++
		}
	}
	switch string(folded[:n]) {
	case "clientsecret", "accesstoken", "refreshtoken", "idtoken", "apikey", "password", "passwd",
		"privatekey", "proxyauthorization", "googleaccessid", "sig", "signature", "token", "secret",
		"authorization", "xapikey", "secretkey", "sessiontoken", "bearertoken", "authtoken", "credential", "credentials":
		return true
	}
	return bytes.HasPrefix(folded[:n], []byte("xamz")) || bytes.HasPrefix(folded[:n], []byte("xgoog"))
}

// secretLetters holds the letters that the keys below begin with, so that most
// keys are told apart by one look.
var secretLetters = func() (t [256]bool) {
	for _, b := range []byte("abcgiprstx_-. ABCGIPRSTX") {
		t[b] = true
	}
	return t
}()

// decode reads one JSON document, keeping numbers as they are written.
func decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON document")
	}
	return v, nil
}

// Preview returns s cut to n bytes at a rune boundary, for error messages.
func Preview(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + MarkTruncated
}
