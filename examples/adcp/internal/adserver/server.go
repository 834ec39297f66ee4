// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package adserver is a small ad server: placements, audiences, account budgets and campaigns over HTTP and JSON,
// with state that changes while agents make up their minds.
//
// Every answer about state carries as_of, the time it was true, and an ETag that changes with it.
package adserver

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ErrNotFound is returned, wrapped, when a name is not in the catalog.
var ErrNotFound = errors.New("not found")

// Server is an ad server. It is an [http.Handler]; [Server.Start] serves it on loopback. Methods are safe for
// concurrent use.
type Server struct {
	mux  *http.ServeMux
	year int

	mu         sync.Mutex
	failing    bool
	placements []*record[Placement]
	audiences  []*record[Audience]
	accounts   []*record[Account]
	campaigns  []*record[Campaign]

	http *http.Server
	done chan error
}

// record is a resource and the number of times it was written, which is its ETag.
type record[T any] struct {
	value    T
	revision int
}

func (r *record[T]) etag() string { return fmt.Sprintf(`"%d"`, r.revision) }

func records[T any](values []T) []*record[T] {
	rs := make([]*record[T], len(values))
	for i, v := range values {
		rs[i] = &record[T]{value: v, revision: 1}
	}
	return rs
}

// New returns an ad server that starts out with the catalog.
func New(c Catalog) *Server {
	s := &Server{
		mux:        http.NewServeMux(),
		year:       c.CampaignYear,
		placements: records(c.Placements),
		audiences:  records(c.Audiences),
		accounts:   records(c.Accounts),
	}
	s.mux.HandleFunc("GET /v1/placements", s.state(s.listPlacements))
	s.mux.HandleFunc("GET /v1/placements/{name}", s.state(s.getPlacement))
	s.mux.HandleFunc("GET /v1/audiences", s.state(s.listAudiences))
	s.mux.HandleFunc("GET /v1/audiences/{name}", s.state(s.getAudience))
	s.mux.HandleFunc("GET /v1/accounts/{account}/budget", s.state(s.getBudget))
	s.mux.HandleFunc("GET /v1/campaigns/{id}", s.state(s.getCampaign))
	s.mux.HandleFunc("POST /v1/campaigns", s.draft)
	s.mux.HandleFunc("POST /v1/campaigns/{id}/provision", s.provision)
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

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

// SetPrice changes what a placement costs, in whole units of its currency.
func (s *Server) SetPrice(placement string, price int64) error {
	return s.change(placement, func(p *Placement) { p.Price = price })
}

// SellOut makes a placement unavailable.
func (s *Server) SellOut(placement string) error {
	return s.change(placement, func(p *Placement) { p.Available = false })
}

// FailState makes every request for state answer 503 Service Unavailable, or lets them answer again.
func (s *Server) FailState(failing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = failing
}

// Campaigns returns the campaigns drafted so far, oldest first.
func (s *Server) Campaigns() []Campaign {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Campaign, len(s.campaigns))
	for i, c := range s.campaigns {
		all[i] = c.value
	}
	return all
}

func (s *Server) change(placement string, edit func(*Placement)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := find(s.placements, func(p Placement) string { return p.Name }, placement)
	if !ok {
		return fmt.Errorf("adserver: placement %q: %w", placement, ErrNotFound)
	}
	edit(&r.value)
	r.revision++
	return nil
}

// find looks a record up by its key, without regard to case: people and models write names as they please.
func find[T any](rs []*record[T], key func(T) string, want string) (*record[T], bool) {
	for _, r := range rs {
		if strings.EqualFold(key(r.value), want) {
			return r, true
		}
	}
	return nil, false
}
