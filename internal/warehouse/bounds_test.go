// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// Every reading of the table of events has both bounds in time, so that no question reads
// more the older the table is, and takes a user that is NULL for one that is empty.
func TestReadingsOfEventsAreBounded(t *testing.T) {
	files, err := filepath.Glob("sql/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`(?m)^\s*--.*$`)
	reading := regexp.MustCompile(`FROM \{\{(events|unique)\}\}`)
	bounded := regexp.MustCompile(`\btimestamp (BETWEEN @from AND @(to|until)|>= @from_time AND timestamp < @to_time)\b`)
	user := regexp.MustCompile(`\buser_id = @user(_id)?\b`)
	everyone := regexp.MustCompile(`\(@user = '' OR user_id = @user\)`)
	nullToo := regexp.MustCompile(`\(user_id = @user(_id)? OR \(@user(_id)? = '' AND user_id IS NULL\)\)`)
	var read int
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		if strings.HasPrefix(name, "init_") || strings.HasPrefix(name, "verify_") {
			continue // views: who asks them names the time; a dataset of a verification holds little
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := comment.ReplaceAllString(string(raw), "")
		n := len(reading.FindAllString(text, -1))
		read += n
		if got := len(bounded.FindAllString(text, -1)); got != n {
			t.Errorf("%s reads events %d times and bounds %d of them", name, n, got)
		}
		if n == 0 {
			continue // other tables hold no NULL
		}
		for _, part := range reading.Split(text, -1)[1:] {
			// A CTE or the statement ends with the next SELECT of another table.
			part, _, _ = strings.Cut(part, "{{table")
			rest := nullToo.ReplaceAllString(everyone.ReplaceAllString(part, ""), "")
			if user.MatchString(rest) {
				t.Errorf("%s compares user_id without its NULL", name)
			}
		}
	}
	if read == 0 {
		t.Error("no statement reads events")
	}
}

// Every reading of graphs has the days of the sessions inside, where no optimizer has to bring
// them, and none goes over the views.
func TestReadingsOfGraphsAreBounded(t *testing.T) {
	n, err := warehouse.NamesOf(config.BigQuery{Project: "my-project", Dataset: "agents"})
	if err != nil {
		t.Fatal(err)
	}
	data := map[string]any{ // what a pattern needs
		"extract_pending": warehouse.ExtractStatement{},
		"extract_ask":     warehouse.ExtractStatement{Pending: "p", Answers: "a"},
	}
	views := regexp.MustCompile("`my-project\\.agents\\.graph_\\w+`")
	var read int
	for _, name := range warehouse.StatementNames() {
		if strings.HasPrefix(name, "init_") || strings.HasPrefix(name, "verify_") || strings.HasPrefix(name, "seed_") {
			continue // the texts of others
		}
		text, err := n.Statement(name, data[name])
		if err != nil {
			t.Fatal(err)
		}
		if v := views.FindString(text); v != "" {
			t.Errorf("%s reads the view %s", name, v)
		}
		bounded := strings.Count(text, "session_day BETWEEN ")
		if readings := strings.Count(text, "FROM `my-project.agents.session_graphs`"); readings > bounded {
			t.Errorf("%s reads graphs %d times and bounds %d of them", name, readings, bounded)
		} else {
			read += readings
		}
	}
	if read == 0 {
		t.Error("no statement reads graphs")
	}
}
