// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package safety lets an approved call run only if the world it was approved in is
// still there.
//
// A [Guard] takes a call through these steps, each recorded in a [Ledger]:
//
//	Ask      freezes what the call rests on, with the values seen; shown to a person
//	Answer   a person approves or rejects; the world is checked before an approval counts
//	Permit   the call is about to run; the world is checked again; one [Permit] for one call
//	Consume  the permit is used up, exactly once; only then may the effect run
//	Done     how the effect ended
//
// A check asks a [Checker] for the present state of every entity and compares it,
// attribute by attribute, with the values that were read: every reading that the record
// says counts has to hold. What a person, a model or the arguments of a call say is no
// reading. Its [Report] is safe, drift or check_failed.
//
// # What denies
//
// Only proof approves: the zero value of every type here denies, and whatever is
// missing, late, malformed or broken denies.
//
// [ReasonNoEntities] and the other reasons say what fails a check, [CodeUnknownRequest] and the other
// codes what refuses a call. A reading that does not hold, and a plan that costs more than its budget,
// give an [Alert]: the call is blocked for good.
//
// A [config.Guard] decides what counts as a change, which entities have to be checked, which
// types are optional, which may rest on what nothing has shown, and what is worth no more
// than a warning. Warnings and what was waived are recorded and shown and never enter the
// verdict.
//
// A check that fails may be made again: the approval stays where it was. Drift is
// final, and so is a rejection.
//
// # What remains
//
// Between the check and the effect the world can still move, for [config.Guard.CheckAge] at
// the most, or the least MaxAge of the types that were checked. Where the effect can be
// made conditional, use [Permit.Preconditions]. After a crash between Consume and Done
// nobody knows whether the effect ran: [Approval.InDoubt]. A person can find out:
// [Guard.Resolve].
//
// A checker or an authorizer that ignores its context is abandoned: its goroutine runs
// until it returns, and its result is thrown away. It never holds up a decision.
package safety
