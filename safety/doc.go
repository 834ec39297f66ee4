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
//	what goes wrong                                  reason or code       effect
//	no entity to check, or none of a listed type     no_entities          check fails
//	no checker for a type                            no_checker           check fails
//	only the agent's process can ask                 needs_agent          check fails, optional or not
//	an entity without type, value or key             invalid_entity       check fails
//	confidence under the floor                       low_confidence       check fails
//	seen at an unknown time, or in the future        not_seen             check fails
//	nothing on record shows it, or an attribute      nothing_seen         check fails
//	only results show it that models read otherwise  result_rewritten     check fails
//	the model that asked had read none of its values not_read             check fails
//	the arguments differ from what was read          argument_differs     check fails
//	checker: error                                   error                check fails
//	checker: panic, end of its goroutine             panic                check fails
//	checker: no answer in time                       timeout              check fails, call abandoned
//	answer: no attributes                            empty_answer         check fails
//	answer: no time, too old, in the future          no_as_of,            check fails
//	                                                 stale_answer,
//	                                                 future_answer
//	answer: an attribute is missing, of another kind missing_attribute,   check fails
//	                                                 type_mismatch
//	answer: the entity is gone from its source       missing_entity       check fails
//	answer: nothing to compare                       nothing_compared     check fails
//	answer: a reading does not hold, or what was     an alert             drift: blocked for good
//	read is not there, or not to be had
//	a plan that costs more than its budget           an alert             drift: blocked for good
//	record: rows missing, truncated, fewer, none     incomplete_record    check fails
//	record: rows that could not be extracted         extraction_failed    check fails
//	record or list of approvals cannot be read       store                check fails
//	a rule of the policy that cannot be evaluated    policy               check fails
//	asked under other rules or another policy        rules_changed,       check fails
//	                                                 policy_changed
//	clock fails or runs backwards                    clock                check fails, or refused
//	the caller gives up                              canceled             check fails, or refused
//	session not named in full                        session              check fails
//	ledger: error                                    store                refused
//	request unknown, or of another session           unknown_request      refused
//	another call or tool; other arguments            other_call,          refused
//	                                                 args_changed
//	not approved, rejected, blocked, past its time   not_approved,        refused
//	                                                 rejected, blocked,
//	                                                 expired
//	used before, or by another run at the same time  already_used         refused
//	the authorizer fails or names nobody             not_authorized       answer not accepted
//	any other dependency panics                      internal             refused
//
// A [Policy] decides what counts as a change, which entities have to be checked, which
// types are optional, which may rest on what nothing has shown, and what is worth no more
// than a warning. Warnings and what was waived are recorded and shown and never enter the
// verdict.
//
// A check that fails may be made again: the approval stays where it was. Drift is
// final, and so is a rejection.
//
// # What remains
//
// Between the check and the effect the world can still move, for Policy.MaxAge at the
// most, or the least MaxAge of the types that were checked. Where the effect can be
// made conditional, use [Permit.Preconditions]. After a crash between Consume and Done
// nobody knows whether the effect ran: [Approval.InDoubt]. A person can find out:
// [Guard.Resolve].
//
// A checker or an authorizer that ignores its context is abandoned: its goroutine runs
// until it returns, and its result is thrown away. It never holds up a decision.
package safety
