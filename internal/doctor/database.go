// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/postgres"
)

// database looks at the database that the replicas of an agent share.
func (x *examination) database(ctx context.Context, cfg config.Config) {
	x.area = "store"
	h, err := postgres.Examine(ctx, postgres.Config{Config: cfg})
	if err != nil {
		x.add(Error, "mend what it names: until then nothing is asked, answered or run", "%v", err)
		return
	}
	x.ok("%s answers, with version %d of PostgreSQL", h.Name, h.Version)
	const init = `run "contextgraph init --store", by a role that may change it`
	switch {
	case h.Schema == 0:
		x.add(Note, "run the agent, or "+strings.TrimPrefix(init, "run "), "it has no schema contextgraph yet")
	case h.Schema < h.Newest:
		x.add(Error, init, "the schema contextgraph has version %d, and this program needs %d", h.Schema, h.Newest)
	case h.Schema > h.Newest:
		x.add(Error, "run the version of contextgraph that made it", "the schema contextgraph has version %d, and this program knows %d", h.Schema, h.Newest)
	default:
		x.ok("the schema contextgraph has version %d", h.Schema)
	}
	switch {
	case len(h.Missing) > 0:
		x.add(Error, "grant the role of the agent what docs/production.md says", "the role has no right to %s", strings.Join(h.Missing, ", "))
	case h.Schema > 0:
		x.ok("the role has the rights of an agent")
	}
	if off := h.Ahead.Abs() - h.Within; off > apart {
		x.add(Warning, "synchronise the clocks, with NTP for example", "the clock of the server is %s away from this one", h.Ahead.Abs().Round(time.Second))
	} else {
		x.ok("the server has the time of this clock")
	}
	switch {
	case h.Standby:
		x.add(Error, "name the server that it follows", "it is a standby: nothing can be written")
	case len(h.Asynchronous) > 0:
		x.add(Warning, "name them in synchronous_standby_names, or accept that approvals which are open at a failover are in doubt",
			"standbys that may lack the last steps of approvals: %s", strings.Join(h.Asynchronous, ", "))
	default:
		x.ok("there is no standby that may lack what is committed")
	}
	if h.Commit == "off" {
		x.add(Note, "", "synchronous_commit is off: a crash of the server may lose the newest rows, and no step of an approval")
	}
	switch {
	case h.Pooled && h.Prepared:
		x.add(Error, "remove default_query_exec_mode from the connection string", "a pool stands before the server, and loses the prepared statements that the connection string asks for")
	case h.Pooled:
		x.ok("a pool of connections stands before the server; no statement needs a connection of its own")
	default:
		x.ok("no pool stands before the server")
	}
}
