// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

const (
	// streamTimeout bounds the sending of the rows. A table that was made a moment ago may not be
	// known to the servers of the stream for some minutes.
	streamTimeout = 6 * time.Minute
	// closeTimeout bounds the end of the stream.
	closeTimeout = 20 * time.Second
	// pollPause is between two looks whether the graphs are there.
	pollPause = 100 * time.Millisecond
	// copiesOfRows and copiesOfGraphs are how often the rows and the graphs stand in older days.
	// The oldest columns that a question reads are then more than a bounded one may read.
	copiesOfRows, copiesOfGraphs = 1000, 200
)

func createDataset(ctx context.Context, r *run) error {
	err := r.ds.CreateScratch(ctx, life)
	// Whoever is interrupted does not know whether it was made.
	r.created = err == nil || ctx.Err() != nil
	return err
}

// remove removes what the run made.
func remove(ctx context.Context, r *run) error {
	switch {
	case !r.created:
		return skip{"nothing was made"}
	case r.cfg.Keep:
		return skip{fmt.Sprintf("it is kept (--keep), and its tables expire in %s. It is removed by: %s", config.FormatDuration(life), r.removal())}
	}
	return r.ds.RemoveScratch(ctx)
}

// initTables makes everything but the graph.
func initTables(ctx context.Context, r *run) error { return r.init(ctx, false) }

// initGraph makes the property graph.
func initGraph(ctx context.Context, r *run) error { return r.init(ctx, true) }

// init makes what is missing, with the property graph or without.
func (r *run) init(ctx context.Context, graph bool) error {
	cfg := r.cfg.BigQuery
	cfg.Graph.GQL = &graph
	d, err := bigquery.NewDataset(ctx, cfg, r.cfg.Options)
	if err != nil {
		return err
	}
	report, err := d.Init(ctx, bigquery.InitOptions{NoDataset: true})
	for _, o := range report.Objects {
		if err == nil && graph && o.Kind == warehouse.KindGraph && o.Outcome == bigquery.Skipped {
			err = skip{"the project or its edition has no graphs: " + strings.Join(report.Notes, "; ")}
		}
	}
	return errors.Join(err, d.Close())
}

// connected calls do with a connection such as an agent has, which brings graphs or does not.
func (r *run) connected(ctx context.Context, graphs bool, do func(context.Context, warehouse.Connection) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	cfg := r.cfg.BigQuery
	cfg.Graph.Sync = &graphs
	c, err := bigquery.With(r.cfg.Options)(ctx, cfg, warehouse.Host{Journal: r.demo.journal, Sessions: r.demo.folds})
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if closed := c.Close(end); err == nil {
			err = closed
		}
	}()
	return do(ctx, c)
}

// streamRows sends the rows of the journal, waits until BigQuery has them, and reads those of a session.
func streamRows(ctx context.Context, r *run) error {
	err := r.connected(ctx, false, func(ctx context.Context, c warehouse.Connection) error {
		if err := c.Flush(ctx); err != nil {
			return cmp.Or(c.Status().LastError, err)
		}
		s := c.Status()
		if s.DeadLetters > 0 {
			return fmt.Errorf("BigQuery refused %d of %d rows: %w", s.DeadLetters, len(r.demo.rows), s.LastError)
		}
		return nil
	})
	if err != nil {
		return err
	}
	found, err := r.ds.FindSessions(ctx, record.Session{ID: asked.ID}, r.demo.from(), r.demo.to())
	if err != nil || len(found) != 1 {
		return cmp.Or(err, errNotFound)
	}
	want, err := store.Events(ctx, r.demo.journal, asked)
	if err != nil {
		return err
	}
	got, err := r.ds.ReadSession(ctx, found[0].Session, r.demo.from(), r.demo.to())
	if err != nil {
		return err
	}
	return compare(rowLines(want), rowLines(got))
}

func rowLines(rows []record.Event) (lines []string) {
	for _, e := range rows {
		lines = append(lines, fmt.Sprintf("row %s %s %s %s", e.EventID, e.EventType, e.SpanID, e.Time().Format(time.RFC3339Nano)))
	}
	return lines
}

