// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/args"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// InputTool stands in the approval of an input that a node asks for, in the place of a tool. Such a request names
// nothing.
const InputTool = "adk_request_input"

// acting returns the failures of a call of which the arguments name nothing that has to be unchanged, or more than
// the rules read.
func (q *inquiry) acting(b rulebook) (failures []Failure) {
	if q.tool == InputTool {
		return nil
	}
	if b.NamesThings(q.tool) && !slices.ContainsFunc(q.targets, func(t target) bool { return t.action }) {
		failures = append(failures, fail(ReasonActionNotRead, "no rule with in: action finds in the arguments of %s what it acts on: call it with what the rules read, "+
			"or, in the configuration, add such a rule; for a tool whose calls name nothing, write acts_on: nothing in guard.tools", q.tool))
	}
	for _, fault := range q.record.Arguments.Faults {
		failures = append(failures, fail(ReasonActionNotRead, "in the arguments of %s, %s", q.tool, fault))
	}
	if unread := q.notRead(b); len(unread) > 0 && b.settings(q.tool).Arguments == config.ArgumentsStrict {
		failures = append(failures, fail(ReasonActionNotRead, "no rule reads %s in the arguments of %s, and guard.tools says arguments: strict", strings.Join(unread, ", "), q.tool))
	}
	return failures
}

// notRead returns the arguments of the action that nothing reads: no rule, and no condition of the policy.
func (q *inquiry) notRead(b rulebook) []string {
	if q.arguments == nil || q.tool == InputTool || q.decision.Args == "" {
		return nil
	}
	root, err := q.arguments()
	if err != nil {
		return []string{"anything"}
	}
	reader := args.New(root)
	for _, t := range q.targets {
		for _, name := range b.conditioned(t.entity.Type) {
			path := b.rule(t.entity.Type, name).condition.path
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

// money returns what rules read as an amount in the arguments, by JSON Pointer, as far as redact shows it.
func (q *inquiry) money(redact func(args []byte) []byte) map[string]string {
	if redact == nil || len(q.record.Arguments.Money) == 0 {
		return nil
	}
	plain, _ := jsonenc.Decode([]byte(q.decision.Args))
	shown, _ := jsonenc.Decode(redact([]byte(q.decision.Args)))
	out := maps.Clone(q.record.Arguments.Money)
	maps.DeleteFunc(out, func(at, _ string) bool {
		v, known := scalarAt(plain, at)
		w, same := scalarAt(shown, at)
		return !known || !same || v != w
	})
	return out
}

// scalarAt returns the scalar at a JSON Pointer; false if there is none.
func scalarAt(v any, pointer string) (any, bool) {
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch in := v.(type) {
		case map[string]any:
			v = in[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	switch v.(type) {
	case nil, map[string]any, []any:
		return nil, false
	}
	return v, true
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
