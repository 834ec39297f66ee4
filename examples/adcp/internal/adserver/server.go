// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package adserver is a small ad server: placements, audiences, account budgets and campaigns, with state that changes
// while agents make up their minds. Tools call its methods; whoever checks a plan reads the state over HTTP.
//
// Every answer over HTTP carries as_of, the time it was true, and an ETag that changes with it.
package adserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// errState is what reading ends with while the server fails.
var errState = errors.New("the state of this ad server cannot be read now")

// Server is an ad server. It is an [http.Handler]; [Server.Start] serves it on loopback. Methods are safe for
// concurrent use.
type Server struct {
	http.ServeMux
	year int

	mu         sync.Mutex
	failing    bool
	placements table[Placement]
	audiences  table[Audience]
	accounts   table[Account]
	campaigns  table[Campaign]

	http *http.Server
	done chan error
}

// record is a resource and the number of times it was written, which is its ETag.
type record[T any] struct {
	value    T
	revision int
}

func (r *record[T]) etag() string { return fmt.Sprintf(`"%d"`, r.revision) }

// table has the records of one kind.
type table[T any] struct {
	kind string
	name func(T) string
	rows []*record[T]
}

func newTable[T any](kind string, name func(T) string, values []T) table[T] {
	t := table[T]{kind: kind, name: name}
	for _, v := range values {
		t.rows = append(t.rows, &record[T]{value: v, revision: 1})
	}
	return t
}

// find looks a record up by its name, without regard to case: people and models write names as they please.
func (t *table[T]) find(name string) (*record[T], error) {
	for _, r := range t.rows {
		if strings.EqualFold(t.name(r.value), name) {
			return r, nil
		}
	}
	return nil, fmt.Errorf("no %s %q", t.kind, name)
}

// is reports whether a record is the version with an ETag.
func (t *table[T]) is(name, etag string) bool {
	r, err := t.find(name)
	return err == nil && r.etag() == etag
}

// get reads one record, unless the server fails.
func get[T any](s *Server, t *table[T], name string) (value T, etag string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing {
		return value, "", errState
	}
	r, err := t.find(name)
	if err != nil {
		return value, "", err
	}
	return r.value, r.etag(), nil
}

// New returns an ad server that starts out with the catalog.
func New(c Catalog) *Server {
	s := &Server{
		year:       c.CampaignYear,
		placements: newTable("placement", func(p Placement) string { return p.Name }, c.Placements),
		audiences:  newTable("audience", func(a Audience) string { return a.Name }, c.Audiences),
		accounts:   newTable("account", func(a Account) string { return a.ID }, c.Accounts),
		campaigns:  newTable[Campaign]("campaign", func(c Campaign) string { return c.ID }, nil),
	}
	handle(s, "GET /v1/placements/{name}", &s.placements)
	handle(s, "GET /v1/audiences/{name}", &s.audiences)
	handle(s, "GET /v1/accounts/{name}/budget", &s.accounts)
	handle(s, "GET /v1/campaigns/{name}", &s.campaigns)
	return s
}

// handle serves the records of a table, one a request.
func handle[T any](s *Server, pattern string, t *table[T]) {
	s.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		value, etag, err := get(s, t, r.PathValue("name"))
		var body []byte
		if err == nil {
			body, err = json.Marshal(value)
		}
		switch {
		case errors.Is(err, errState):
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case err != nil:
			http.Error(w, err.Error(), http.StatusNotFound)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("ETag", etag)
			fmt.Fprintf(w, "%s,\"as_of\":%q}\n", body[:len(body)-1], time.Now().UTC().Format(time.RFC3339Nano))
		}
	})
}

// Start listens on a free loopback port and returns the base URL, without a slash at its end. Call it once, and
// [Server.Close] afterwards.
func (s *Server) Start() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("adserver: listening on loopback: %w", err)
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	s.done = make(chan error, 1)
	go func() { s.done <- s.http.Serve(l) }()
	return "http://" + l.Addr().String(), nil
}

// Close stops the server that Start started, at once: a request that is being answered is cut off. It does nothing
// when the server was not started.
func (s *Server) Close() error {
	if s.http == nil {
		return nil
	}
	if err := s.http.Close(); err != nil {
		return fmt.Errorf("adserver: stopping: %w", err)
	}
	if err := <-s.done; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("adserver: serving: %w", err)
	}
	return nil
}

// Placements returns the placements of a category.
func (s *Server) Placements(category string) ([]Placement, error) {
	return ofCategory(s, &s.placements, func(p Placement) string { return p.Category }, category)
}

// Audiences returns the audiences of a category.
func (s *Server) Audiences(category string) ([]Audience, error) {
	return ofCategory(s, &s.audiences, func(a Audience) string { return a.Category }, category)
}

