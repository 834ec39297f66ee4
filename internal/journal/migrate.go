// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"embed"
	"fmt"
	"io/fs"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// applicationID marks a SQLite file as a journal: the letters "cxgj".
const applicationID = 0x6378676a

//go:embed sql/migrations/*.sql
var migrationFiles embed.FS

// migrations holds the steps in order; step i leads from version i to i+1 and is
// never changed once released.
var migrations = []string{
	"sql/migrations/0001_journal.sql",
	"sql/migrations/0002_retention.sql",
	"sql/migrations/0003_losses.sql",
	"sql/migrations/0004_outbox.sql",
	"sql/migrations/0005_history.sql",
	"sql/migrations/0006_milestones.sql",
	"sql/migrations/0007_evidence.sql",
	"sql/migrations/0008_plans.sql",
	"sql/migrations/0009_rules.sql",
	"sql/migrations/0010_people.sql",
	"sql/migrations/0011_graphs.sql",
}

// migrate applies the steps that the file lacks, each in one transaction together
// with the version it leads to. Another process may do the same at the same time:
// the version is read again under the write lock.
func migrate(conn *sqlite.Conn, steps []string) error {
	return migrateFS(conn, migrationFiles, steps)
}

func migrateFS(conn *sqlite.Conn, files fs.FS, steps []string) error {
	for {
		version, err := userVersion(conn)
		if err != nil {
			return err
		}
		if version > len(steps) {
			return fmt.Errorf("the file has version %d, this program knows versions up to %d: upgrade the program, or choose another path", version, len(steps))
		}
		if version == len(steps) {
			return nil
		}
		if err := migrateStep(conn, files, version, steps[version]); err != nil {
			return fmt.Errorf("upgrade from version %d to %d: %w", version, version+1, err)
		}
	}
}

func migrateStep(conn *sqlite.Conn, files fs.FS, version int, name string) (err error) {
	script, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	end, err := sqlitex.ImmediateTransaction(conn)
	if err != nil {
		return err
	}
	defer end(&err)
	now, err := userVersion(conn)
	if err != nil || now != version {
		return err
	}
	if err := sqlitex.ExecuteScript(conn, string(script), nil); err != nil {
		return err
	}
	return execAll(conn,
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", version+1),
	)
}

func userVersion(conn *sqlite.Conn) (int, error) {
	var v int
	err := queryRow(conn, "PRAGMA user_version", func(s *sqlite.Stmt) { v = s.ColumnInt(0) })
	return v, err
}
