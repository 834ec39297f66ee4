// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"google.golang.org/api/option"
)

// LiteralOptions are the client options for the BigQuery API with the named parameters
// of every MERGE and of every transaction written into the text as literals: the emulator
// binds none in a MERGE, takes them all for NULL there, and gives every statement of a
// script the parameters of all. What it runs is the statement but for this.
func (s *Server) LiteralOptions() []option.ClientOption {
	return []option.ClientOption{
		option.WithEndpoint("http://" + s.REST), option.WithHTTPClient(&http.Client{Transport: literals{}}),
	}
}

// literals rewrites the jobs that a client inserts.
type literals struct{}

func (literals) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && r.Body != nil && strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, err
		}
		if body, err = inline(body); err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return http.DefaultTransport.RoundTrip(r)
}

var (
	named = regexp.MustCompile(`@[A-Za-z_][A-Za-z0-9_]*`)
	merge = regexp.MustCompile(`(?m)^\s*(MERGE|BEGIN TRANSACTION)\b`)
)

// inline rewrites the query of a request to insert a job or to run a query, if it is one.
func inline(body []byte) ([]byte, error) {
	var request map[string]any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if dec.Decode(&request) != nil {
		return body, nil
	}
	at := request
	if configuration, ok := request["configuration"].(map[string]any); ok {
		if at, ok = configuration["query"].(map[string]any); !ok {
			return body, nil
		}
	}
	text, _ := at["query"].(string)
	params, _ := at["queryParameters"].([]any)
	if len(params) == 0 || !merge.MatchString(text) {
		return body, nil
	}
	values := make(map[string]string)
	for _, p := range params {
		p := p.(map[string]any)
		literal, err := literal(p["parameterType"], p["parameterValue"])
		if err != nil {
			return nil, err
		}
		values["@"+p["name"].(string)] = literal
	}
	at["query"] = named.ReplaceAllStringFunc(text, func(name string) string {
		if v, ok := values[name]; ok {
			return v
		}
		return name
	})
	delete(at, "queryParameters")
	delete(at, "parameterMode")
	return json.Marshal(request)
}

// literal returns a parameter as it stands in a text.
func literal(typ, value any) (string, error) {
	t, _ := typ.(map[string]any)
	v, _ := value.(map[string]any)
	name, _ := t["type"].(string)
	text, _ := v["value"].(string)
	switch name {
	case "STRING":
		return quote(text), nil
	case "TIMESTAMP":
		return "TIMESTAMP " + quote(text), nil
	case "BOOL", "INT64", "FLOAT64":
		return strings.ToUpper(text), nil
	case "ARRAY":
		element := t["arrayType"].(map[string]any)
		values, _ := v["arrayValues"].([]any)
		list := make([]string, len(values))
		for i, e := range values {
			var err error
			if list[i], err = literal(element, e); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("ARRAY<%v>[%s]", element["type"], strings.Join(list, ", ")), nil
	}
	return "", fmt.Errorf("emulator: no literal for a parameter of type %q", name)
}

// quote returns s as a literal; JSON escapes what a literal of GoogleSQL does, and in the
// same way, but for characters of HTML.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string can be encoded
	}
	return strings.TrimSpace(b.String())
}
