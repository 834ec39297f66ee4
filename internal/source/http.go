// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// maxBody is the greatest size of an answer in bytes.
const maxBody = 1 << 20

// httpChecker is a [safety.Checker] that asks an HTTP service.
type httpChecker struct {
	config.HTTP
	url        urlTemplate
	client     http.Client
	attributes []httpAttribute
	asOfPath   *jsonpath.Path // nil unless AsOf is one
	versionAt  *jsonpath.Path // nil unless Version is one
	now        func() time.Time
}

type httpAttribute struct {
	config.Answer
	name string
	path *jsonpath.Path
}

// HTTP returns a [safety.Checker] that asks an HTTP service with GET and reads JSON, or an error
// that names every field that is wrong. Only status 200 is an answer, and those that say that the thing is gone. The client sends the
// requests; nil is a client of its own over [http.DefaultTransport]. Its redirect policy is not
// used: a redirect is no answer. now is the clock of [config.AsOfFetch], which takes the time the
// request was sent, less the Age of an answer that a cache had; nil is [time.Now]. The checker is
// safe for concurrent use.
func HTTP(cfg config.HTTP, client *http.Client, now func() time.Time) (safety.Checker, error) {
	if err := cfg.Check(); err != nil {
		return nil, fmt.Errorf("http checker:\n%w", err)
	}
	address, err := parseURL(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("http checker: %w", err)
	}
	c := &httpChecker{HTTP: cfg.WithDefaults(), url: address, now: now}
	c.Headers = maps.Clone(cfg.Headers)
	if client != nil {
		c.client = *client
	}
	c.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.now == nil {
		c.now = time.Now
	}
	// Check has parsed the paths.
	for _, name := range slices.Sorted(maps.Keys(c.Attributes)) {
		a := c.Attributes[name]
		c.attributes = append(c.attributes, httpAttribute{a, name, jsonpath.MustParse(a.Path)})
	}
	if c.AsOf != config.AsOfFetch && c.AsOf != config.AsOfDateHeader {
		c.asOfPath = jsonpath.MustParse(c.AsOf)
	}
	if c.Version != "" && c.Version != config.VersionETag {
		c.versionAt = jsonpath.MustParse(c.Version)
	}
	return c, nil
}

// Check implements [safety.Checker]. It asks the service for the state of e. An answer that is not understood in full is an
// error, and the attributes that were understood are returned beside it.
func (c *httpChecker) Check(ctx context.Context, e entity.Canonical) (safety.State, error) {
	address, err := c.url.expand(e)
	if err != nil {
		return safety.State{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return safety.State{}, fmt.Errorf("making the request: %w", err)
	}
	name, _, _ := strings.Cut(address, "?") // a query may hold a secret
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Cache-Control", "no-cache")
	for name, value := range c.Headers {
		req.Header.Set(name, string(value))
	}
	fetched := c.now()
	resp, err := c.client.Do(req)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // the text around it has the whole URL
		}
		return safety.State{}, fmt.Errorf("GET %s: %w", name, away(err))
	}
	defer resp.Body.Close()
	if slices.Contains(c.Gone, resp.StatusCode) {
		s := safety.State{Attributes: gone(), AsOf: fetched}
		if c.asOfPath == nil {
			s.AsOf, err = c.answerTime(nil, resp.Header, fetched)
		}
		return s, err
	}
	if resp.StatusCode != http.StatusOK {
		err := fmt.Errorf("GET %s: status %s is no answer; only 200 is", name, resp.Status)
		if awayStatus(resp.StatusCode) {
			err = down(err)
		}
		return safety.State{}, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return safety.State{}, fmt.Errorf("GET %s: reading the answer: %w", name, away(err))
	}
	if len(body) > maxBody {
		return safety.State{}, fmt.Errorf("GET %s: the answer is longer than %d bytes", name, maxBody)
	}
	s, err := c.decode(body, resp.Header, fetched)
	if err != nil {
		return s, fmt.Errorf("GET %s: %w", name, err)
	}
	return s, nil
}
