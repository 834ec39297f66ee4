// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package part

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
)

// Post returns a handler for programs to mount: it takes a POST with a question as one JSON object of at most so many
// bytes.
func Post[Q any](most int64, answer func(w http.ResponseWriter, r *http.Request, question Q)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "ask with POST", http.StatusMethodNotAllowed)
			return
		}
		// No form of a web page can send this type.
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			http.Error(w, "send one JSON object as application/json", http.StatusUnsupportedMediaType)
			return
		}
		var q Q
		dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, most))
		dec.DisallowUnknownFields()
		err := dec.Decode(&q)
		if err == nil && dec.Decode(new(any)) != io.EOF {
			err = errors.New("something follows it")
		}
		if err != nil {
			http.Error(w, "the question cannot be read: "+err.Error()+"; send one JSON object", http.StatusBadRequest)
			return
		}
		answer(w, r, q)
	})
}
