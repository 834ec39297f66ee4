// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strconv"
	"strings"
)

// Store names another place for rows and approvals than the file of the journal: one that several
// machines share. Of [Journal], CommitInterval, QueueBytes, OnFull and Retention.MaxAge hold for it too.
type Store struct {
	// Postgres is a PostgreSQL database, by package pgstore.
	Postgres Postgres `yaml:"postgres"`
}

// Postgres is a database in which the replicas of an agent keep their rows and approvals: what one of
// them asks, any other may be answered. They stand in a schema of their own, contextgraph. Large and
// binary parts are kept in a bucket, or not at all, because a folder is one machine's.
type Postgres struct {
	// DSN names the server, the database and the role, as "${DATABASE_URL}". It may be a URL, or words
	// such as host=db user=agent. Defaults to none: the file of the journal.
	DSN Secret `yaml:"dsn"`
	// Place is where DSN stands, as file and line. Parse sets it.
	Place string `yaml:"-"`
}

// check reports keys that mean nothing for a store of several machines.
func (c *Config) checkStore(p *problems) {
	if c.Store.Postgres.DSN == "" {
		return
	}
	const at = "store.postgres"
	p.when(c.Journal.Path != "", "journal.path", "the rows have two places: this file, and "+at, "remove journal.path, or the section store")
	p.when(c.Journal.Retention.MaxSize != 0, "journal.retention.max_size", "this is the size of a file, and "+at+" has none", "remove it, and write journal.retention.max_age")
	p.when(c.Journal.Durability == DurabilityMemory, "journal.durability", "a database commits what it is given, so memory means nothing for "+at, "remove it")
	folder := c.Record.Artifacts.Store
	p.when(folder != "" && folder != StoreOff && !strings.HasPrefix(folder, "gs://"), "record.artifacts.store",
		Quote(folder)+" is a folder of one machine, and "+at+" is for several", "write a bucket, such as gs://bucket/prefix, or off")
}

// Fault returns the error that the database cannot be used, with the place of its name.
func (c Postgres) Fault(problem, remedy string) error {
	e := &Error{Key: "store.postgres.dsn", Problem: problem, Remedy: remedy}
	if i := strings.LastIndexByte(c.Place, ':'); i >= 0 {
		e.File = c.Place[:i]
		e.Line, _ = strconv.Atoi(c.Place[i+1:])
	}
	return e
}
