// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
		if strings.HasPrefix(name, "init_") {
			continue // views: who asks them names the time
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
