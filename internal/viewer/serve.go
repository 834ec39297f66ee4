// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// Options are those of [NewHandler].
type Options struct {
	// Source is what is shown. Required.
	Source inspect.Source
	// Changes returns a number that grows with the source, such as the number of its last row, so
	// that pages learn of new rows. Without it they do not update by themselves.
	Changes func(context.Context) (int64, error)
	// Interval is the time between two calls of Changes, for all pages together. Default 1 s.
	Interval time.Duration
	// Hosts are the values of the Host header that are served, without a port. Default: the
	// names of this machine's loopback. Everything else is refused, so that no web page that
	// a browser has open elsewhere reads a record under a name of its own.
	Hosts []string
	// Decide brings the answer to a request to the agent. Nil, the default, makes the page read only.
	Decide Decider
	// Token has to be sent with a decision: at least [MinToken] bytes. Required with Decide.
	Token string
	// Overriders names the people who may override the check of a tool. Default: nobody.
	Overriders func(tool string) []string
	// Check checks the world now for an open request. Nil, the default, lets no page check.
	Check Checker
	// Queries, Names and Version are as in [Document].
	Queries []Query
	Names   CodeNames
	Version string
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Logger gets what could not be read. Default: nothing is logged.
	Logger *slog.Logger
}

// MinToken is the least length of a token, in bytes.
const MinToken = 16

// handler serves the page.
type handler struct {
	Options
	mux      *http.ServeMux
	changes  *changes
	checks   checks
	readings readings
}

// NewHandler returns a handler that serves the page live. It reads from the source with each
// request, and keeps the rows of the sessions that were read within the last minute, at most
// [MaxBytes] of more than one. It is safe for concurrent use.
func NewHandler(o Options) (http.Handler, error) {
	if o.Source == nil {
		return nil, errors.New("viewer: Options.Source is required")
	}
	if o.Decide != nil && len(o.Token) < MinToken {
		return nil, fmt.Errorf("the token for decisions is too short: use %d characters at least, from openssl rand -hex 16 for example", MinToken)
	}
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if len(o.Hosts) == 0 {
		o.Hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &handler{Options: o, mux: http.NewServeMux(), changes: &changes{read: o.Changes, interval: o.Interval}, checks: checks{under: make(map[string]bool), last: make(map[string]inspect.Checked)}}
	h.mux.HandleFunc("GET /{$}", h.page)
	h.mux.HandleFunc("GET /api/sessions", h.sessions)
	h.mux.HandleFunc("GET /api/session", h.session)
	h.mux.HandleFunc("GET /api/payloads", h.payloads)
	h.mux.HandleFunc("GET /api/inbox", h.inbox)
	h.mux.HandleFunc("GET /api/changes", h.stream)
	h.mux.HandleFunc("POST /api/check", h.check)
	h.mux.HandleFunc("POST /api/decide", h.decide)
	return h, nil
}

// ServeHTTP serves the page and the data that it reads.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("X-Frame-Options", "DENY")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
	if !h.served(r.Host) {
		fail(w, http.StatusMisdirectedRequest, "this server answers to "+h.Hosts[0]+" only; open it under that name")
		return
	}
	h.mux.ServeHTTP(w, r)
}

func (h *handler) page(w http.ResponseWriter, r *http.Request) {
	d := dataOf(Document{Source: h.Source.Name(), Generated: h.Now(), Complete: true, Queries: h.Queries, Version: h.Version})
	d.Live, d.Decisions, d.Checks = true, h.Decide != nil, h.Check != nil
	var b bytes.Buffer
	if err := render(&b, "contextgraph", d); err != nil {
		h.failed(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b.Bytes())
}

func (h *handler) sessions(w http.ResponseWriter, r *http.Request) {
	q, err := query(r.URL.Query())
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	page, err := h.Source.Sessions(r.Context(), q)
	switch {
	case errors.Is(err, inspect.ErrQuery):
		fail(w, http.StatusBadRequest, err.Error())
		return
	case err != nil:
		h.failed(w, r, err)
		return
	}
	page.Sessions = listed(page.Sessions)
	reply(w, page)
}

func (h *handler) session(w http.ResponseWriter, r *http.Request) {
	s := sessionOf(r.URL.Query())
	seen, err := h.look(r.Context(), s)
	if err != nil {
		h.unseen(w, r, s, err)
		return
	}
	h.checks.addTo(seen)
	h.mayOverride(seen)
	replyLong(w, r, struct {
		Session shown      `json:"session"`
		Code    []CodeStep `json:"code"`
	}{shownOf(seen, false), Code(seen, h.Names)})
}

// query reads the query of the list of sessions.
func query(v url.Values) (inspect.Query, error) {
	q := inspect.Query{App: v.Get("app"), User: v.Get("user"), Search: v.Get("q"), After: v.Get("after")}
	for _, s := range v["status"] {
		q.Status = append(q.Status, inspect.Status(s))
	}
	for name, to := range map[string]*time.Time{"from": &q.From, "to": &q.To} {
		if text := v.Get(name); text != "" {
			t, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return q, errors.New(name + "=" + strconv.Quote(text) + ": use a time such as 2026-03-05T14:00:00Z")
			}
			*to = t
		}
	}
	if text := v.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return q, errors.New("limit=" + strconv.Quote(text) + ": use a number above zero")
		}
		q.Limit = n
	}
	return q, nil
}

