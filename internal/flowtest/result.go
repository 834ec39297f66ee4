// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flowtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// Result is how a flow ended.
type Result struct {
	// Calls are the guarded calls in the order in which they were asked or refused.
	Calls []Call
	// Effects counts the runs of guarded tools.
	Effects int
	// Trace is what happened, a line each: what the client sent, what each model was shown and
	// answered, results, requests, effects.
	Trace []string
	words words
	calls map[string]int // runs of each tool
	// misasked are turns that asked for other tools than their steps say.
	misasked []string
}

// Call is how one guarded call ended.
type Call struct {
	Tool string
	// State is the state of its approval, or refused if nobody was asked.
	State string
	// Verdict is that of the last check, "" without one.
	Verdict string
	// Reasons are the codes of what it found, and of the refusal. Details say why it could not be
	// checked.
	Reasons []string
	Details []string
}

// String returns the call as an expectation writes it.
func (c Call) String() string {
	return strings.Join(append(slices.DeleteFunc([]string{c.State, c.Verdict}, func(s string) bool { return s == "" }), c.Reasons...), " ")
}

// result reads how the calls ended.
func (r *run) result(ctx context.Context) (*Result, error) {
	if err := r.cg.Flush(ctx); err != nil {
		return nil, err
	}
	known := make(map[string]safety.Approval) // by session and confirmation
	for _, id := range r.ids {
		approvals, err := r.cg.Approvals(ctx, r.flow.key(id))
		if err != nil {
			return nil, err
		}
		for _, a := range approvals {
			known[id+" "+a.ConfirmationID] = a
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &Result{Effects: r.effects, Trace: r.trace, words: r.words, calls: r.calls, misasked: r.misasked}
	refused := r.refused
	for i := 0; i <= len(r.asked); i++ {
		for len(refused) > 0 && refused[0].after <= i {
			out.Calls = append(out.Calls, refusedCall(refused[0]))
			refused = refused[1:]
		}
		if i == len(r.asked) {
			break
		}
		q := r.asked[i]
		a, ok := known[q.session+" "+q.id]
		if !ok && q.input { // that nobody guards
			continue
		}
		if !ok {
			out.Calls = append(out.Calls, Call{Tool: q.tool, State: "unguarded"})
			continue
		}
		c := Call{Tool: q.tool, State: string(a.State), Verdict: a.Verdict}
		c.Reasons, c.Details = foundIn(a.Report)
		out.Calls = append(out.Calls, c)
	}
	return out, nil
}

func refusedCall(f *refusal) Call {
	c := Call{Tool: f.tool, State: "refused"}
	c.Verdict, _ = f.result["verdict"].(string)
	code, _ := f.result["reason"].(string)
	data, _ := json.Marshal(f.result)
	c.Reasons, c.Details = foundIn(data)
	if c.Verdict != code {
		c.Reasons = append(c.Reasons, code)
	}
	return c
}

// foundIn returns the codes in a report or a refusal, those of alerts and of failures, and the details
// of the failures.
func foundIn(report []byte) (reasons, details []string) {
	var r struct {
		Alerts []struct {
			Drift string `json:"drift_type"`
		} `json:"alerts"`
		Failures []struct {
			Entity string `json:"entity"`
			Reason string `json:"reason"`
			Detail string `json:"detail"`
		} `json:"failures"`
	}
	if json.Unmarshal(report, &r) != nil {
		return nil, nil
	}
	for _, a := range r.Alerts {
		reasons = append(reasons, a.Drift)
	}
	for _, f := range r.Failures {
		reasons = append(reasons, f.Reason)
		details = append(details, strings.TrimPrefix(f.Entity+": ", ": ")+f.Detail)
	}
	slices.Sort(reasons)
	return slices.Compact(reasons), details
}

// matches reports whether calls end as the lines say. A line has a state, a verdict, and any of the
// reasons; what it leaves out may be anything; a tool and a colon may stand before it. The line none is for no call.
func (l lines) matches(calls []Call) bool {
	if len(l) == 1 && l[0] == "none" {
		return len(calls) == 0
	}
	if len(l) != len(calls) {
		return false
	}
	for i, line := range l {
		if !calls[i].is(line) {
			return false
		}
	}
	return true
}

func (c Call) is(line string) bool {
	if name, rest, ok := strings.Cut(line, ": "); ok {
		if name != c.Tool {
			return false
		}
		line = rest
	}
	want := strings.Fields(line)
	if len(want) == 0 || want[0] != c.State {
		return false
	}
	want = want[1:]
	if c.Verdict != "" && len(want) > 0 {
		if want[0] != c.Verdict {
			return false
		}
		want = want[1:]
	}
	return !slices.ContainsFunc(want, func(reason string) bool { return !slices.Contains(c.Reasons, reason) })
}

// ran reports whether the effect of a call ran.
func (c Call) ran() bool {
	switch safety.ApprovalState(c.State) {
	case safety.StateExecuting, safety.StateExecuted, safety.StateFailed:
		return true
	}
	return false
}

// Faults says how the flow ended otherwise than expected; nil if it did not.
func (f *Flow) Faults(r *Result) []string {
	return f.faults(r, f.Expect, f.effectsOf(r))
}

// FaultsToday is Faults against what the flow says about today: the mark wrong_today where it
// stands, and else the expectation.
func (f *Flow) FaultsToday(r *Result) []string {
	if f.WrongToday == nil {
		return f.Faults(r)
	}
	if slices.Equal(f.WrongToday, lines{otherwise}) && f.Faults(r) != nil {
		return nil
	}
	if f.WrongToday.matches(r.Calls) {
		if f.Faults(r) == nil {
			return []string{"wrong_today says what is expected: remove the line"}
		}
		return nil
	}
	if f.Faults(r) == nil {
		return []string{"the flow ends as expected: remove the line wrong_today"}
	}
	return append([]string{"it goes wrong otherwise than wrong_today says"}, f.faults(r, f.WrongToday, -1)...)
}

func (f *Flow) effectsOf(r *Result) int {
	if f.Effects != nil {
		return *f.Effects
	}
	n := 0
	for _, c := range r.Calls {
		if c.ran() {
			n++
		}
	}
	return n
}

func (f *Flow) faults(r *Result, expect lines, effects int) (faults []string) {
	if !expect.matches(r.Calls) {
		faults = append(faults, "the guarded calls end otherwise")
		for _, c := range r.Calls {
			faults = append(faults, c.Details...)
		}
	}
	if effects >= 0 && r.Effects != effects {
		faults = append(faults, fmt.Sprintf("guarded tools ran %d times, want %d", r.Effects, effects))
	}
	for name, n := range f.Calls {
		if r.calls[name] != n {
			faults = append(faults, fmt.Sprintf("%s ran %d times, want %d", name, r.calls[name], n))
		}
	}
	faults = append(faults, r.misasked...)
	for _, kind := range []struct {
		name               string
		texts, want, never []string
	}{
		{"hint", r.words.Hint, f.Says.Hint, f.Never.Hint},
		{"card", r.words.Card, f.Says.Card, f.Never.Card},
		{"refusal", r.words.Refusal, f.Says.Refusal, f.Never.Refusal},
		{"result", r.words.Result, f.Says.Result, f.Never.Result},
		{"report", r.words.Report, f.Says.Report, f.Never.Report},
		{"log", r.words.Log, f.Says.Log, f.Never.Log},
	} {
		all := strings.Join(kind.texts, "\n")
		for _, w := range kind.want {
			if !strings.Contains(all, w) {
				faults = append(faults, fmt.Sprintf("no %s says %q", kind.name, w))
			}
		}
		for _, w := range kind.never {
			if strings.Contains(all, w) {
				faults = append(faults, fmt.Sprintf("a %s says %q", kind.name, w))
			}
		}
	}
	return faults
}

// WrongSafe reports whether an effect ran against the expectation, or a verdict is "safe" where the
// expectation says another one. A line that says none leaves it open: the first of two people gets
// the verdict of a check of their own, and nothing has run.
func (f *Flow) WrongSafe(r *Result) bool {
	ran := 0
	for i, line := range f.Expect {
		if _, rest, ok := strings.Cut(line, ": "); ok {
			line = rest
		}
		words := strings.Fields(line)
		if len(words) > 0 && (Call{State: words[0]}).ran() {
			ran++
		}
		if len(words) > 1 && words[1] != "safe" && i < len(r.Calls) && r.Calls[i].Verdict == "safe" {
			return true
		}
	}
	if f.Effects != nil {
		ran = *f.Effects
	}
	return r.Effects > ran
}

// Table returns what was expected beside how the calls ended, and what happened.
func (f *Flow) Table(r *Result) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "call\texpected\tended")
	for i := range max(len(f.Expect), len(r.Calls)) {
		name, want, got := "", "–", "–"
		if i < len(f.Expect) {
			want = f.Expect[i]
		}
		if i < len(r.Calls) {
			name, got = r.Calls[i].Tool, r.Calls[i].String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", name, want, got)
	}
	w.Flush()
	fmt.Fprintf(&b, "\n%s", strings.Join(r.Trace, "\n"))
	return b.String()
}
