// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
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
	// soon is when the end of a certificate is worth a warning.
	soon = 14 * 24 * time.Hour
)

// connectTimeout bounds each connection to a server.
const connectTimeout = 5 * time.Second

// server is one that checkers ask.
type server struct {
	scheme, host string
	types        []string

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
	byName := make(map[string]*server)
	for _, c := range checkers {
		if c.HTTP == nil {
			continue
		}
		u, err := url.Parse(placeholder.ReplaceAllString(c.HTTP.URL, "x"))
		if err != nil {
			continue // the configuration was checked
		}
		key := u.Scheme + "://" + u.Host
		if byName[key] == nil {
			byName[key] = &server{scheme: strings.ToLower(u.Scheme), host: u.Host}
			servers = append(servers, byName[key])
		}
		byName[key].types = append(byName[key].types, c.Type)
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
	host, port, err := net.SplitHostPort(s.host)
	if err != nil {
		host, port = strings.Trim(s.host, "[]"), map[string]string{"http": "80", "https": "443"}[s.scheme]
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		s.err = err
		return
	}
	defer conn.Close()
	if s.scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: host})
		if s.err = secure.HandshakeContext(ctx); s.err != nil {
			return
		}
		s.ends = secure.ConnectionState().PeerCertificates[0].NotAfter
		conn = secure
	}
	used := false
	transport := &http.Transport{DisableKeepAlives: true}
	take := func(context.Context, string, string) (net.Conn, error) {
		if used {
			return nil, errors.New("one connection is enough")
		}
		used = true
		return conn, nil
	}
	transport.DialContext, transport.DialTLSContext = take, take
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, s.scheme+"://"+s.host+"/", nil)
	if err != nil {
		return
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return
	}
	answer.Body.Close()
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		s.date, s.read = date, time.Now()
	}
}

// server says how it stands with one server.
func (x *examination) server(s *server) {
	const area = "checkers"
	name := s.scheme + "://" + s.host + " (" + strings.Join(s.types, ", ") + ")"
	switch {
	case s.err != nil:
		x.add(area, Error, "start it, or correct the URL: until it answers, every approval that rests on these types fails its check", "%s cannot be reached: %v", name, s.err)
	case !s.ends.IsZero() && s.ends.Sub(x.Now()) < soon:
		x.add(area, Warning, "renew the certificate", "%s is there, and its certificate ends at %s", name, s.ends.UTC().Format(time.RFC3339))
	default:
		x.ok(area, "%s is there", name)
	}
}

// elsewhere names the checkers that only the process of the agent can ask.
func (x *examination) elsewhere(checkers []config.Checker) {
	for _, c := range checkers {
		if why := setup.NeedsAgent(c); why != "" {
			x.add("checkers", Note, "look at the log of the agent, and call Instance.Check there", "only the process of the agent can check %s: %s", c.Type, why)
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
		if s.date.IsZero() {
			continue
		}
		// The header has whole seconds.
		off := s.read.Sub(s.date).Round(time.Second)
		if off.Abs() > apart {
			x.add(area, Warning, remedy, "%s is %s away from this clock", s.host, off.Abs())
		} else {
			x.ok(area, "%s has the time of this clock", s.host)
		}
	}
}
