// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"

	"zombiezen.com/go/sqlite"
)

// SetRules notes that a process records under rules, a JSON text with the digest. They are then the
// newest. It writes nothing if they are already.
func (j *Journal) SetRules(ctx context.Context, digest string, rules []byte) error {
	if digest == "" {
		return errors.New("journal: note the rules: they have no digest")
	}
	newest := ""
	err := j.read(ctx, "look for the newest rules", func(conn *sqlite.Conn) error {
		return query(conn, selectRulesSQL, func(b *binder) { b.text("") }, func(stmt *sqlite.Stmt) error {
			newest = stmt.ColumnText(0)
			return nil
		})
	})
	if err != nil || newest == digest {
		return err
	}
	text := string(rules) // a copy: the writer may use it when ctx has ended
	return j.write(ctx, "note the rules "+digest, j.w.level, func(conn *sqlite.Conn) error {
		return exec(conn, upsertRulesSQL, func(b *binder) {
			b.text(digest, text)
			b.time(j.w.now())
		})
	})
}

// Rules returns the rules with a digest, or the newest if digest is ""; false if there are none.
func (j *Journal) Rules(ctx context.Context, digest string) (rules []byte, found bool, err error) {
	err = j.read(ctx, "read the rules", func(conn *sqlite.Conn) error {
		return query(conn, selectRulesSQL, func(b *binder) { b.text(digest) }, func(stmt *sqlite.Stmt) error {
			rules, found = columnJSON(stmt, 1), true
			return nil
		})
	})
	return rules, found, err
}
