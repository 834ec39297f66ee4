// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

const (
	// defaultPage is the file that view writes.
	defaultPage = "contextgraph.html"
	// viewNewest is how many sessions are on a page that names none.
	viewNewest = 20
)

func (a *app) viewCommand() *cobra.Command {
	var of record.Session
	var all bool
	var last int
	file := defaultPage
	c := &cobra.Command{
		Use:   "view [SESSION...]",
		Short: "Write sessions to one HTML page that works without a server and a network",
		Long: fmt.Sprintf(`view writes one HTML file with the named sessions, or with the newest %d: the graph of why, the
thoughts, the timeline, and every approval. The file fetches nothing. It holds all payloads of its
sessions, up to %d MiB, so treat it like the journal. It replaces an earlier page and no other file.`, viewNewest, viewer.MaxBytes>>20),
		Example: `  contextgraph view s-123 s-124 --file review.html
  contextgraph view --all --from rows.ndjson --file all.html`,
		Args: argCount(0, -1, "the ids of sessions"),
	}
	ownerFlags(c, &of)
	flags := c.Flags()
	flags.BoolVar(&all, "all", false, "all sessions")
	flags.IntVar(&last, "last", viewNewest, "how many of the newest sessions")
	flags.StringVar(&file, "file", file, "file to write")
	c.PreRunE = func(_ *cobra.Command, ids []string) error {
		counted := flags.Changed("last")
		switch {
		case counted && last < 1:
			return usageError{fmt.Errorf("--last %d: it must be positive", last)}
		case len(ids) > 0 && (all || counted) || all && counted:
			return usageError{errors.New("sessions by their ids, --last and --all are one thing each: give one of them")}
		case file == "":
			return usageError{errors.New("--file is empty: name a file such as " + defaultPage)}
		}
		return replaceable(file)
	}
	return a.reads(c, func(ctx context.Context, src opened, ids []string) error {
		doc := viewer.Document{Generated: a.now(), Names: a.codeNames(src.cfg), Version: buildVersion()}
		var err error
		if doc.Queries, err = viewer.Queries(src.cfg.BigQuery); err != nil {
			return err
		}
		if len(ids) > 0 {
			err = a.chosen(ctx, &doc, src, ids, of)
		} else {
			choice := viewer.Choice{App: of.App, User: of.User, Last: last}
			if all {
				choice.Last = 0
			}
			err = doc.Newest(ctx, src, choice)
		}
		switch {
		case err != nil:
			return err
		case len(doc.Sessions) == 0:
			return exit{exitNotFound, fmt.Errorf("%s has no sessions to show: run the agent first, or look elsewhere with --journal or --from", src.Name())}
		}
		if err := writeAtomically(file, func(w io.Writer) error { return viewer.Write(w, doc) }); err != nil {
			return err
		}
		out := viewed{File: file, Complete: doc.Complete, Note: doc.Note}
		for _, s := range doc.Sessions {
			out.Sessions = append(out.Sessions, s.Session)
		}
		if a.output == outputTable {
			a.note("%s", doc.Note)
		}
		return a.print(out, func(t *table) { t.line(out.File) })
	})
}

// viewed is what view prints.
type viewed struct {
	File     string           `json:"file"`
	Sessions []record.Session `json:"sessions"`
	Complete bool             `json:"complete"`
	Note     string           `json:"note"`
}

// codeNames are the names that fill in the code on a page.
func (a *app) codeNames(cfg config.Config) viewer.CodeNames {
	b := cfg.BigQuery.WithDefaults()
	names := viewer.CodeNames{Config: cmp.Or(a.configPath, defaultConfig)}
	if cfg.BigQuery.Enabled() {
		names.Project, names.Dataset, names.Location = b.Project, b.Dataset, b.Location
	}
	return names
}

// chosen puts the sessions with the ids on the page, each once.
func (a *app) chosen(ctx context.Context, doc *viewer.Document, src opened, ids []string, of record.Session) error {
	keys, err := a.named(ctx, src, ids, of)
	if err != nil {
		return err
	}
	out := make([]*inspect.Session, len(keys))
	for i, key := range keys {
		if out[i], err = inspect.Look(ctx, src, key, a.now()); err != nil {
			return err
		}
	}
	doc.Chosen(src, out)
	return nil
}

