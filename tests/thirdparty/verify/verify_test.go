// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/verify"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// What the emulator cannot run, by the name of the check, and its words. Everything else gives an
// answer, and the session that of the journal.
var lacking = map[string]string{
	"verify_adk_turn": "invalid character", // it reads no path in a document that is a text alone
	// It runs no pattern with a condition or a quantifier.
	"why": "failed to", "causal_chain": "failed to", "entity_approvals": "failed to", "trace": "failed to", "seed_reasoning": "failed to",
	"seed_trace": "failed to query", // for ORDER BY
}

// The order of work, the removal, and every answer that the emulator can give. An emulator takes only
// so many statements, so the checks are made in parts.
func TestVerify(t *testing.T) {
	plan, err := verify.NewPlan(config.BigQuery{})
	if err != nil {
		t.Fatal(err)
	}
	made, executed := 0, make(map[string]bool) // by statement
	parts := make(map[string][]string)
	sent := make(map[string][]string) // by name, what the plan says
	for _, c := range plan.Checks {
		sent[c.Name] = c.Statements
		part := c.Step
		switch {
		case part == "remove":
			continue
		case part == "graph":
			part = c.Name
		case part == "dataset" || part == "init" || part == "stream":
			part = "stream"
		}
		parts[part] = append(parts[part], c.Name)
	}
	all := len(parts)
	for part, names := range parts {
		t.Run(part, func(t *testing.T) {
			s := newService(t)
			s.exhausted = part != "stream"
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			report, err := verify.Run(ctx, verify.Config{
				BigQuery: config.BigQuery{Project: emulator.Project},
				Options:  bigquery.DatasetOptions{Client: s.clients(), Write: s.WriteOptions(), BatchAge: 20 * time.Millisecond, AckTimeout: 10 * time.Minute},
				Only:     names,
			})
			if err != nil {
				t.Fatal(err)
			}
			var order []string
			for _, c := range report.Checks {
				if len(order) == 0 || order[len(order)-1] != c.Step {
					order = append(order, c.Step)
				}
				left := slices.Clone(sent[c.Name])
				for _, ran := range c.Statements {
					executed[ran.Name] = executed[ran.Name] || c.Outcome == verify.OK && ran.Error == ""
					i := slices.Index(left, ran.Name)
					if i < 0 && c.Step != "init" {
						t.Errorf("%s %s sends %s, which the plan does not say", c.Step, c.Name, ran.Name)
						continue
					}
					left = slices.Delete(left, max(i, 0), i+1)
				}
				words, lacks := lacking[c.Name]
				switch {
				case lacks && c.Outcome == verify.Failed && strings.Contains(c.Reason, words):
				case lacks:
					t.Errorf("%s %s is %s: %s", c.Step, c.Name, c.Outcome, c.Reason)
				case c.Outcome != verify.OK:
					t.Errorf("%s %s is %s: %.2000s", c.Step, c.Name, c.Outcome, c.Reason)
				}
			}
			if order[0] != "dataset" || order[len(order)-1] != "remove" || !s.removed {
				t.Errorf("steps %v, removed %t", order, s.removed)
			}
			made++
		})
	}
	if made == all && !t.Failed() {
		holds(t, executed)
	}
}

var listed = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [a-z]+ \\| ([a-z]+) \\|(.*)\\|$")

// holds holds docs/internal/statements.md against the statements that were executed, and those that
// could not be. It says that the emulator executed no others, but for those whose test it names.
func holds(t *testing.T, executed map[string]bool) {
	doc, err := os.ReadFile("../../../docs/internal/statements.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range listed.FindAllStringSubmatch(string(doc), -1) {
		name, said := line[1], line[2] == "emulator"
		if ran, tried := executed[name]; tried && ran != said {
			t.Errorf("docs/internal/statements.md says that %s is executed by %s, and the emulator executed it: %t", name, line[2], ran)
		} else if said && !tried && !strings.Contains(line[3], "`Test") {
			t.Errorf("docs/internal/statements.md says that the emulator executes %s, and names no test", name)
		}
	}
}
