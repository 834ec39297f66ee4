// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/adk-contextgraph/contextgraph/examples/adcp/internal/adserver"
)

// adClient speaks the ad server's HTTP interface for the tools.
type adClient struct {
	base string // without a slash at its end
	http *http.Client
}

// maxAnswer bounds an answer of the ad server, in bytes.
const maxAnswer = 1 << 20

// newAdClient returns a client of the ad server at base. Its connections are its own; close them with close.
func newAdClient(base string) *adClient {
	return &adClient{base: base, http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 4},
		Timeout:   10 * time.Second,
	}}
}

func (c *adClient) close() { c.http.CloseIdleConnections() }

func (c *adClient) placements(ctx context.Context, category string) ([]adserver.Placement, error) {
	var answer struct {
		Placements []adserver.Placement `json:"placements"`
	}
	_, err := c.do(ctx, http.MethodGet, "/v1/placements?category="+url.QueryEscape(category), nil, "", &answer)
	return answer.Placements, err
}

func (c *adClient) placement(ctx context.Context, name string) (adserver.Placement, error) {
	var p adserver.Placement
	_, err := c.do(ctx, http.MethodGet, "/v1/placements/"+url.PathEscape(name), nil, "", &p)
	return p, err
}

func (c *adClient) audiences(ctx context.Context, category string) ([]adserver.Audience, error) {
	var answer struct {
		Audiences []adserver.Audience `json:"audiences"`
	}
	_, err := c.do(ctx, http.MethodGet, "/v1/audiences?category="+url.QueryEscape(category), nil, "", &answer)
	return answer.Audiences, err
}

// authorized is the budget an account may spend now.
type authorized struct {
	Account  string `json:"account"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

func (c *adClient) budget(ctx context.Context, account string) (authorized, error) {
	var b authorized
	_, err := c.do(ctx, http.MethodGet, "/v1/accounts/"+url.PathEscape(account)+"/budget", nil, "", &b)
	return b, err
}

// campaign returns a campaign and its ETag.
func (c *adClient) campaign(ctx context.Context, id string) (adserver.Campaign, string, error) {
	var got adserver.Campaign
	etag, err := c.do(ctx, http.MethodGet, "/v1/campaigns/"+url.PathEscape(id), nil, "", &got)
	return got, etag, err
}

// draft stores a plan as a new campaign and returns it with its ETag.
func (c *adClient) draft(ctx context.Context, account string, lines []adserver.Line, audiences []string) (adserver.Campaign, string, error) {
	var got adserver.Campaign
	etag, err := c.do(ctx, http.MethodPost, "/v1/campaigns", map[string]any{
		"account": account, "lines": lines, "audiences": audiences,
	}, "", &got)
	return got, etag, err
}

// provision makes the campaign live, if it is still the one with this ETag and everything else is as expected.
func (c *adClient) provision(ctx context.Context, id, etag string, expect adserver.Expect) (adserver.Campaign, error) {
	var got adserver.Campaign
	_, err := c.do(ctx, http.MethodPost, "/v1/campaigns/"+url.PathEscape(id)+"/provision", expect, etag, &got)
	return got, err
}

// do sends one request, with body as JSON when there is one, and decodes the answer. It returns the answer's ETag.
func (c *adClient) do(ctx context.Context, method, target string, body any, ifMatch string, answer any) (string, error) {
	var payload io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return "", fmt.Errorf("ad server: %s %s: %w", method, target, err)
		}
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+target, payload)
	if err != nil {
		return "", fmt.Errorf("ad server: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if ifMatch != "" {
		req.Header.Set("If-Match", ifMatch)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return "", fmt.Errorf("ad server: %w", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return "", fmt.Errorf("ad server: %s %s: reading the answer: %w", method, target, err)
	}
	if res.StatusCode >= 300 {
		var problem struct {
			Error struct{ Message string }
		}
		if err := json.Unmarshal(data, &problem); err != nil || problem.Error.Message == "" {
			return "", fmt.Errorf("ad server: %s %s: %s", method, target, res.Status)
		}
		return "", fmt.Errorf("ad server: %s", problem.Error.Message)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return "", fmt.Errorf("ad server: %s %s: the answer is unexpected: %w", method, target, err)
	}
	return res.Header.Get("ETag"), nil
}
