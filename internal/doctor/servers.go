// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
)

const (
	// apart is how far our clock and another one may be from each other: answers that are
	// younger than the check are refused.
	apart = 5 * time.Second
	// aheadOfUs is how far the clock of those who record may be ahead.
	aheadOfUs = time.Minute
	// soon is when the end of a certificate is worth a warning.
	soon = 14 * 24 * time.Hour
	// connectTimeout bounds each connection to a server.
	connectTimeout = 5 * time.Second
)

// server is one that checkers ask.
type server struct {
	root  string // such as https://ads.example.com
	types []string

	err error
	// ends is the end of its certificate. date is the time by its clock, read the time at which it
	// answered. Each may be zero.
	ends, date, read time.Time
}

// placeholder stands in a URL for a part of an entity.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// connect connects to the servers of all checkers over HTTP, each once.
func connect(ctx context.Context, checkers []config.Checker) []*server {
	var servers []*server
	byRoot := make(map[string]*server)
	for _, c := range checkers {
		if c.HTTP == nil {
			continue
		}
		u, err := url.Parse(placeholder.ReplaceAllString(c.HTTP.URL, "x"))
		if err != nil {
			continue // the configuration was checked
		}
		root := strings.ToLower(u.Scheme) + "://" + u.Host
		if byRoot[root] == nil {
			byRoot[root] = &server{root: root}
			servers = append(servers, byRoot[root])
		}
		byRoot[root].types = append(byRoot[root].types, c.Type)
	}
	var connecting sync.WaitGroup
	for _, s := range servers {
		connecting.Go(func() { s.connect(ctx) })
	}
	connecting.Wait()
	return servers
}

// connect opens a connection and asks for the time of the server with HEAD, which has no
// effects: https://www.rfc-editor.org/rfc/rfc9110#name-head. That it answers at all is not
// needed: its root need not be there.
func (s *server) connect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, s.root+"/", nil)
	if err != nil {
		s.err = err
		return
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r) // which follows no redirect
	if err != nil {
		if !connected {
			s.err = err
		}
		return
	}
	answer.Body.Close()
	if answer.TLS != nil {
		s.ends = answer.TLS.PeerCertificates[0].NotAfter
	}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		s.date, s.read = date, time.Now()
	}
}

// checkers says how it stands with the servers, and which checkers only the process of the agent can ask.
func (x *examination) checkers(servers []*server, checkers []config.Checker) {
	const area = "checkers"
	for _, s := range servers {
		name := s.root + " (" + strings.Join(s.types, ", ") + ")"
		switch {
		case s.err != nil:
			x.add(area, Error, "start it, or correct the URL: until it answers, every approval that rests on these types fails its check",
				"%s cannot be reached: %v", name, s.err)
		case !s.ends.IsZero() && s.ends.Sub(x.Now()) < soon:
			x.add(area, Warning, "renew the certificate", "%s is there, and its certificate ends at %s", name, s.ends.UTC().Format(time.RFC3339))
		default:
			x.ok(area, "%s is there", name)
		}
	}
	for _, c := range checkers {
		remedy := "look at the log of the agent, and call Instance.Check there"
		if c.SQL != nil {
			remedy = "this command has no driver for it; the program tries the query when it starts, and its log says what the database does not take"
		}
		if why := setup.NeedsAgent(c); why != "" {
			x.add(area, Note, remedy, "only the process of the agent can check %s: %s", c.Type, why)
		}
	}
}

// clocks compares our clock with those of others.
func (x *examination) clocks(last time.Time, servers []*server) {
	const area = "clock"
	const remedy = "synchronise the clocks, with NTP for example: a check refuses answers of the future"
	now := x.Now()
	switch ahead := last.Sub(now); {
	case last.IsZero():
	case ahead > aheadOfUs:
		x.add(area, Warning, remedy, "the newest row is of %s, %s ahead of this clock", last.UTC().Format(time.RFC3339), ahead.Round(time.Second))
	default:
		x.ok(area, "the newest row is of %s, %s ago", last.UTC().Format(time.RFC3339), now.Sub(last).Round(time.Second))
	}
	for _, s := range servers {
		_, host, _ := strings.Cut(s.root, "://")
		off := s.read.Sub(s.date).Round(time.Second) // the header has whole seconds
		switch {
		case s.date.IsZero():
		case off.Abs() > apart:
			x.add(area, Warning, remedy, "%s is %s away from this clock", host, off.Abs())
		default:
			x.ok(area, "%s has the time of this clock", host)
		}
	}
}
