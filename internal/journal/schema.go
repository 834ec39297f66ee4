// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// applicationID marks a SQLite file as a journal: the letters "cxgj".
const applicationID = 0x6378676a

// schemaVersion is the version of a journal file. Every change of sql/schema.sql raises it.
const schemaVersion = 18

//go:embed sql/schema.sql
var schemaSQL string

// createSchema makes the tables of a new file in one transaction. Another process may do the same at
// the same time, so the file is checked again under the write lock.
func createSchema(conn *sqlite.Conn, path string) (err error) {
	end, err := sqlitex.ImmediateTransaction(conn)
	if err != nil {
		return err
	}
	defer end(&err)
	isNew, err := checkFile(conn, path)
	if err != nil || !isNew {
		return err
	}
	if err := sqlitex.ExecuteScript(conn, schemaSQL, nil); err != nil {
		return fmt.Errorf("create the tables: %w", err)
	}
	return execAll(conn,
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", schemaVersion),
	)
}

// checkFile refuses a file that is not a journal of this version, before anything in it is changed.
// isNew is set for a file without content.
func checkFile(conn *sqlite.Conn, path string) (isNew bool, err error) {
	var id, version, tables int64
	err = queryRow(conn, selectHeaderSQL, func(s *sqlite.Stmt) {
		id, version, tables = s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2)
	})
	if sqlite.ErrCode(err) == sqlite.ResultNotADB {
		// Not wrapped: the remedy for a damaged file does not help here.
		return false, fmt.Errorf("the file is not a SQLite database: choose another path: %v", err)
	}
	if err != nil {
		return false, err
	}
	isNew = id == 0 && version == 0 && tables == 0
	switch {
	case isNew:
		return true, nil
	case id != applicationID:
		return false, errors.New("the file is a SQLite database of another program: choose another path")
	case version != schemaVersion:
		return false, fmt.Errorf("the file has version %d and this program needs version %d: "+
			"export its rows with the program that wrote it (contextgraph export --all --journal %q --file rows.ndjson), "+
			"then import them with this one (contextgraph import rows.ndjson --journal NEW.db)", version, schemaVersion, path)
	}
	return false, checkSchema(conn)
}

// checkSchema refuses a file with code in it that no journal has: views and triggers run when
// their names are read or written, and virtual and generated columns when they are read. So every
// table, view and trigger has to be one of schema.sql, word for word.
func checkSchema(conn *sqlite.Conn) error {
	return query(conn, selectObjectsSQL, func(*binder) {}, func(stmt *sqlite.Stmt) error {
		kind, name, code := stmt.ColumnText(0), stmt.ColumnText(1), stmt.ColumnText(2)
		if strings.Contains(schemaSQL, code) {
			return nil
		}
		return fmt.Errorf("the file has a %s %q, which no journal has: somebody else made or changed it, so do not use it", kind, text.Clip(text.Visible(name), 64))
	})
}
