// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	adksession "google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/examples/adcp/internal/adserver"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Who the demo's sessions belong to.
const (
	appName = "adcp"
	userID  = "buyer-agent"
)

//go:embed contextgraph.yaml
var configYAML []byte

// configuredServer is the ad server's address in contextgraph.yaml.
const configuredServer = "http://127.0.0.1:8080"

// demo is the whole cast of a run: the ad server, the agents with contextgraph around them, and a buyer.
type demo struct {
	server   *adserver.Server
	base     string // of the server
	instance *contextgraph.Instance
	buyer    *buyer
}

// cast builds the agents around a model and tools: [newAgents] or [newFlow].
type cast func(llm model.LLM, tools *mediaTools, protect func(tool.Tool) tool.Tool) (agent.Agent, error)

// openDemo starts everything, with the configuration in yaml. The caller closes the demo, also after an error.
func openDemo(ctx context.Context, journal string, yaml []byte, agents cast) (*demo, error) {
	d := &demo{}
	catalog, err := adserver.DemoCatalog()
	if err != nil {
		return d, err
	}
	d.server = adserver.New(catalog)
	if d.base, err = d.server.Start(); err != nil {
		return d, err
	}
	if err := writeConfig(filepath.Dir(journal), d.base); err != nil {
		return d, err
	}
	cfg, err := demoConfig(yaml, d.base, journal)
	if err != nil {
		return d, err
	}
	// The demo prints the gate's decisions; only faults are worth a log line.
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if d.instance, err = contextgraph.Open(ctx, cfg, contextgraph.WithLogger(log)); err != nil {
		return d, err
	}
	root, err := agents(scriptedModel{}, &mediaTools{ads: d.server, record: d.instance.RecordEntity}, d.instance.Protect)
	if err != nil {
		return d, err
	}
	r, err := runner.New(runner.Config{
		AppName:           appName,
		Agent:             root,
		SessionService:    adksession.InMemoryService(),
		PluginConfig:      d.instance.PluginConfig(),
		AutoCreateSession: true,
	})
	if err != nil {
		return d, err
	}
	d.buyer = &buyer{runner: r, user: userID}
	return d, nil
}

// close ends what openDemo started.
func (d *demo) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var errs []error
	if d.instance != nil {
		errs = append(errs, d.instance.Close(ctx), d.instance.Stats().Check())
	}
	if d.server != nil {
		errs = append(errs, d.server.Close())
	}
	return errors.Join(errs...)
}

// demoConfig is the configuration in yaml with the addresses of this run. The environment does not enter: the demo must end
// the same way everywhere.
func demoConfig(yaml []byte, server, journal string) (contextgraph.Config, error) {
	cfg, err := config.Parse("contextgraph.yaml", yaml, nil)
	if err != nil {
		return contextgraph.Config{}, err
	}
	cfg.Journal.Path = journal
	for _, c := range cfg.Checkers {
		c.HTTP.URL = strings.Replace(c.HTTP.URL, configuredServer, server, 1)
	}
	return cfg, nil
}

// play runs one session: the brief, the request for approval, the change of the world, the
// approval.
func (d *demo) play(ctx context.Context, s scenario) (result, error) {
	first, err := d.buyer.brief(ctx, s.session, s.brief)
	if err != nil {
		return result{}, err
	}
	if len(first.asks) != 1 {
		return result{}, fmt.Errorf("session %s: %d requests for approval, want 1; the agents said: %s", s.session, len(first.asks), first.text)
	}
	if err := s.happen(d.server); err != nil {
		return result{}, fmt.Errorf("session %s: %w", s.session, err)
	}
	second, err := d.buyer.answer(ctx, s.session, first.asks[0], true)
	if err != nil {
		return result{}, err
	}
	return d.look(ctx, s, second.text)
}

// look collects what contextgraph recorded of a session.
func (d *demo) look(ctx context.Context, s scenario, said string) (result, error) {
	key := record.Session{App: appName, User: userID, ID: s.session}
	fail := func(err error) (result, error) {
		return result{}, fmt.Errorf("session %s: %w", s.session, err)
	}
	graph, err := d.instance.Graph(ctx, key)
	if err != nil {
		return fail(err)
	}
	approvals, err := d.instance.Approvals(ctx, key)
	if err != nil {
		return fail(err)
	}
	if len(approvals) != 1 {
		return fail(fmt.Errorf("%d approvals in the ledger, want 1", len(approvals)))
	}
	why, err := d.instance.Why(ctx, key)
	if err != nil {
		return fail(err)
	}
	r := result{scenario: s, entities: approvals[0].Entities, why: reasons(why), said: said, live: d.liveCampaign(s.brief.Account)}
	if len(approvals[0].Report) > 0 {
		if err := json.Unmarshal(approvals[0].Report, &r.check); err != nil {
			return fail(fmt.Errorf("the report of the check: %w", err))
		}
	}
	for i, f := range r.check.Failures { // the port says nothing
		r.check.Failures[i].Detail = strings.ReplaceAll(f.Detail, d.base, "")
	}
	trace := graph.Trace()
	for _, root := range trace.Roots {
		if root.Node.Kind == graphsync.KindInvocation {
			r.turns++
		}
	}
	for _, row := range trace.Timeline {
		r.addRow(row.EventType)
	}
	return r, nil
}

// liveCampaign asks the ad server itself, not the agents, for the live campaign.
func (d *demo) liveCampaign(account string) string {
	for _, c := range d.server.Campaigns() {
		if c.Account == account && c.Status == adserver.StatusLive {
			return c.ID
		}
	}
	return ""
}

func (r *result) addRow(eventType string) {
	for i := range r.rows {
		if r.rows[i].name == eventType {
			r.rows[i].n++
			return
		}
	}
	r.rows = append(r.rows, count{eventType, 1})
}

// reasons groups the entities that reached the request on the same path.
func reasons(why []graphsync.Reason) []reason {
	var groups []reason
	index := make(map[string]int)
	for _, w := range why {
		var path strings.Builder
		var steps []step
		for _, s := range w.Path {
			path.WriteString(s.Node.Key + string(s.Edge) + "\n")
			steps = append(steps, step{agent: s.Node.Agent, span: spanName(s.Node), edge: string(s.Edge)})
		}
		i, ok := index[path.String()]
		if !ok {
			i = len(groups)
			index[path.String()] = i
			groups = append(groups, reason{steps: steps})
		}
		groups[i].entities = append(groups[i].entities, w.Entity.Value)
	}
	return groups
}

// spanName says what a span is: its kind and, where it has a name of its own, that.
func spanName(n graphsync.TechNode) string {
	switch n.Kind {
	case graphsync.KindTool, graphsync.KindHITL:
		return string(n.Kind) + " " + n.Name
	default:
		return string(n.Kind)
	}
}

// runDemo plays all sessions and prints each. The error joins what did not end as it must.
func runDemo(ctx context.Context, journal string, agents cast, out io.Writer) (err error) {
	d, err := openDemo(ctx, journal, configYAML, agents)
	defer func() { err = errors.Join(err, d.close(ctx)) }()
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range scenarios() {
		r, err := d.play(ctx, s)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		if err := printSession(out, r); err != nil {
			return err
		}
		errs = append(errs, s.verify(r))
	}
	return errors.Join(errs...)
}
