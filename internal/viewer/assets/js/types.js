// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// The types of the data, as package inspect writes them. A list that Go wrote as null is an
// empty list here, see wholeSession.

/**
 * @typedef {{app: string, user: string, id: string}} SessionKey
 * @typedef {"none"|"pending"|"safe"|"drift"|"check_failed"|"rejected"|"expired"|"superseded"|"executed"|"failed"|"in_doubt"} Status
 * @typedef {{prompt: number, completion: number, total: number}} Tokens
 *
 * @typedef {object} Summary
 * @property {SessionKey} session
 * @property {string} title
 * @property {Status} status
 * @property {string} start
 * @property {string} end
 * @property {string[]} agents
 * @property {string[]} models
 * @property {number} turns
 * @property {number} events
 * @property {number} errors
 * @property {number} approvals
 * @property {Tokens} tokens
 * @property {number} waited_ms
 *
 * @typedef {object} SessionParts
 * @property {Problem[]} problems
 * @property {Span[]} spans
 * @property {Edge[]} edges
 * @property {Entity[]} entities
 * @property {Approval[]} approvals
 * @property {Thoughts} thoughts
 * @property {string[]} critical_path
 * @property {Row[]} rows
 * @property {Gist[]} gists of the rows, in their order
 * @typedef {Omit<Summary, "approvals"> & SessionParts} Session
 *
 * @typedef {{kind: string, detail: string, rows?: number[], count: number}} Problem
 *
 * @typedef {object} Span
 * @property {string} key
 * @property {string} span_id
 * @property {string} trace_id
 * @property {string} [parent]
 * @property {string} kind
 * @property {"user"|"agent"|"model"|"tool"|"hitl"|"check"|"other"} class
 * @property {string} name
 * @property {string} agent
 * @property {string} invocation_id
 * @property {string} [branch]
 * @property {string} [call_id]
 * @property {number} turn
 * @property {number} depth
 * @property {string} start
 * @property {string} end
 * @property {number} duration_ms
 * @property {string} status
 * @property {string} [error]
 * @property {boolean} [open]
 * @property {Tokens} [tokens]
 * @property {number[]} rows
 *
 * @typedef {{from: string, to: string, kind: string}} Edge
 *
 * @typedef {object} Entity
 * @property {string} key
 * @property {string} type
 * @property {string} value
 * @property {Record<string, string>} attributes
 * @property {number} confidence
 * @property {string} [artifact_uri]
 * @property {string[]} sources
 * @property {string} first_seen
 * @property {string} last_seen
 * @property {Sighting[]} evaluated
 *
 * @typedef {object} Sighting
 * @property {string} span
 * @property {string} link "evaluated" or "named"
 * @property {number} row
 * @property {string} seen_at
 * @property {string} source
 * @property {number} confidence
 * @property {Record<string, string>} attributes
 *
 * @typedef {object} Row
 * @property {string} event_id
 * @property {string} timestamp
 * @property {string} event_type
 * @property {string} agent
 * @property {string} span
 * @property {string} invocation_id
 * @property {string} trace_id
 * @property {string} span_id
 * @property {string} parent_span_id
 * @property {any} [content]
 * @property {any} [content_parts]
 * @property {any} [attributes]
 * @property {any} [latency_ms]
 * @property {string} status
 * @property {string} [error_message]
 * @property {boolean} [is_truncated]
 *
 * What is known of the payload of a row before it is there: the beginning of what a user said,
 * the tools that a model called for or that it answered, whether the instruction or the system prompt
 * is as before, and how many messages of a request were in the request before.
 * @typedef {{said?: string, calls?: string[], answers?: boolean, again?: boolean, before?: number, loaded?: boolean}} Gist
 *
 * @typedef {{nodes: Thought[], edges: Edge[]}} Thoughts
 * @typedef {object} Thought
 * @property {string} id
 * @property {"INCIDENT"|"THOUGHT"|"TOOL_CALL"|"OBSERVATION"|"ACTION"} kind
 * @property {string} label
 * @property {string} [detail]
 * @property {string} agent
 * @property {number} turn
 * @property {string} [span]
 * @property {number} row
 * @property {string} at
 * @property {string} [status]
 *
 * @typedef {object} Approval
 * @property {string} id
 * @property {SessionKey} session
 * @property {string} confirmation_id
 * @property {string} kind
 * @property {string} call_id
 * @property {string} tool
 * @property {string} agent
 * @property {string} span
 * @property {Status} status
 * @property {string} explanation
 * @property {Finding[]} findings of the last check
 * @property {("approve"|"reject"|"override"|"resolve"|"check")[]} can what can be done about it now
 * @property {string} [hopeless] why no yes can work
 * @property {string} [total] what the call buys in all
 * @property {string} [unproven] why a yes may not let it run now
 * @property {string} [replaced_by] the id of the newer request for the same call
 * @property {string} [state]
 * @property {boolean} enforced
 * @property {string} [action] what happens on a yes, in a sentence
 * @property {string} [hint]
 * @property {any} [args]
 * @property {Cost[]} costs
 * @property {string} [may_approve] who may approve, in a sentence
 * @property {string} [args_digest]
 * @property {string} [fingerprint]
 * @property {string} [policy_version]
 * @property {string} [replaces]
 * @property {Difference} [difference]
 * @property {string} requested_at
 * @property {string} [expires_at]
 * @property {number} waited_ms
 * @property {{name: string, authenticated: boolean}} [requester]
 * @property {string[]} [may_override]
 * @property {number} approvers
 * @property {string[]} consents
 * @property {string} [change]
 * @property {boolean} [overridden]
 * @property {string[]} warnings
 * @property {string[]} [notes]
 * @property {Rested[]} entities
 * @property {string[]} [not_checked]
 * @property {NotChosen} [not_chosen]
 * @property {Answer[]} answers
 * @property {Check[]} checks
 * @property {Execution} [execution]
 * @property {Why[]} why
 * @property {Progress[]} progress
 * @property {Step[]} [history]
 *
 * A text of a cost is "" where it is not known.
 * @typedef {{budget_type: string, budget: string, limit: string, seen: string, now: string, others?: string, unavailable?: string, exceeded: boolean}} Cost
 *
 * @typedef {object} Difference
 * @property {string} [since]
 * @property {EntityDifference[]} [entities]
 * @property {ValueDifference[]} [arguments]
 * @property {boolean} [tool]
 * @property {string[]} [consents]
 * @property {number} [omitted]
 *
 * @typedef {object} EntityDifference
 * @property {string} type
 * @property {string} value
 * @property {string} change
 * @property {ValueDifference[]} [attributes]
 *
 * @typedef {object} ValueDifference
 * @property {string} name
 * @property {string} [was]
 * @property {string} [now]
 *
 * @typedef {object} Rested
 * @property {string} [key]
 * @property {string} type
 * @property {string} value
 * @property {number} confidence
 * @property {Record<string, string>|null} seen
 * @property {string} [seen_at]
 * @property {Record<string, string>} [conditions]
 * @property {Record<string, string>|null} [now]
 * @property {string} [as_of]
 * @property {string} [outcome]
 * @property {boolean} [unseen]
 * @property {string} [reason]
 *
 * @typedef {object} NotChosen
 * @property {number} total
 * @property {{type: string, value: string, seen: Record<string, string>|null, seen_at?: string}[]} entities
 *
 * @typedef {object} Answer
 * @property {string} at
 * @property {boolean} confirmed
 * @property {boolean} accepted
 * @property {string} [approver]
 * @property {boolean} authenticated
 * @property {string} [change]
 * @property {string} [override]
 * @property {string} [because]
 * @property {string} [reason]
 * @property {string} [refusal] the reason in words
 * @property {number} row
 *
 * @typedef {object} Check
 * @property {string} id
 * @property {string} stage
 * @property {string} verdict
 * @property {string} at
 * @property {number} duration_ms
 * @property {string} span
 * @property {number} row
 * @property {string} [fingerprint]
 * @property {string} [policy_version]
 * @property {number} total_entities
 * @property {number} stale_entities
 * @property {Rested[]} entities
 * @property {Alert[]} alerts
 * @property {Alert[]} warnings
 * @property {Failure[]} failures
 * @property {Cost[]} costs
 * @property {Finding[]} findings the alerts, the warnings and the failures as one list
 * @property {string} [changed] what changed, in brackets, as sentences have it
 * @property {string} [failed] the same of what failed
 *
 * One thing that a check found: text says it in a phrase.
 * @typedef {{type?: string, value?: string, attribute?: string, read?: string, now?: string, need?: string, reason: string, effect: "block"|"warn"|"fail", text: string, remedy?: string, hopeless?: boolean}} Finding
 *
 * @typedef {object} Alert
 * @property {string} entity_type
 * @property {string} entity
 * @property {string} attribute
 * @property {string} drift_type
 * @property {string} before
 * @property {string} after
 * @property {string} [condition]
 * @property {number} [change_percent]
 * @property {number} severity
 * @property {string} effect
 * @property {string} recommendation
 *
 * @typedef {{entity_type?: string, entity?: string, reason: string, detail?: string}} Failure
 * @typedef {{start: string, end?: string, status?: string, error?: string, span: string}} Execution
 * @typedef {{entity: string, type: string, value: string, origin: string, note?: string, hops: number, path: {span: string, edge?: string}[]}} Why
 *
 * What happened to a request. The status is the one that the step speaks for.
 * @typedef {{at: string, step: "asked"|"answered"|"refused"|"checked"|"started"|"ended", status: Status, text: string}} Progress
 *
 * @typedef {object} Step
 * @property {string} [from]
 * @property {string} to
 * @property {string} at
 * @property {string} [actor]
 * @property {string} [run]
 * @property {string} [verdict]
 * @property {string} [check]
 * @property {boolean} [authenticated]
 * @property {boolean} [override]
 * @property {boolean} [resolved]
 * @property {string} [note]
 *
 * A request of any session that waits for people. What is known of the world comes from its last check.
 * @typedef {object} InboxItem
 * @property {SessionKey} session
 * @property {string} title
 * @property {string} approval_id
 * @property {string} confirmation_id
 * @property {string} tool
 * @property {string} action
 * @property {string} kind
 * @property {string} agent
 * @property {Status} status
 * @property {boolean} enforced
 * @property {string} requested_at
 * @property {string} [expires_at]
 * @property {""|"safe"|"drift"|"check_failed"} known the verdict of the last check
 * @property {string} [known_at]
 * @property {Finding[]} findings
 * @property {string[]} can
 * @property {string} [hopeless]
 * @property {number} approvers
 * @property {string[]} consents
 * @property {string[]} warnings
 *
 * The answer of the server to “check now”.
 * @typedef {object} Rechecked
 * @property {"safe"|"drift"|"check_failed"} verdict
 * @property {string} explanation
 * @property {Check|null} check
 * @property {Record<string, string>} needs_agent by the type of entity, why only the agent can ask
 *
 * @typedef {{name: string, title: string, category: string, language: string, tags: string[]|null, text: string}} QueryText
 * @typedef {{title: string, text: string}} CodeStep
 */

/**
 * What is selected. The key of an approval and of a row is its index as text; that of an
 * edge is made by edgeKey.
 * @typedef {{type: "span"|"entity"|"approval"|"row"|"edge", key: string}} Ref
 */
