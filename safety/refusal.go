// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Refusal is the error of a call that must not run. It says why in a form a model
// can plan from; see [Refusal.Map]. The methods of a nil *Refusal refuse as well.
type Refusal struct {
	// Code is one of the Code constants.
	Code string
	// Message says it in a sentence.
	Message string
	// Tool and ApprovalID name the refused call and its approval, if known.
	Tool       string
	ApprovalID string
	// Next says what to do instead of a new try. Default: by the code.
	Next string
	// Unasked says that a check refused the call before anybody was asked. It may come again.
	Unasked bool
	// Last says that the call cannot be asked for again in this turn: see [Approval.Last].
	Last bool
	// Redo says that a person can have the turn done again that asked for the approval.
	Redo bool
	// Report is the check that led to it; zero if none was made.
	Report Report
	// Err is the error behind it, if any.
	Err error
}

// Error returns the code and the message.
func (r *Refusal) Error() string {
	if r == nil {
		return "refused: " + CodeInternal
	}
	msg := "refused: " + cmp.Or(r.Code, CodeInternal)
	if r.Message != "" {
		msg += ": " + r.Message
	}
	if r.Err != nil {
		msg += ": " + r.Err.Error()
	}
	return msg
}

// Unwrap returns Err.
func (r *Refusal) Unwrap() error {
	if r == nil {
		return nil
	}
	return r.Err
}

// Map returns the refusal as JSON-shaped data for the result of the refused call:
//
//	{
//	  "status": "blocked", "reason": code, "message": text,
//	  "tool", "approval_id", "verdict": text, absent where there is none,
//	  "alerts", "warnings", "failures": as in the JSON of a [Report]; no warnings where there is none,
//	  "omitted": {"alerts", "warnings", "failures": how many, "look_up": text}, absent where there is none,
//	  "next": what to do instead of trying again
//	}
//
// Failures name no addresses of services and no errors of programs. The alerts are those of [Report.Told]; after the first 50 they have no
// recommendation. The other lists have the first 50 entries, so that a model can read them; the report has all. The
// map belongs to the caller.
func (r *Refusal) Map() map[string]any {
	if r == nil {
		r = &Refusal{}
	}
	code := cmp.Or(r.Code, CodeInternal)
	m := map[string]any{
		"status":  "blocked",
		"reason":  code,
		"message": cmp.Or(r.Message, defaultMessage),
		"next":    cmp.Or(r.Next, next(code, r.Last, r.Report.failures)),
	}
	for key, value := range map[string]string{"tool": r.Tool, "approval_id": r.ApprovalID} {
		if value != "" {
			m[key] = value
		}
	}
	if r.Report.ID() != "" {
		m["verdict"] = r.Report.Verdict().String()
	}
	if r.Redo {
		m["next"] = fmt.Sprintf("%v If you ask for nothing anew, say that a person can have all this done again with the present values: contextgraph redo %s.", m["next"], r.ApprovalID)
	}
	omitted := make(map[string]any)
	m["failures"] = shaped(first(append([]Failure{}, r.Report.public()...), "failures", omitted))
	told, cut := r.Report.Told()
	m["alerts"] = shaped(append([]Alert{}, told...))
	if n := len(r.Report.Alerts()) - len(told); n > 0 {
		omitted["alerts"], omitted["look_up"] = n, strings.Join(cut, ", ")
		m["next"] = fmt.Sprintf("%v Not all changes are told: what %s shows has changed too.", m["next"], strings.Join(cut, ", "))
	}
	if warnings := r.Report.Warnings(); len(warnings) > 0 {
		m["warnings"] = shaped(first(warnings, "warnings", omitted))
	}
	if len(omitted) > 0 {
		m["omitted"] = omitted
	}
	return m
}

// shaped returns what JSON makes of a value of our own, which holds texts, numbers and times.
func shaped(v any) (out any) {
	data, _ := json.Marshal(v)
	_ = json.Unmarshal(data, &out)
	return out
}

// maxListed bounds each list of [Refusal.Map] but that of the alerts, and the alerts that recommend something.
const maxListed = 50

// maxTold bounds the alerts that a refusal tells, in bytes of JSON.
const maxTold = 64 << 10