// replaceable reports why a file must not be written: one that is there and is no page.
func replaceable(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s cannot be replaced: %w; name another one with --file", name, err)
	}
	if n > 0 && !bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(head[:n])), []byte("<!doctype html>")) {
		return fmt.Errorf("%s is there and is no page: name another one with --file, or remove it", name)
	}
	return nil
}

const (
	// defaultAddr is where serve listens.
	defaultAddr = "127.0.0.1:8787"
	// tokenVariable holds the token for decisions.
	tokenVariable = "CONTEXTGRAPH_TOKEN"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	agentFlags
	addr         string
	remote, open bool
	hosts        []string
	decisions    bool
}

func (a *app) serveCommand() *cobra.Command {
	f := serveFlags{addr: defaultAddr}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the page live from a journal, on this machine",
		Long: `serve shows the sessions of the journal in a browser and updates them as agents run. It prints
the address to open and runs until Ctrl-C. It is for this machine alone: whoever reaches the
address reads every payload without a password.

On loopback the page can check an open request now, by the checkers over HTTP or, with
--agent-check, by the agent. With --allow-decisions it can approve and reject: an answer goes to
the agent at --agent, as a message of the user of the session. That needs the token in
` + tokenVariable + `, or else the one in the address that is printed.`,
		Example: `  contextgraph serve --addr 127.0.0.1:9000 --journal agents/contextgraph.db --open
  contextgraph serve --allow-decisions --agent http://localhost:8080/api
  contextgraph serve --agent-check http://localhost:8080/contextgraph/check`,
		Args: noArgs,
	}
	flags := c.Flags()
	flags.StringVar(&f.addr, "addr", f.addr, "address to listen at; port 0 is a free one")
	flags.BoolVar(&f.remote, "allow-remote", false, "allow an address that other machines reach")
	flags.StringSliceVar(&f.hosts, "host", nil, "with --allow-remote: name that browsers use for this machine; may be repeated")
	flags.BoolVar(&f.open, "open", false, "open the page in the browser")
	flags.BoolVar(&f.decisions, "allow-decisions", false, "let the page approve and reject; needs --agent")
	flags.StringVar(&f.agent, "agent", "", "root of the agent's ADK REST API, such as http://localhost:8080/api")
	f.addCheck(c)
	f.addHeaders(c)
	var hosts []string
	c.PreRunE = func(*cobra.Command, []string) (err error) {
		if err = f.fault(a.from); err == nil {
			hosts, err = f.hostNames()
		}
		if err != nil {
			err = usageError{err}
		}
		return err
	}
	return a.reads(c, func(ctx context.Context, src opened, _ []string) error { return a.serve(ctx, src, f, hosts) })
}

// hostNames checks the address and returns the names that the server answers to.
func (f *serveFlags) hostNames() ([]string, error) {
	host, _, err := net.SplitHostPort(f.addr)
	if err != nil {
		return nil, fmt.Errorf("--addr %q: write an address with a port, such as %s", f.addr, defaultAddr)
	}
	names := []string{"localhost", "127.0.0.1", "::1"}
	ip := net.ParseIP(host)
	local := host == "localhost" || ip.IsLoopback()
	switch {
	case local && f.remote:
		return nil, fmt.Errorf("--allow-remote goes with an address that other machines reach, and %s is not one", f.addr)
	case local && len(f.hosts) > 0:
		return nil, errors.New("--host goes with --allow-remote")
	case local:
		return append(names, host), nil
	case !f.remote:
		return nil, fmt.Errorf("%s may be reached from other machines, and whoever does reads every payload: use %s and a tunnel such as ssh -L, or add --allow-remote", f.addr, defaultAddr)
	case f.decisions:
		return nil, errors.New("--allow-decisions is for loopback: whoever hears the token approves in your name; use a tunnel such as ssh -L")
	case (host == "" || ip.IsUnspecified()) && len(f.hosts) == 0:
		return nil, fmt.Errorf("%s is every address of this machine: give the name that browsers use with --host, so that no other web page can read the record under another name", f.addr)
	}
	if host != "" && !ip.IsUnspecified() {
		names = append([]string{host}, names...)
	}
	return append(f.hosts[:len(f.hosts):len(f.hosts)], names...), nil
}

