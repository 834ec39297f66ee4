// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"sync"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Where a result came from that a model got and no tool that was called here gave.
const (
	givenByClient  = schema.GivenByClient // a user's message
	givenByEvent   = "event"              // an event that no recorded model call asked for
	givenByRequest = "request"            // only a request shows it: a callback put it there or changed it
)

// given is such a result.
type given struct {
	by, tool, call string
	value, input   any // the result, and the arguments of the call if they are known
	digest, args   jsonenc.Digest
	agent, branch  string
	span, parent   string
}

// give writes the row of a result that was given.
func (rec *Recorder) give(ctx context.Context, r *Run, g given) (written bool) {
	out := rec.emit(ctx, r, row{
		typ: record.ToolResultRewritten, agent: g.agent, branch: g.branch, span: g.span, parent: g.parent,
	}, body{
		content: func(d jsonenc.Doc) {
			d.Open('{')
			d.Str("tool", g.tool)
			d.Any("result", g.value)
			d.Close('}')
		},
		adk: func(d jsonenc.Doc) {
			d.OptStr("call_id", g.call)
			d.Str("given", g.by)
			if g.by == schema.GivenByHistory {
				r.place(d)
				if r.isAgent(g.tool) {
					d.Bool("agent", true)
				}
			}
			resultKeys(d, g.digest, g.args)
			if g.input != nil {
				rec.argsOfRead(d, g.tool, g.input)
			}
		},
	})
	rec.explain(r.Session, g.tool, g.digest, out)
	return out.event != ""
}

// knownResults bounds how many results of a session the recorder remembers to have written. If it
// forgets one, it looks at the events of the run again.
const knownResults = 4096

// results are those of a session that rows of this process have.
type results struct {
	mu  sync.Mutex
	all map[resultKey]bool
}

// explain remembers that a row has a result.
func (rec *Recorder) explain(s record.Session, tool string, digest jsonenc.Digest, out written) {
	if out.event == "" {
		return
	}
	of, ok := rec.results.Get(s)
	if !ok {
		of = &results{all: make(map[resultKey]bool)}
		rec.results.Add(s, of)
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	if len(of.all) == knownResults {
		clear(of.all)
	}
	of.all[resultKey{tool, digest}] = true
}

// explained reports whether a row of this process has a result.
func (rec *Recorder) explained(s record.Session, key resultKey) bool {
	of, ok := rec.results.Get(s)
	if !ok {
		return false
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	return of.all[key]
}

// unexplained writes a row for each result that a request is the first to show, unless the events of the
// run have it too: such a result may be on record, and whoever reads the record finds out.
func (rec *Recorder) unexplained(ctx context.Context, r *Run, l *llmSpan, list *shown) {
	if list == nil {
		return
	}
	for i := range list.results {
		s := &list.results[i]
		key := resultKey{s.tool, s.digest}
		if s.client || s.agent || rec.explained(r.Session, key) {
			continue
		}
		if len(r.past.all(key)) > 0 {
			continue
		}
		rec.give(ctx, r, given{
			by: givenByRequest, tool: s.tool, call: s.call, value: s.value, input: s.input, digest: s.digest, args: s.args,
			agent: l.agent.name, branch: l.agent.branch, span: l.id, parent: l.agent.id,
		})
	}
}

// Give writes a row for each of these results, which requests of models showed and no row has, if the events
// of the run have its value. It returns those without one. The run is that of ctx, as [Detach] keeps it.
func (rec *Recorder) Give(ctx context.Context, list []record.Shown) (without []record.Shown) {
	r := rec.within(ctx)
	if r == nil || r.past == nil {
		return list
	}
	for _, s := range list {
		g := given{by: givenByRequest, tool: s.Tool, call: s.Call, span: r.RootSpan, agent: r.RootAgent}
		copy(g.digest[:], s.Result)
		copy(g.args[:], s.Args)
		fr, args := r.past.result(resultKey{s.Tool, g.digest}, g.args)
		if fr != nil {
			g.value = fr.Response
		}
		if args != nil {
			g.input = args
		}
		// The value may have been changed in place since the event was looked at.
		if fr == nil || rec.digest(fr.Response) != g.digest || !rec.give(ctx, r, g) {
			without = append(without, s)
		}
	}
	return without
}

// within returns the run that the work of ctx is for, nil if there is none.
func (rec *Recorder) within(ctx context.Context) *Run {
	if ic := Within(ctx); ic != nil {
		return rec.runs.get(keyOf(ic))
	}
	return nil
}