func ofCategory[T any](s *Server, t *table[T], category func(T) string, want string) ([]T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing {
		return nil, errState
	}
	found := []T{}
	for _, r := range t.rows {
		if strings.EqualFold(category(r.value), want) {
			found = append(found, r.value)
		}
	}
	return found, nil
}

// Placement returns a placement by its name.
func (s *Server) Placement(name string) (Placement, error) {
	p, _, err := get(s, &s.placements, name)
	return p, err
}

// Account returns an account by its id.
func (s *Server) Account(id string) (Account, error) {
	a, _, err := get(s, &s.accounts, id)
	return a, err
}

// Campaign returns a campaign and its ETag.
func (s *Server) Campaign(id string) (Campaign, string, error) { return get(s, &s.campaigns, id) }

// Campaigns returns the campaigns drafted so far, oldest first.
func (s *Server) Campaigns() []Campaign {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Campaign, len(s.campaigns.rows))
	for i, c := range s.campaigns.rows {
		all[i] = c.value
	}
	return all
}

// Draft stores a plan as a campaign that is not live yet, and returns it with its ETag.
func (s *Server) Draft(account string, lines []Line, audiences []string) (Campaign, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, err := s.accounts.find(account)
	if err != nil {
		return Campaign{}, "", err
	}
	if len(lines) == 0 {
		return Campaign{}, "", errors.New("a campaign needs at least one line")
	}
	for _, line := range lines {
		if _, err := s.placements.find(line.Placement); err != nil {
			return Campaign{}, "", err
		}
		if line.Spend <= 0 {
			return Campaign{}, "", fmt.Errorf("the spend on %q is %d, it must be more than 0", line.Placement, line.Spend)
		}
	}
	for _, name := range audiences {
		if _, err := s.audiences.find(name); err != nil {
			return Campaign{}, "", err
		}
	}
	n := 1
	for _, c := range s.campaigns.rows {
		if c.value.Account == owner.value.ID {
			n++
		}
	}
	c := &record[Campaign]{revision: 1, value: Campaign{
		ID:          fmt.Sprintf("GAM-%d-%s-%03d", s.year, owner.value.Code, n),
		Account:     owner.value.ID,
		Status:      StatusDraft,
		Lines:       lines,
		Audiences:   append([]string{}, audiences...),
		ArtifactURI: "gs://adcp-artifacts/" + strings.ToLower(owner.value.Code) + "/campaign_config.json",
	}}
	s.campaigns.rows = append(s.campaigns.rows, c)
	return c.value, c.etag(), nil
}

// Expect holds the ETags that a client expects when a campaign goes live: it buys only the versions that it looked
// at. Placements and audiences are by name; what has no ETag may be anything.
type Expect struct {
	Placements, Audiences map[string]string
	Account, Campaign     string
}

// Provision makes a campaign live. It is the last line of defence: it refuses placements that are not available, and a
// world other than the expected one, in one step with the change. A live campaign stays live, so a client that lost
// the answer may ask again.
func (s *Server) Provision(id string, e Expect) (Campaign, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.campaigns.find(id)
	if err != nil {
		return Campaign{}, err
	}
	if e.Campaign != "" && e.Campaign != c.etag() {
		return Campaign{}, fmt.Errorf("campaign %s is at revision %s, not %s", c.value.ID, c.etag(), e.Campaign)
	}
	if c.value.Status == StatusLive {
		return c.value, nil
	}
	moved := func(what string) (Campaign, error) {
		return Campaign{}, fmt.Errorf("%s is not what it was when the plan was checked", what)
	}
	for name, etag := range e.Placements {
		if !s.placements.is(name, etag) {
			return moved("placement " + name)
		}
	}
	for name, etag := range e.Audiences {
		if !s.audiences.is(name, etag) {
			return moved("audience " + name)
		}
	}
	if e.Account != "" && !s.accounts.is(c.value.Account, e.Account) {
		return moved("account " + c.value.Account)
	}
	for _, line := range c.value.Lines {
		if p, err := s.placements.find(line.Placement); err != nil || !p.value.Available {
			return Campaign{}, fmt.Errorf("placement %q is not available", line.Placement)
		}
	}
	c.value.Status = StatusLive
	c.revision++
	return c.value, nil
}

// SetPrice changes what a placement costs, in whole units of its currency.
func (s *Server) SetPrice(placement string, price int64) error {
	return s.change(placement, func(p *Placement) { p.Price = price })
}

// SellOut makes a placement unavailable.
func (s *Server) SellOut(placement string) error {
	return s.change(placement, func(p *Placement) { p.Available = false })
}

func (s *Server) change(placement string, edit func(*Placement)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.placements.find(placement)
	if err != nil {
		return err
	}
	edit(&r.value)
	r.revision++
	return nil
}

// FailState makes every reading of state fail, over HTTP with 503 Service Unavailable, or lets it answer again.
func (s *Server) FailState(failing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = failing
}