// bringGraphs waits until a connection brought the graphs of the sessions with a request by itself.
func bringGraphs(ctx context.Context, r *run) error {
	graphs := r.demo.journal.Outbox(r.ds.Names().Destination()).Graphs()
	err := r.connected(ctx, true, func(ctx context.Context, c warehouse.Connection) error {
		look := time.NewTicker(pollPause)
		defer look.Stop()
		for {
			at, err := graphs.Position(ctx)
			if err != nil {
				return err
			}
			_, through, err := graphs.Triggers(ctx, at, 1)
			s := c.Status()
			refused, _ := errors.AsType[*replicate.Error](s.GraphError)
			switch {
			case err != nil:
				return err
			case s.GraphGivenUp > 0, refused != nil && refused.Class == replicate.ClassPermanent:
				return s.GraphError
			case at == through:
				return nil
			}
			select {
			case <-look.C:
			case <-ctx.Done():
				return cmp.Or(s.GraphError, context.Cause(ctx))
			}
		}
	})
	if err != nil {
		return err
	}
	return sessionAgrees(ctx, r)
}

// syncSession brings the graph of a session.
func (r *run) syncSession(ctx context.Context, s record.Session) error {
	g, err := bigquery.JournalGraph(ctx, r.demo.journal, r.demo.folds, s)
	if err != nil {
		return err
	}
	w := r.ds.GraphWriter()
	defer w.Close()
	_, err = w.Write(ctx, g)
	return err
}

// syncGraphs brings the graph of each session in two calls at a time, and then again.
func syncGraphs(ctx context.Context, r *run) error {
	for _, s := range r.demo.sessions {
		other := make(chan error, 1)
		go func() { other <- r.syncSession(ctx, s) }()
		if err := errors.Join(r.syncSession(ctx, s), <-other, r.syncSession(ctx, s)); err != nil {
			return err
		}
	}
	return sessionAgrees(ctx, r)
}

// sessionAgrees compares the graph of the session asked with that of the journal, answer by answer.
func sessionAgrees(ctx context.Context, r *run) error {
	kept, err := r.ds.Graph(ctx, ask.Scope{Session: asked, From: r.demo.from(), To: r.demo.to()})
	if err != nil {
		return err
	}
	want, err := r.demo.answers(r.demo.graph)
	if err != nil {
		return err
	}
	got, err := r.demo.answers(kept.Graph)
	if err != nil {
		return err
	}
	for _, c := range kept.Checks {
		got = append(got, fmt.Sprintf("check %s %s", c.ID, c.Verdict))
	}
	for _, e := range r.demo.graph.Trace().Timeline {
		if e.EventType == record.WorldChangeCheck {
			var attrs schema.Attributes
			if err := attrs.Read(e.Attributes); err != nil {
				return err
			}
			want = append(want, fmt.Sprintf("check %s %s", e.EventID, attrs.ADK.Verdict))
		}
	}
	return compare(want, got)
}

// syncDataset makes the graphs of the rows in the dataset, as sync --from dataset does.
func syncDataset(ctx context.Context, r *run) error {
	w := r.ds.GraphWriter()
	defer w.Close()
	var want, got []string
	for g, err := range r.ds.SessionGraphs(ctx, r.demo.sessions, nil, r.demo.from(), r.demo.to()) {
		if err == nil {
			_, err = w.Write(ctx, g.Graphs...)
		}
		if err != nil {
			return err
		}
		want = append(want, nodeKeys(r.demo.graphs[g.Session])...)
		for i := range g.Graphs {
			for _, n := range g.Graphs[i].Nodes {
				got = append(got, n.NodeKey)
			}
		}
	}
	if err := unordered(want, got); err != nil {
		return err
	}
	return sessionAgrees(ctx, r)
}

func nodeKeys(g *graphsync.Graph) (keys []string) {
	for _, n := range g.Nodes() {
		keys = append(keys, n.Key)
	}
	return keys
}

func ageEvents(ctx context.Context, r *run) error {
	names := r.ds.Names()
	var columns []string
	for _, c := range names.EventsTable().Columns {
		columns = append(columns, c.Name)
	}
	_, err := r.ds.Texts(ctx, "verify_age_events", struct{ Columns []string }{columns}, map[string]any{"copies": copiesOfRows})
	return err
}

func ageGraphs(ctx context.Context, r *run) error {
	_, err := r.ds.Texts(ctx, "verify_age_graphs", nil, map[string]any{"copies": copiesOfGraphs})
	return err
}
