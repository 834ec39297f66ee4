// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// A query is listed, printed without a connection, and run with its parameters.
func TestQuery(t *testing.T) {
	t.Chdir(t.TempDir())
	var asked []string
	server := answering(t, &asked, map[string][]map[string]string{
		"evaluated:Evaluated": {{"entity_value STRING": "Reels", "hops INTEGER": "3"}},
		"cause:TechNode":      {},
	})
	const dataset = " --project my-project --dataset agents"
	for _, test := range []struct {
		args string
		code int
		want []string // in stdout and stderr
	}{
		{"query", exitOK, []string{"QUERY", "entity_approvals", "from to type value", "seed_reasoning", "Why: the entities"}},
		{"query why --print", exitOK, []string{"GRAPH `your-project.your_dataset.contextgraph`", "ANY SHORTEST"}},
		{"query why app=shop user=alice session=s1" + dataset, exitOK, []string{"entity_value  hops", "Reels         3"}},
		{"query why app=shop user=alice session=s1 -o json" + dataset, exitOK, []string{`"columns": [`, `"Reels"`}},
		{"query trace app=shop user= session=s1" + dataset, exitOK, []string{"no rows"}},
		{"query whi" + dataset, exitUsage, []string{`did you mean "why"?`, "causal_chain"}},
		{"query why app=shop" + dataset, exitUsage, []string{"the query why also needs session=… user=…"}},
		{"query why sesion=s1" + dataset, exitUsage, []string{`"sesion=s1" is no parameter of the query why`, "app, from, session, to, user"}},
		{"query why from=now" + dataset, exitUsage, []string{"is no parameter"}},
		{"query why app=a user=b session=c", exitUsage, []string{"no dataset"}},
	} {
		code, stdout, stderr := in(t, server, strings.Fields(test.args)...)
		if code != test.code {
			t.Errorf("contextgraph %s = %d\n%s%s", test.args, code, stdout, stderr)
		}
		for _, want := range test.want {
			if !strings.Contains(stdout+stderr, want) {
				t.Errorf("contextgraph %s does not say %q:\n%s%s", test.args, want, stdout, stderr)
			}
		}
	}
	if len(asked) != 3 || !strings.Contains(asked[0], "alice") {
		t.Errorf("%d statements were sent: %.300s", len(asked), asked)
	}
}