// Told returns the alerts that a refusal tells, by the tools that show the things that they are about. Alerts that do
// not fit into 64 KB are not told, and do not count as read; lookUps are the tools that show their things.
func (r Report) Told() (told []Alert, lookUps []string) {
	all, size := r.Alerts(), 0
	slices.SortStableFunc(all, func(a, b Alert) int { return cmp.Compare(a.LookUp, b.LookUp) })
	for i, a := range all {
		if i >= maxListed {
			a.Recommendation = ""
		}
		text, _ := json.Marshal(a) // it holds texts and numbers
		if size += len(text) + 1; size <= maxTold {
			told = append(told, a)
		} else if !slices.Contains(lookUps, a.LookUp) {
			lookUps = append(lookUps, a.LookUp)
		}
	}
	return told, lookUps
}

// first returns the beginning of a list, and notes how much it leaves out.
func first[T any](list []T, name string, omitted map[string]any) []T {
	if len(list) <= maxListed {
		return list
	}
	omitted[name] = len(list) - maxListed
	return list[:maxListed]
}

const defaultMessage = "The call was not carried out."

// next tells the maker of the refused call how to go on. last is as in [Refusal], failures are those of its check.
func next(code string, last bool, failures []Failure) string {
	if last {
		code = CodeAskedTooOften
	}
	switch code {
	case CodeDrift, CodeBlocked:
		return "Nothing was carried out, and this approval is void. Look at the alerts: they have the present values. If the plan is still right with these, make the same call again, and a person is asked again; read again first what the alerts do not show. If it is not, plan anew with the present values, and ask for approval of the new plan."
	case CodeAsked:
		return "Do not repeat this call: a person is asked for it already. Wait for the answer, or plan anew and ask for approval of the new plan."
	case CodeAskedTooOften:
		return "Do not repeat this call: with the same arguments it stays blocked in this turn. Look at the alerts, read the changed data again, plan anew with the present values, and ask for approval of the new plan. Or report what keeps changing."
	case CodeChange:
		return "Do not repeat this call: a person wants another plan. Plan anew as the message says, and ask for approval of the new plan."
	case CodeSuperseded:
		return "Do not repeat this call because of this answer: a later request for it counts. Wait for the answer to that one, and do not ask for another."
	case CodeAlreadyUsed:
		return "Do not repeat this call because of this answer, and do not ask for it once more: an approval lets one call run, once. Report what the message says came of it."
	case CodeHappened:
		return "Do not repeat this call, and do not ask for it once more: it has taken effect. Go on from there."
	case CodeDidNotHappen:
		return "Do not repeat this call before you have read again what it rests on: nothing came of it. If it is still wanted then, make it, and ask for approval of it."
	case CodeToolChanged:
		return "Nothing was carried out. Do not repeat this call before you have read how the tool is declared now. If it is still right, make it again, and a person is asked again. If it is not, plan anew, and ask for approval of the new plan."
	case CodeMoreApprovers:
		return "Do not repeat this call, and do not plan anew: more people have to approve it. The request stays open. Say so, and wait; if they reject it, ask for approval of a new plan."
	case CodeRejected:
		return "Do not repeat this call: a person rejected it. Ask what should be different before you plan again, and ask for approval of the new plan."
	case CodeCheckFailed:
		return "Do not repeat this call as it is. " + nextFailed(failures) + " Or plan again with data that can be checked, and ask for approval of the new plan."
	default:
		return "Do not repeat this call as it is. Nothing was carried out under this approval just now. Plan again from present data and ask for a new approval."
	}
}

// nextFailed tells what to do after a check that failed: wait only where time can heal all of it.
func nextFailed(failures []Failure) string {
	hopeless := func(f Failure) bool { return causes[f.Reason].hopeless }
	switch {
	case slices.ContainsFunc(failures, hopeless):
		return "No later check of this request can pass; the failures say why. Look up what was not read, or plan with what meets the conditions, and then make the call again: a person is asked again."
	case slices.ContainsFunc(failures, func(f Failure) bool { return !f.heals() }):
		return "It could not be shown that nothing has changed; the failures say why. Report them: whoever runs the agent has to correct their cause, and the approval stays open."
	}
	return "It could not be shown that nothing has changed; the failures say why. Report them: the approval stays open, and when the cause is gone the person can approve again."
}

// refuse makes a refusal about a call.
func refuse(code string, e Execution, r Report, err error, format string, args ...any) *Refusal {
	return &Refusal{
		Code: code, Message: oneLine(fmt.Sprintf(format, args...)),
		Tool: e.Tool, ApprovalID: e.ApprovalID, Report: r, Err: err,
	}
}
