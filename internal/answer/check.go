// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/adk-contextgraph/contextgraph/record"
)

// maxReport bounds the report of a check, in bytes.
const maxReport = 16 << 20

// Checker asks the program of an agent to check the world now, over Instance.CheckHandler. It permits
// nothing. It is safe for concurrent use.
type Checker struct{ endpoint }

// NewChecker checks the URL; it does not connect. header is sent with each question, such as its
// authorization. A nil client means one that follows no redirects.
func NewChecker(url string, header http.Header, client *http.Client) (*Checker, error) {
	e, err := newEndpoint(url, "http://localhost:8080/contextgraph/check", header, client)
	return &Checker{e}, err
}

// Check returns the report of the check as JSON. The agent has every checker, so no type needs it.
func (c *Checker) Check(ctx context.Context, s record.Session, approvalID string) ([]byte, map[string]string, error) {
	body, err := json.Marshal(map[string]string{"app": s.App, "user": s.User, "session": s.ID, "approval_id": approvalID})
	if err != nil {
		return nil, nil, err
	}
	report, err := c.post(ctx, body, maxReport, "could not be asked")
	return report, nil, err
}
