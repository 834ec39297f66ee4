// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/adk-contextgraph/contextgraph/record"
)

// maxReport bounds the report of a check, in bytes.
const maxReport = 16 << 20

// Checker asks the program of an agent to check the world now, over Instance.CheckHandler. It permits
// nothing. It is safe for concurrent use.
type Checker struct {
	url    string
	header http.Header
	client *http.Client
}

// NewChecker checks the URL; it does not connect. header is sent with each question, such as its
// authorization. A nil client means one that follows no redirects.
func NewChecker(url string, header http.Header, client *http.Client) (*Checker, error) {
	if _, err := parseURL(url, "http://localhost:8080/contextgraph/check"); err != nil {
		return nil, err
	}
	if client == nil {
		client = plainClient()
	}
	return &Checker{url, header.Clone(), client}, nil
}

// Check returns the report of the check as JSON. The agent has every checker, so no type needs it.
func (c *Checker) Check(ctx context.Context, s record.Session, approvalID string) ([]byte, map[string]string, error) {
	body, err := json.Marshal(map[string]string{"app": s.App, "user": s.User, "session": s.ID, "approval_id": approvalID})
	if err != nil {
		return nil, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for k, v := range c.header {
		r.Header[k] = v
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(r)
	if err != nil {
		return nil, nil, fmt.Errorf("the agent at %s could not be asked: %w", c.url, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxReport))
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, nil, fmt.Errorf("the agent at %s said %s: %s", c.url, resp.Status, errorText(text))
	case err != nil:
		return nil, nil, fmt.Errorf("the answer of the agent at %s was cut off: %w", c.url, err)
	}
	return text, nil, nil
}
