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
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
	"github.com/theory/jsonpath"
)

// Values of [HTTPConfig] AsOf and Version that are not JSONPaths.
const (
	// AsOfFetch takes the time the request was sent, less the Age of an answer that a
	// cache had.
	AsOfFetch = "fetch"
	// AsOfDateHeader takes the Date header of the answer.
	AsOfDateHeader = "date_header"
	// VersionETag takes the ETag header of the answer.
	VersionETag = "etag"
)

const defaultMaxBody = 1 << 20

// HTTPAttribute says where an attribute is in an answer and what it is.
type HTTPAttribute struct {
	// Path is an RFC 9535 JSONPath. It must select one value; none means that the
	// answer does not have the attribute.
	Path string
	// Kind is the kind of the value. Conversion is strict: the text "true" is no
	// boolean.
	Kind entity.Kind
	// Currency is the currency of an amount of money that names none.
	Currency string
}

// HTTPConfig configures an [HTTPChecker].
type HTTPConfig struct {
	// URL is where the state of an entity is. After the host it may hold {value},
	// {type} and {attributes.NAME}, which stand for those of the entity, escaped
	// for their place. Required.
	URL string
	// Headers are added to the request. Host, Connection, Content-Length,
	// Transfer-Encoding and Accept-Encoding are the client's.
	Headers map[string]string
	// Client sends the request. Default: a client of its own over
	// [http.DefaultTransport]. Its redirect policy is not used: a redirect is no
	// answer.
	Client *http.Client
	// Attributes says what to read. At least one is required.
	Attributes map[string]HTTPAttribute
	// AsOf says when an answer was true: AsOfFetch (default), AsOfDateHeader, or a
	// JSONPath to a time in RFC 3339. Where a cache may stand in between,
	// AsOfFetch is wrong.
	AsOf string
	// Version is VersionETag or a JSONPath to a text or a number; "" for none.
	Version string
	// MaxBody is the greatest size of an answer in bytes. Default 1 MiB.
	MaxBody int64
	// Now is the clock of AsOfFetch. Default [time.Now].
	Now func() time.Time
}

// HTTPChecker is a [safety.Checker] that asks an HTTP service with GET and reads JSON. Only
// status 200 is an answer. It is safe for concurrent use.
type HTTPChecker struct {
	url        urlTemplate
	headers    map[string]string
	client     http.Client
	attributes []httpAttribute
	asOf       string
	asOfPath   *jsonpath.Path
	version    string
	versionAt  *jsonpath.Path
	maxBody    int64
	now        func() time.Time
}

type httpAttribute struct {
	HTTPAttribute
	name string
	path *jsonpath.Path
}

// NewHTTPChecker returns a checker, or an error that names every field that is wrong.
func NewHTTPChecker(cfg HTTPConfig) (*HTTPChecker, error) {
	var errs []error
	c := &HTTPChecker{
		headers: maps.Clone(cfg.Headers), asOf: cfg.AsOf, version: cfg.Version, maxBody: cfg.MaxBody, now: cfg.Now,
	}
	if cfg.Client != nil {
		c.client = *cfg.Client
	}
	c.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.now == nil {
		c.now = time.Now
	}
	if c.maxBody == 0 {
		c.maxBody = defaultMaxBody
	}
	if c.maxBody < 0 {
		errs = append(errs, fmt.Errorf("MaxBody is %d: it must not be negative", cfg.MaxBody))
	}
	var err error
	if c.url, err = parseURL(cfg.URL); err != nil {
		errs = append(errs, err)
	}
	first := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(cfg.Headers)) {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if !headerName.MatchString(name) || strings.ContainsFunc(cfg.Headers[name], isControl) {
			errs = append(errs, fmt.Errorf("header %q: the name or the value has characters that a header must not have", name))
		} else if ofClient(canonical) {
			errs = append(errs, fmt.Errorf("header %q: the client sets it; remove it", name))
		} else if other, twice := first[canonical]; twice {
			errs = append(errs, fmt.Errorf("headers %q and %q are one; keep one of them", other, name))
		}
		first[canonical] = name
	}
	path := func(field, text string) *jsonpath.Path {
		p, err := jsonpath.Parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %q is not an RFC 9535 JSONPath: %w", field, text, err))
		}
		return p
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Attributes)) {
		a := cfg.Attributes[name]
		if a.Kind == entity.KindNone {
			errs = append(errs, fmt.Errorf("attribute %q: Kind is missing: use text, number, money, boolean or time", name))
		}
		c.attributes = append(c.attributes, httpAttribute{a, name, path(fmt.Sprintf("attribute %q", name), a.Path)})
	}
	if len(c.attributes) == 0 {
		errs = append(errs, errors.New("Attributes is empty: nothing could be compared"))
	}
	switch c.asOf {
	case "":
		c.asOf = AsOfFetch
	case AsOfFetch, AsOfDateHeader:
	default:
		c.asOfPath = path("AsOf", c.asOf)
	}
	switch c.version {
	case "", VersionETag:
	default:
		c.versionAt = path("Version", c.version)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("http checker: %w", err)
	}
	return c, nil
}

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// ofClient reports whether package http ignores the header, or does otherwise with the
// answer because of it.
func ofClient(canonical string) bool {
	switch canonical {
	case "Accept-Encoding", "Connection", "Content-Length", "Host", "Transfer-Encoding":
		return true
	default:
		return false
	}
}

func isControl(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }

// Check asks the service for the state of e. An answer that is not understood in full is an
// error, and the attributes that were understood are returned beside it.
func (c *HTTPChecker) Check(ctx context.Context, e entity.Canonical) (safety.State, error) {
	if c == nil || c.url == "" {
		return safety.State{}, errors.New("the HTTP checker was not made by NewHTTPChecker")
	}
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
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	fetched := c.now()
	resp, err := c.client.Do(req)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // the text around it has the whole URL
		}
		return safety.State{}, fmt.Errorf("GET %s: %w", name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return safety.State{}, fmt.Errorf("GET %s: status %s is no answer; only 200 is", name, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.maxBody+1))
	if err != nil {
		return safety.State{}, fmt.Errorf("GET %s: reading the answer: %w", name, err)
	}
	if int64(len(body)) > c.maxBody {
		return safety.State{}, fmt.Errorf("GET %s: the answer is longer than %d bytes", name, c.maxBody)
	}
	s, err := c.decode(body, resp.Header, fetched)
	if err != nil {
		return s, fmt.Errorf("GET %s: %w", name, err)
	}
	return s, nil
}
