// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package adserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxBody bounds what a client may send, in bytes.
const maxBody = 64 << 10

// state guards a handler that reads state with the lock, and with the failure the server may be told to have.
func (s *Server) state(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.failing {
			writeError(w, http.StatusServiceUnavailable, "state_unavailable", "the state of this ad server cannot be read now")
			return
		}
		h(w, r)
	}
}

func (s *Server) listPlacements(w http.ResponseWriter, r *http.Request) {
	category := r.URL.Query().Get("category")
	found := []Placement{}
	for _, p := range s.placements {
		if category == "" || strings.EqualFold(p.value.Category, category) {
			found = append(found, p.value)
		}
	}
	writeJSON(w, http.StatusOK, "", struct {
		Placements []Placement `json:"placements"`
		AsOf       time.Time   `json:"as_of"`
	}{found, time.Now().UTC()})
}

func (s *Server) getPlacement(w http.ResponseWriter, r *http.Request) {
	p, ok := find(s.placements, func(p Placement) string { return p.Name }, r.PathValue("name"))
	if !ok {
		writeError(w, http.StatusNotFound, "no_such_placement", fmt.Sprintf("no placement %q", r.PathValue("name")))
		return
	}
	writeJSON(w, http.StatusOK, p.etag(), struct {
		Placement
		AsOf time.Time `json:"as_of"`
	}{p.value, time.Now().UTC()})
}

func (s *Server) listAudiences(w http.ResponseWriter, r *http.Request) {
	category := r.URL.Query().Get("category")
	found := []Audience{}
	for _, a := range s.audiences {
		if category == "" || strings.EqualFold(a.value.Category, category) {
			found = append(found, a.value)
		}
	}
	writeJSON(w, http.StatusOK, "", struct {
		Audiences []Audience `json:"audiences"`
		AsOf      time.Time  `json:"as_of"`
	}{found, time.Now().UTC()})
}

func (s *Server) getAudience(w http.ResponseWriter, r *http.Request) {
	a, ok := find(s.audiences, func(a Audience) string { return a.Name }, r.PathValue("name"))
	if !ok {
		writeError(w, http.StatusNotFound, "no_such_audience", fmt.Sprintf("no audience %q", r.PathValue("name")))
		return
	}
	writeJSON(w, http.StatusOK, a.etag(), struct {
		Audience
		AsOf time.Time `json:"as_of"`
	}{a.value, time.Now().UTC()})
}

func (s *Server) getBudget(w http.ResponseWriter, r *http.Request) {
	a, ok := find(s.accounts, accountID, r.PathValue("account"))
	if !ok {
		writeError(w, http.StatusNotFound, "no_such_account", fmt.Sprintf("no account %q", r.PathValue("account")))
		return
	}
	writeJSON(w, http.StatusOK, a.etag(), struct {
		Account  string    `json:"account"`
		Amount   int64     `json:"amount"`
		Currency string    `json:"currency"`
		AsOf     time.Time `json:"as_of"`
	}{a.value.ID, a.value.Amount, a.value.Currency, time.Now().UTC()})
}

func (s *Server) getCampaign(w http.ResponseWriter, r *http.Request) {
	c, ok := find(s.campaigns, campaignID, r.PathValue("id"))
	if !ok {
		writeError(w, http.StatusNotFound, "no_such_campaign", fmt.Sprintf("no campaign %q", r.PathValue("id")))
		return
	}
	s.writeCampaign(w, http.StatusOK, c)
}

