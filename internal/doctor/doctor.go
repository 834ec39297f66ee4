// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor finds faults of a configuration, its journal, the clocks, the servers of its
// checkers and its dataset. It changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/safety"
)

const (
	// tightDisk is how little room on the disk is worth a warning, and noDisk an error.
	tightDisk = 1 << 30
	noDisk    = 64 << 20
	// lateRows is how long a row may wait for a destination before that is worth a warning.
	lateRows = 15 * time.Minute
	// newestSessions is how many sessions the rules are tried on.
	newestSessions = 20
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

// Level is how bad a finding is.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Note    Level = "note"
	Warning Level = "warning"
	Error   Level = "error"
)

// Finding is one thing that was looked at.
type Finding struct {
	// Area is "config", "journal", "store", "rules", "replication", "clock", "checkers" or "bigquery".
	Area  string `json:"area"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	// Remedy says how to mend it.
	Remedy string `json:"remedy,omitempty"`
}

// Options select the areas to examine, and the way.
type Options struct {
	// Path is the path of the configuration file, which need not exist.
	Path string
	// Load reads the configuration.
	Load func() (config.Config, error)
	// Dataset connects to the dataset of a configuration.
	Dataset func(context.Context, config.BigQuery) (*bigquery.Dataset, error)
	// Whole searches a journal of any size for damage, and not only one that is read in a moment.
	Whole bool
	// Now is the clock.
	Now func() time.Time
}

// examination is an examination under way.
type examination struct {
	Options
	area  string // under examination
	found []Finding
}

func (x *examination) add(l Level, remedy, format string, args ...any) {
	x.found = append(x.found, Finding{x.area, l, fmt.Sprintf(format, args...), remedy})
}

func (x *examination) ok(format string, args ...any) { x.add(OK, "", format, args...) }

// Examine looks at everything that the configuration names. It changes nothing and
// runs no query. The server of a checker gets a connection and at most a HEAD request for its root,
// without the headers of the configuration. After ctx has ended, the findings mean nothing.
func Examine(ctx context.Context, o Options) []Finding {
	x := &examination{Options: o}
	cfg, ok := x.config()
	if !ok {
		return x.found
	}
	var last time.Time
	if cfg.Store.Postgres.DSN != "" {
		x.database(ctx, cfg)
	} else {
		last = x.journal(ctx, cfg.Journal.WithDefaults().Path)
	}
	if !last.IsZero() {
		x.rules(ctx, cfg)
	}
	servers := connect(ctx, cfg.Checkers)
	x.clocks(last, servers)
	x.checkers(servers, cfg.Checkers)
	if cfg.BigQuery.Enabled() {
		x.dataset(ctx, cfg.BigQuery)
	}
	return x.found
}

// config reports whether there is a configuration to go on with.
func (x *examination) config() (config.Config, bool) {
	x.area = "config"
	cfg, err := x.Load()
	if err != nil {
		x.add(Error, "correct it; contextgraph.example.yaml has every key", "%s", strings.TrimPrefix(err.Error(), "contextgraph: "))
		return cfg, false
	}
	if _, err := os.Stat(x.Path); errors.Is(err, fs.ErrNotExist) {
		x.add(Note, "name one with --config", "there is no %s: everything has its default, so no rule finds entities and no checker checks them", x.Path)
		return cfg, true
	}
	x.ok("%s is understood: rules: %d, checkers: %d", x.Path, len(cfg.Extract), len(cfg.Checkers))
	if !*cfg.WithDefaults().Enabled {
		x.add(Warning, "remove enabled: false", "recording is off, and guarded tools are denied")
	}
	if cfg.Guard.Mode == config.ModeObserve {
		x.add(Warning, "set guard.mode to enforce", "guard.mode is observe: verdicts are recorded and block nothing but tools wrapped by Protect")
	}
	for _, p := range setup.Advice(cfg, nil) {
		x.add(Warning, p.Remedy+", unless code makes up for it", "%s: %s", p.Path, p.Text)
	}
	return cfg, true
}

// journal looks at the journal, and returns the time of the newest row, zero when there is none.
func (x *examination) journal(ctx context.Context, path string) time.Time {
	x.area = "journal"
	defer x.disk(filepath.Dir(path))
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		x.add(Note, "run the agent, or name another one with --journal", "there is no journal at %s yet", path)
		return time.Time{}
	}
	h, err := journal.Examine(ctx, path, x.Whole)
	size := fmt.Sprintf("%s, with %s in its log", text.Bytes(h.Bytes), text.Bytes(h.LogBytes))
	switch {
	case err != nil:
		x.add(Error, "name another journal with --journal, or restore this one from a copy", "%v", err)
		return time.Time{}
	case h.Bytes == 0:
		x.add(Note, "run the agent, or name another one with --journal", "%s is empty: nothing was recorded in it yet", path)
		return time.Time{}
	case !h.Checked:
		x.add(Note, "contextgraph doctor --full reads it whole", "%s was not searched for damage: it has %s", path, size)
	case len(h.Damage) > 0:
		x.add(Error, "stop the agents, keep a copy of the file, and restore an earlier one: what is damaged cannot be relied on",
			"SQLite finds %s damaged: %s", path, strings.Join(h.Damage, "; "))
	default:
		x.ok("%s is sound, %s", path, size)
	}
	if info != nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		x.add(Warning, fmt.Sprintf("chmod 600 %q", path), "others can read it (%s), and it holds full payloads", info.Mode().Perm())
	}
	x.ok("%d sessions with %d rows", h.Sessions, h.Rows)
	if h.LostRows > 0 {
		x.add(Warning, "look for a full disk or queue in the logs of the agents; a session that lost rows approves nothing any more, start a new one",
			"%d rows of %d sessions were lost before they were stored", h.LostRows, h.LostSessions)
	} else {
		x.ok("no row is known to be lost")
	}
	for _, d := range h.Destinations {
		x.destination(d)
	}
	return h.Last
}

func (x *examination) disk(dir string) {
	const remedy = "make room, or bound the journal with journal.retention"
	x.area = "journal"
	free, known := freeDisk(dir)
	switch {
	case !known:
	case free < noDisk:
		x.add(Error, remedy, "the disk has %s left: rows will be lost, and guarded tools denied", text.Bytes(free))
	case free < tightDisk:
		x.add(Warning, remedy, "the disk has %s left", text.Bytes(free))
	default:
		x.ok("the disk has %s left", text.Bytes(free))
	}
}

func (x *examination) destination(d journal.Destination) {
	x.area = "replication"
	waited := x.Now().Sub(d.Oldest).Round(time.Second)
	sent := "somebody sends"
	if d.LeasedUntil.Before(x.Now()) {
		sent = "nobody sends"
	}
	level, remedy := Note, ""
	if waited > lateRows {
		level, remedy = Warning, "start the agent that streams, and look for errors of BigQuery in its log"
	}
	if d.Rows == 0 {
		x.ok("%s has every row", d.Name)
	} else {
		x.add(level, remedy, "%s lacks %d rows, the oldest for %s; %s", d.Name, d.Rows, waited, sent)
	}
	if d.Graphs > 0 {
		x.add(Note, "", "%s lacks the graphs of sessions after %d requests for approval, answers and verdicts", d.Name, d.Graphs)
	}
	if d.DeadLetters > 0 {
		x.add(Warning, `see "contextgraph dead-letters"`, "%s refused %d rows for what they hold", d.Name, d.DeadLetters)
	}
}

// dataset looks at the dataset.
func (x *examination) dataset(ctx context.Context, cfg config.BigQuery) {
	x.area = "bigquery"
	d, err := x.Dataset(ctx, cfg)
	if err != nil {
		x.add(Error, "see docs/bigquery.md for credentials", "%v", err)
		return
	}
	defer d.Close()
	x.ok("there are credentials")
	missing, notes, err := d.Plan(ctx)
	name := d.Names().Project() + "." + d.Names().Dataset()
	if err != nil {
		x.add(Error, "give the permission that is named, wait where a quota is used up, or correct what is in the way; the quotas are in the console under IAM & Admin, Quotas", "%s: %v", name, err)
		return
	}
	if n := len(missing); n > 0 {
		x.add(Warning, `run "contextgraph init"; with --dry-run first to see what it does`, "%s lacks %d of its tables, columns, views or labels, or its graph", name, n)
	} else {
		x.ok("%s has its tables, views and graph", name)
	}
	for _, n := range notes {
		x.add(Note, "", "%s", n)
	}
}

// rules tries the rules on the newest sessions of the journal. It names rules that found nothing, and
// tools of the configuration that did not run there.
func (x *examination) rules(ctx context.Context, cfg config.Config) {
	x.area = "rules"
	if len(cfg.Extract) == 0 && len(cfg.Guard.Tools) == 0 {
		return
	}
	of, err := tried(ctx, cfg)
	switch {
	case err != nil:
		x.add(Error, "see the journal above", "the rules could not be tried on the sessions of the journal: %v", err)
		return
	case len(of.tools) == 0:
		return // nothing ran yet
	}
	vain := false
	for i, t := range of.total {
		if t.Unrepeated > 0 {
			x.add(Note, "register it, or write others: ignore", "rule %q: %s", t.Rule, setup.Unrepeated)
		}
		if level, why := Remark(cfg.Extract[i].WithDefaults(), t, of.tools); level != OK {
			vain = vain || level == Warning
			x.add(level, "contextgraph rules SESSION shows it for one session", "rule %q: %s, in the newest %s", t.Rule, why, of.sessions)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Guard.Tools)) {
		if !slices.ContainsFunc(of.tools, func(tool string) bool { return name == tool || text.MatchName(name, tool) }) {
			level, which := absent(name, of.tools)
			x.add(level, which, "guard.tools names the tool %q, which did not run in the newest %s", name, of.sessions)
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(of.notChecked)) {
		x.add(Note, "add a rule with in: action for each that says what a call acts on; arguments: strict denies the others",
			"no rule and no condition reads these arguments of %s: %s", tool, strings.Join(of.notChecked[tool], ", "))
	}
	if len(of.bare) > 0 {
		x.add(Note, "wrap those with Protect that read any; the log of the program names all such tools when it starts",
			"in the newest %s, approvals were asked without Protect around the tool, so what the call reads of the state and of artifacts is not compared: %s",
			of.sessions, strings.Join(of.bare, ", "))
	}
	if !vain {
		x.ok("no rule read rows in vain, in the newest %s", of.sessions)
	}
}

// Remark says why a rule found nothing, and how bad that is: [OK] if it found something or had nothing to find. tools
// are those that ran.
func Remark(r config.Extract, t graphsync.Tally, tools []string) (level Level, why string) {
	switch {
	case t.Failed > 0:
		return Warning, fmt.Sprintf("%d of %d rows contradict it: %s", t.Failed, t.Rows, t.Nearly)
	case t.Idle():
		return Warning, "it read rows and found nothing: " + t.Nearly
	case t.Found > 0:
		return OK, ""
	case t.Rows > 0:
		return OK, "the list that it reads was empty"
	case r.Tool == "":
		return OK, "no row of that event is on record"
	case slices.Contains(tools, r.Tool):
		return OK, fmt.Sprintf("no call of %s with such a part is on record", r.Tool)
	}
	level, which := absent(r.Tool, tools)
	return level, fmt.Sprintf("it reads the tool %q, which did not run; %s", r.Tool, which)
}

// absent says which tool was probably meant by one that did not run. Only then it is a warning.
func absent(name string, tools []string) (level Level, which string) {
	if near := text.Nearest(name, tools); near != "" {
		return Warning, fmt.Sprintf("did you mean %q?", near)
	}
	return Note, "tools that ran: " + strings.Join(tools, ", ")
}

// trial is what the newest sessions show of a configuration.
type trial struct {
	total []graphsync.Tally // what the rules found, in all
	tools []string          // those that ran
	// bare are the guarded tools that asked last without Protect around them.
	bare       []string
	notChecked map[string][]string // arguments, by guarded tool
	sessions   string              // how many there are, in words
}

// tried tries the rules on the newest sessions.
func tried(ctx context.Context, cfg config.Config) (t trial, err error) {
	extractor, err := setup.Extractor(cfg)
	if err != nil {
		return t, err
	}
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: cfg.Journal.WithDefaults().Path}})
	if err != nil {
		return t, err
	}
	defer j.Close(context.WithoutCancel(ctx)) // it wrote nothing
	list, err := j.Sessions(ctx, store.Query{Limit: newestSessions})
	if err != nil {
		return t, err
	}
	last := make(map[string]safety.Approval)
	var covered []string
	if cfg.Guard.Mode != config.ModeObserve {
		covered = setup.Covered(cfg)
	}
	t = trial{total: make([]graphsync.Tally, len(cfg.Extract)), notChecked: make(map[string][]string), sessions: "session"}
	if len(list) != 1 {
		t.sessions = fmt.Sprintf("%d sessions", len(list))
	}
	for _, s := range slices.Backward(list) {
		rows, err := store.Events(ctx, j, s.Session)
		if err != nil {
			return t, err
		}
		maps.Copy(t.notChecked, graphsync.NotChecked(rows))
		counts := graphsync.Fold(extractor, rows).Counts()
		t.tools = append(t.tools, counts.Tools...)
		for i, r := range cfg.Extract {
			one, sum := counts.Rule(r.Name), &t.total[i]
			sum.Rule = r.Name
			sum.Rows += one.Rows
			sum.Found += one.Found
			sum.Failed += one.Failed
			sum.Unrepeated += one.Unrepeated
			if one.Nearly != "" {
				sum.Nearly = one.Nearly
			}
		}
		approvals, err := j.Ledger().List(ctx, safety.Query{Session: s.Session})
		if err != nil {
			return t, err
		}
		for _, a := range approvals {
			guarded := len(config.Matching(cfg.Guard.Tools, a.Tool)) > 0 || slices.Contains(covered, a.Tool)
			if guarded && a.RequestedAt.After(last[a.Tool].RequestedAt) {
				last[a.Tool] = a
			}
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(last)) {
		if !last[tool].Surroundings.Watched {
			t.bare = append(t.bare, tool)
		}
	}
	slices.Sort(t.tools)
	t.tools = slices.Compact(t.tools)
	return t, nil
}

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
	x.area = "checkers"
	for _, s := range servers {
		name := s.root + " (" + strings.Join(s.types, ", ") + ")"
		switch {
		case s.err != nil:
			x.add(Error, "start it, or correct the URL: until it answers, every approval that rests on these types fails its check",
				"%s cannot be reached: %v", name, s.err)
		case !s.ends.IsZero() && s.ends.Sub(x.Now()) < soon:
			x.add(Warning, "renew the certificate", "%s is there, and its certificate ends at %s", name, s.ends.UTC().Format(time.RFC3339))
		default:
			x.ok("%s is there", name)
		}
	}
	for _, c := range checkers {
		remedy := "look at the log of the agent, and call Instance.Check there"
		if c.SQL != nil {
			remedy = "this command has no driver for it; the program tries the query when it starts, and its log says what the database does not take"
		}
		if why := setup.NeedsAgent(c); why != "" {
			x.add(Note, remedy, "only the process of the agent can check %s: %s", c.Type, why)
		}
	}
}

// clocks compares our clock with those of others.
func (x *examination) clocks(last time.Time, servers []*server) {
	x.area = "clock"
	const remedy = "synchronise the clocks, with NTP for example: a check refuses answers of the future"
	now := x.Now()
	switch ahead := last.Sub(now); {
	case last.IsZero():
	case ahead > aheadOfUs:
		x.add(Warning, remedy, "the newest row is of %s, %s ahead of this clock", last.UTC().Format(time.RFC3339), ahead.Round(time.Second))
	default:
		x.ok("the newest row is of %s, %s ago", last.UTC().Format(time.RFC3339), now.Sub(last).Round(time.Second))
	}
	for _, s := range servers {
		_, host, _ := strings.Cut(s.root, "://")
		off := s.read.Sub(s.date).Round(time.Second) // the header has whole seconds
		switch {
		case s.date.IsZero():
		case off.Abs() > apart:
			x.add(Warning, remedy, "%s is %s away from this clock", host, off.Abs())
		default:
			x.ok("%s has the time of this clock", host)
		}
	}
}