// fault returns what is wrong with flags that do not go together.
func (f *serveFlags) fault(from string) error {
	switch {
	case f.decisions && f.agent == "":
		return errors.New("--allow-decisions needs --agent: who asked takes the answer")
	case !f.decisions && f.agent != "":
		return errors.New("--agent goes with --allow-decisions")
	case !f.decisions && f.check == "" && len(f.headers) > 0:
		return errors.New("--agent-header goes with --allow-decisions or --agent-check")
	case f.remote && f.check != "":
		return errors.New("--agent-check is for loopback: whoever reaches the page could make the agent ask other systems; use a tunnel such as ssh -L")
	case f.decisions && from != fromJournal && !isDatabase(from):
		return errors.New("--allow-decisions goes with the journal: leave --from out")
	}
	return nil
}

func (a *app) serve(ctx context.Context, src opened, f serveFlags, hosts []string) (err error) {
	options := viewer.Options{
		Source: src.Source, Hosts: hosts, Names: a.codeNames(src.cfg), Version: buildVersion(), Now: a.now,
		Overriders: func(tool string) []string { return safety.Overriders(src.cfg.Guard, tool) },
		Logger:     slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if options.Queries, err = viewer.Queries(src.cfg.BigQuery); err != nil {
		return err
	}
	if src.journal != nil {
		update := func(ctx context.Context) error { return inspect.KeepSummaries(ctx, src.Source, a.now()) }
		defer keepSummaries(ctx, update, options.Logger)()
		options.Changes = src.journal.Changes
		switch agent, err := f.checker(); {
		case err != nil:
			return err
		case agent != nil:
			options.Check = agent
		case !f.remote: // others than this machine reach the page then
			options.Check = setup.RecordedChecker{Config: src.cfg, Journal: src.journal}
		}
	}
	token := ""
	if f.decisions {
		agent, end, err := f.way(ctx)
		if err != nil {
			return err
		}
		defer func() {
			if end() != nil {
				a.note("a turn of the agent was still under way; it may go on there")
			}
		}()
		options.Decide = agent
		if options.Token = os.Getenv(tokenVariable); options.Token != "" {
			a.note("decisions need the token in %s", tokenVariable)
		} else {
			token = rand.Text()
			options.Token = token
		}
	}
	handler, err := viewer.NewHandler(options)
	if err != nil {
		return err
	}
	return a.listen(ctx, f, handler, hosts[0], token)
}

// summaryInterval is the least time between two looks for sessions without a summary.
const summaryInterval = 10 * time.Second

// keepSummaries calls update again and again, until ctx ends or the function that it returns is called. It
// rests ten times as long as it worked. The log hears of an error once.
func keepSummaries(ctx context.Context, update func(context.Context) error, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		failed := ""
		for ctx.Err() == nil {
			begin := time.Now()
			if err := update(ctx); err != nil && ctx.Err() == nil && err.Error() != failed {
				failed = err.Error()
				log.Warn("the summaries of sessions could not be brought up to date", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(max(summaryInterval, 10*time.Since(begin))):
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// listen serves until ctx ends. token stands in the address that is printed, "" for none.
func (a *app) listen(ctx context.Context, f serveFlags, handler http.Handler, host, token string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.addr)
	if err != nil {
		return fmt.Errorf("%w; name a free address with --addr", err)
	}
	if !f.remote {
		host, _, _ = net.SplitHostPort(f.addr) // it was read before
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	url := "http://" + net.JoinHostPort(host, port) + "/"
	if token == "" {
		fmt.Fprintln(a.stdout, url)
	} else {
		fmt.Fprintln(a.stdout, url+"#token="+token)
		a.note("the address has the token for decisions in it: whoever has it approves in your name")
	}
	if f.remote {
		a.note("every payload can be read by whoever reaches %s, without a password and unencrypted", url)
	}
	if f.open { // without the token: others can see the arguments of a program that runs
		if err := openBrowser(ctx, url); err != nil {
			a.note("the browser did not start: %v; open %s yourself", err, url)
		}
	}
	return viewer.Serve(ctx, listener, handler)
}

// openBrowser starts what shows pages on this system.
func openBrowser(ctx context.Context, url string) error {
	command := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if command == nil {
		command = []string{"xdg-open"}
	}
	c := exec.CommandContext(context.WithoutCancel(ctx), command[0], append(command[1:], url)...)
	if err := c.Start(); err != nil {
		return err
	}
	go func() { _ = c.Wait() }() // whatever becomes of it
	return nil
}