// draft stores a plan as a campaign that is not live yet.
func (s *Server) draft(w http.ResponseWriter, r *http.Request) {
	var plan struct {
		Account   string   `json:"account"`
		Lines     []Line   `json:"lines"`
		Audiences []string `json:"audiences"`
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&plan); err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		writeError(w, status, "bad_request", "the body is not a media plan: "+err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	account, ok := find(s.accounts, accountID, plan.Account)
	if !ok {
		writeError(w, http.StatusUnprocessableEntity, "no_such_account", fmt.Sprintf("no account %q", plan.Account))
		return
	}
	if code, message := s.invalid(plan.Lines, plan.Audiences); code != "" {
		writeError(w, http.StatusUnprocessableEntity, code, message)
		return
	}
	code := account.value.Code
	c := &record[Campaign]{revision: 1, value: Campaign{
		ID:          fmt.Sprintf("GAM-%d-%s-%03d", s.year, code, s.campaignsOf(account.value.ID)+1),
		Account:     account.value.ID,
		Status:      StatusDraft,
		Lines:       plan.Lines,
		Audiences:   append([]string{}, plan.Audiences...),
		ArtifactURI: "gs://adcp-artifacts/" + strings.ToLower(code) + "/campaign_config.json",
	}}
	s.campaigns = append(s.campaigns, c)
	w.Header().Set("Location", "/v1/campaigns/"+c.value.ID)
	s.writeCampaign(w, http.StatusCreated, c)
}

// Expect holds the ETags that a client expects when the campaign goes live: it buys only the
// versions that it looked at. Placements and audiences are by name; the others may be anything.
type Expect struct {
	Placements map[string]string `json:"placements,omitempty"`
	Audiences  map[string]string `json:"audiences,omitempty"`
	Account    string            `json:"account,omitempty"`
}

// unmet names what is not as it is expected to be; "" if everything is.
func (s *Server) unmet(e Expect, account string) string {
	for name, etag := range e.Placements {
		if p, ok := find(s.placements, func(p Placement) string { return p.Name }, name); !ok || p.etag() != etag {
			return "placement " + name
		}
	}
	for name, etag := range e.Audiences {
		if a, ok := find(s.audiences, func(a Audience) string { return a.Name }, name); !ok || a.etag() != etag {
			return "audience " + name
		}
	}
	if a, ok := find(s.accounts, accountID, account); e.Account != "" && (!ok || a.etag() != e.Account) {
		return "account " + account
	}
	return ""
}

// provision makes a campaign live. It is the last line of defence: it refuses placements that are
// not available. With If-Match and an expectation in the body, it also refuses a world other than
// the one the client looked at, in one step with the change. A live campaign stays live, so a
// client that lost the answer may ask again.
func (s *Server) provision(w http.ResponseWriter, r *http.Request) {
	var expect Expect
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&expect); err != nil && !errors.Is(err, io.EOF) {
		writeError(w, http.StatusBadRequest, "bad_request", "the body does not say what to expect: "+err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := find(s.campaigns, campaignID, r.PathValue("id"))
	if !ok {
		writeError(w, http.StatusNotFound, "no_such_campaign", fmt.Sprintf("no campaign %q", r.PathValue("id")))
		return
	}
	if match := r.Header.Get("If-Match"); match != "" && match != "*" && match != c.etag() {
		writeError(w, http.StatusPreconditionFailed, "campaign_changed",
			fmt.Sprintf("campaign %s is at revision %s, not %s", c.value.ID, c.etag(), match))
		return
	}
	if c.value.Status == StatusLive {
		s.writeCampaign(w, http.StatusOK, c)
		return
	}
	if what := s.unmet(expect, c.value.Account); what != "" {
		writeError(w, http.StatusPreconditionFailed, "world_changed", what+" is not what it was when the plan was checked")
		return
	}
	for _, line := range c.value.Lines {
		p, ok := find(s.placements, func(p Placement) string { return p.Name }, line.Placement)
		if !ok || !p.value.Available {
			writeError(w, http.StatusConflict, "placement_unavailable", fmt.Sprintf("placement %q is not available", line.Placement))
			return
		}
	}
	c.value.Status = StatusLive
	c.revision++
	s.writeCampaign(w, http.StatusOK, c)
}

// invalid returns the fault of a plan; an empty code means none.
func (s *Server) invalid(lines []Line, audiences []string) (code, message string) {
	if len(lines) == 0 {
		return "empty_plan", "a campaign needs at least one line"
	}
	for _, line := range lines {
		if _, ok := find(s.placements, func(p Placement) string { return p.Name }, line.Placement); !ok {
			return "no_such_placement", fmt.Sprintf("no placement %q", line.Placement)
		}
		if line.Spend <= 0 {
			return "bad_spend", fmt.Sprintf("the spend on %q is %d, it must be more than 0", line.Placement, line.Spend)
		}
	}
	for _, name := range audiences {
		if _, ok := find(s.audiences, func(a Audience) string { return a.Name }, name); !ok {
			return "no_such_audience", fmt.Sprintf("no audience %q", name)
		}
	}
	return "", ""
}

func (s *Server) campaignsOf(account string) int {
	n := 0
	for _, c := range s.campaigns {
		if c.value.Account == account {
			n++
		}
	}
	return n
}

func (s *Server) writeCampaign(w http.ResponseWriter, status int, c *record[Campaign]) {
	writeJSON(w, status, c.etag(), struct {
		Campaign
		AsOf time.Time `json:"as_of"`
	}{c.value, time.Now().UTC()})
}

func accountID(a Account) string   { return a.ID }
func campaignID(c Campaign) string { return c.ID }

func writeError(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, "", map[string]any{"error": map[string]string{"code": code, "message": message}})
}

func writeJSON(w http.ResponseWriter, status int, etag string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if etag != "" {
		h.Set("ETag", etag)
	}
	w.WriteHeader(status)
	w.Write(append(body, '\n')) // a client that has gone away is no concern of the server's
}
