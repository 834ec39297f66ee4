// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"fmt"
	"slices"
	"strings"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/args"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// InputTool stands in the approval of an input that a node asks for, in the place of a tool. Such a request names
// nothing.
const InputTool = "adk_request_input"

// acting returns the failures of a call of which the arguments name nothing that has to be unchanged, or more than
// the rules read.
func (q *check) acting() (failures []Failure) {
	if q.approval.ID == "" || q.approval.Tool == InputTool {
		return nil
	}
	if q.policy.NamesThings(q.approval.Tool) && !slices.ContainsFunc(q.targets, func(t target) bool { return t.action }) {
		failures = append(failures, fail(ReasonActionNotRead, "no rule with in: action finds in the arguments of %s what it acts on: call it with what the rules read, "+
			"or, in the configuration, add such a rule; for a tool whose calls name nothing, write acts_on: nothing in guard.tools", q.approval.Tool))
	}
	for _, fault := range q.record.Arguments.Faults {
		failures = append(failures, fail(ReasonActionNotRead, "in the arguments of %s, %s", q.approval.Tool, fault))
	}
	if unread := q.notRead(); len(unread) > 0 && q.policy.settings(q.approval.Tool).Arguments == config.ArgumentsStrict {
		failures = append(failures, fail(ReasonActionNotRead, "no rule reads %s in the arguments of %s, and guard.tools says arguments: strict", strings.Join(unread, ", "), q.approval.Tool))
	}
	return failures
}

// notRead returns the arguments of the action that nothing reads: no rule, and no condition of the policy.
func (q *check) notRead() []string {
	if q.arguments == nil || q.approval.Tool == InputTool || len(q.approval.Args) == 0 {
		return nil
	}
	root, err := q.arguments()
	if err != nil {
		return []string{"anything"}
	}
	reader := args.New(root)
	for _, t := range q.targets {
		for _, name := range q.policy.conditioned(t.entity.Type) {
			path := q.policy.rule(t.entity.Type, name).condition.path
			if path == nil {
				continue
			}
			starts := q.record.Places[t.entity.Key]
			if len(starts) == 0 {
				starts = []string{"$"}
			}
			for _, start := range starts {
				if from, err := jsonpath.Parse(start); err == nil {
					reader.Reads(from, path)
				}
			}
		}
	}
	return args.Unread(root, append(reader.Read(), q.record.Arguments.Read...))
}

// failsHint says what is known to fail.
func (a Approval) failsHint() string {
	items := make([]string, len(a.Fails))
	for i, why := range a.Fails {
		items[i] = quoted(text.Clip(oneLine(why), maxFail))
	}
	return listed(hintFails+" ", items, len(items), maxFailsHint)
}

// maxNotChecked bounds how many arguments that nothing reads are shown.
const maxNotChecked = 50

// shownNotChecked returns them as [Approval.Shown] has them.
func shownNotChecked(names []string) (out []any) {
	for _, name := range names[:min(len(names), maxNotChecked)] {
		out = append(out, shownValue(name))
	}
	if more := len(names) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}

// notCheckedHint names arguments that nothing reads.
func (a Approval) notCheckedHint() string {
	items := make([]string, len(a.NotChecked))
	for i, name := range a.NotChecked {
		items[i] = word(name)
	}
	return listed(hintNotChecked+" ", items, len(items), maxNotCheckedHint)
}
