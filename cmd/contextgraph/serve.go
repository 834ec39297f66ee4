// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/safety"
)

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
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), f) },
	}
	a.fromFlag(c)
	flags := c.Flags()
	flags.StringVar(&f.addr, "addr", f.addr, "address to listen at; port 0 is a free one")
	flags.BoolVar(&f.remote, "allow-remote", false, "allow an address that other machines reach")
	flags.StringSliceVar(&f.hosts, "host", nil, "with --allow-remote: name that browsers use for this machine; may be repeated")
	flags.BoolVar(&f.open, "open", false, "open the page in the browser")
	flags.BoolVar(&f.decisions, "allow-decisions", false, "let the page approve and reject; needs --agent")
	flags.StringVar(&f.agent, "agent", "", "root of the agent's ADK REST API, such as http://localhost:8080/api")
	f.addCheck(c)
	f.addHeaders(c)
	return c
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
	case f.decisions && from != fromJournal:
		return errors.New("--allow-decisions goes with the journal: leave --from out")
	}
	return nil
}

func (a *app) serve(ctx context.Context, f serveFlags) (err error) {
	if err := f.fault(a.from); err != nil {
		return usageError{err}
	}
	hosts, err := f.hostNames()
	if err != nil {
		return usageError{err}
	}
	cfg, err := a.fileConfig()
	if err != nil {
		return err
	}
	options := viewer.Options{
		Hosts: hosts, Names: a.codeNames(cfg), Version: buildVersion(), Now: a.now,
		Logger: slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if options.Queries, err = viewer.Queries(cfg.BigQuery); err != nil {
		return err
	}
	src, err := a.source(ctx)
	if err != nil {
		return err
	}
	defer src.close()
	options.Source = src.Source
	options.Overriders = func(tool string) []string { return safety.Overriders(cfg.Guard, tool) }
	if src.journal != nil {
		update := func(ctx context.Context) error { return inspect.KeepSummaries(ctx, src.Source, a.now()) }
		defer keepSummaries(ctx, update, options.Logger)()
		options.Changes = src.journal.LastSeq
		switch agent, err := f.checker(); {
		case err != nil:
			return err
		case agent != nil:
			options.Check = agent
		case !f.remote: // others than this machine reach the page then
			options.Check = setup.RecordedChecker{Config: cfg, Journal: src.journal}
		}
	}
	token := ""
	if f.decisions {
		agent, err := f.way()
		if err != nil {
			return err
		}
		defer func() {
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), viewer.StopTime)
			defer cancel()
			if agent.Close(ending) != nil {
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