// failed answers that something of ours went wrong.
func (h *handler) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody reads the answer
	}
	h.Logger.Error("a page could not be read", "path", r.URL.Path, "error", err)
	fail(w, http.StatusInternalServerError, err.Error())
}

// reply writes v as JSON.
func reply(w http.ResponseWriter, v any) { write(w, http.StatusOK, v) }

// replyLong writes v as JSON with its texts shared, compressed for clients that take that.
func replyLong(w http.ResponseWriter, r *http.Request, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	b = share(text.EscapeJSON(b))
	head := w.Header()
	head.Set("Content-Type", "application/x-ndjson")
	head.Set("Vary", "Accept-Encoding")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Write(b)
		return
	}
	head.Set("Content-Encoding", "gzip")
	zip := gzip.NewWriter(w)
	defer zip.Close()
	zip.Write(b)
}

// fail writes an error as JSON.
func fail(w http.ResponseWriter, status int, text string) {
	write(w, status, map[string]string{"error": text})
}

func write(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error()) // a text always has a JSON form
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text.EscapeJSON(b))
}

// maxStreams bounds the pages that are told of changes at the same time.
const maxStreams = 64

const (
	// heartbeat is how often a stream without news shows that it is alive.
	heartbeat = 15 * time.Second
	// readWithin bounds the question for the number, and writeWithin how long a page that
	// does not read keeps its stream.
	readWithin  = 10 * time.Second
	writeWithin = 10 * time.Second
)

// changes asks a source for its number while somebody wants to know it, once for all.
type changes struct {
	read     func(context.Context) (int64, error)
	interval time.Duration

	streams atomic.Int64

	mu     sync.Mutex
	readAt time.Time
	last   int64
	err    error
}

// enter reports whether one more stream may begin; then leave ends it.
func (c *changes) enter() bool {
	if c.read == nil {
		return false
	}
	if c.streams.Add(1) > maxStreams {
		c.leave()
		return false
	}
	return true
}

func (c *changes) leave() { c.streams.Add(-1) }

// number returns the number of the source, at most one interval old. An error is reported once in
// an interval: fresh says that nobody was told before. The first caller asks for all, so the
// question does not end with the request of that caller.
func (c *changes) number(ctx context.Context) (n int64, fresh bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.readAt.IsZero() || now.Sub(c.readAt) >= c.interval {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
		defer cancel()
		fresh = true
		c.readAt = now
		if n, c.err = c.read(ctx); c.err == nil {
			c.last = n
		}
	}
	return c.last, fresh, c.err
}

// stream tells one page of changes, as server-sent events:
// https://html.spec.whatwg.org/multipage/server-sent-events.html.
func (h *handler) stream(w http.ResponseWriter, r *http.Request) {
	if !h.changes.enter() {
		// A browser that is told 204 does not ask again.
		w.WriteHeader(http.StatusNoContent)
		return
	}
	defer h.changes.leave()
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	ticker := time.NewTicker(h.Interval)
	defer ticker.Stop()
	ctx := r.Context()
	last, told := int64(-1), time.Now()
	for {
		n, fresh, err := h.changes.number(ctx)
		if err != nil && fresh {
			h.Logger.Warn("the source could not be asked for changes", "error", err)
		}
		// A writer that has no deadlines waits for the page.
		_ = out.SetWriteDeadline(time.Now().Add(writeWithin))
		switch {
		case err == nil && n != last:
			last, told = n, time.Now()
			if _, err := fmt.Fprintf(w, "event: changed\ndata: {\"seq\":%d}\n\n", n); err != nil {
				return
			}
		case time.Since(told) >= heartbeat:
			told = time.Now()
			if _, err := fmt.Fprint(w, ": alive\n\n"); err != nil {
				return
			}
		}
		if out.Flush() != nil {
			return
		}
		_ = out.SetWriteDeadline(time.Time{}) // the server does not end a stream for its length
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// StopTime bounds how long requests under way are waited for when a server ends.
const StopTime = 5 * time.Second

// Serve serves the handler of [NewHandler] on a listener until ctx ends, and closes the listener.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	// The pages' waiting ends with the server.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		// Long enough for a query of the dataset; the stream of changes has a time of its own.
		WriteTimeout: 5 * time.Minute,
		BaseContext:  func(net.Listener) context.Context { return serving },
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stop()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopTime)
	defer cancel()
	if server.Shutdown(closing) != nil {
		_ = server.Close() // its connections are those that were waited for
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
