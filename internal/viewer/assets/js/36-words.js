// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// What codes of the gate and of a check mean, in words.

/** @type {Record<string, {label: string, icon: IconName, tone: string}>} */
const OUTCOMES = {
  unchanged: { label: "Unchanged", icon: "check", tone: "good" },
  changed: { label: "Changed", icon: "drift", tone: "warn" },
  warned: { label: "Changed, only warned", icon: "info", tone: "wait" },
  failed: { label: "Could not be checked", icon: "shieldx", tone: "bad" },
  skipped: { label: "Skipped: optional", icon: "none", tone: "idle" },
};

/** @param {string|undefined} outcome */
function outcomeMark(outcome) {
  if (!outcome) return h("span", "muted", "Not checked");
  return mark(lookOf(OUTCOMES, outcome));
}

/** answerMark says what a person answered. @param {boolean} confirmed */
function answerMark(confirmed) {
  return mark(confirmed ? { label: "Yes", icon: "user", tone: "accent" } : { label: "No", icon: "rejected", tone: "stop" });
}

/** What the reasons for which a check fails mean. @type {Record<string, string>} */
const REASONS = {
  no_entities: "There is nothing to check, and nothing is approved by absence.",
  no_checker: "No checker is registered for this type, so nobody can say what it is now.",
  needs_agent: "Needs the agent: its checker calls a tool of the agent again.",
  invalid_entity: "The record names it without a type, a value or a key.",
  low_confidence: "It was recognised with too little confidence to be compared.",
  not_seen: "It is not known when it was seen.",
  error: "Its checker returned an error.",
  source_down: "Its source is away: there is no connection, or the server has an error.",
  panic: "Its checker broke down.",
  timeout: "Its checker gave no answer in time.",
  empty_answer: "The answer of its checker holds no attributes.",
  no_as_of: "The answer does not say when it was true.",
  stale_answer: "The answer is older than the policy allows.",
  future_answer: "The answer comes from the future.",
  condition_unmet: "What was read does not meet a condition of the policy.",
  missing_attribute: "An attribute that was seen is not in the answer.",
  missing_entity: "Its source does not know it any more.",
  type_mismatch: "An attribute is of another kind than was seen.",
  nothing_compared: "No attribute could be compared.",
  incomplete_record: "The record lacks rows, or rows were cut or never read.",
  extraction_failed: "There are rows from which entities could not be read.",
  rules_changed: "It was asked under other extraction rules.",
  policy_changed: "It was asked under another policy.",
  store: "The record or the ledger could not be read.",
  canceled: "The caller gave up.",
  clock: "The clock failed or ran backwards.",
  session: "The session is not named in full.",
  policy: "A rule of the policy could not be evaluated.",
};

/** What the codes mean with which the gate does not take an answer. @type {Record<string, string>} */
const REFUSALS = {
  unknown_request: "The gate knows no such request in this session.",
  not_pending: "The request was decided or had ended before this answer came.",
  not_approved: "Nobody has approved the request yet.",
  not_authorized: "Whoever answered may not approve this.",
  rejected: "A person has rejected the request. That is final.",
  change_wanted: "A person has rejected the request and wants another plan.",
  more_approvers: "The yes counts. More people have to approve before it runs.",
  other_answer: "The answer says something else than an earlier one that approved.",
  expired: "The answer came too late: the request, or its permit, is past its time.",
  drift: "The world has changed since it was asked. It is blocked for good.",
  check_failed: "It could not be shown that the world is unchanged. The request stays open.",
  blocked: "An earlier check found that the world had changed. It is blocked for good.",
  already_used: "The approval has permitted its one call already. It permits no second one.",
  other_call: "The approval is for another call or another tool.",
  args_changed: "The arguments are not those that were approved.",
  invalid: "The request to the gate is not complete.",
  clock: "The clock failed or ran backwards.",
  store: "The ledger could not be read or written.",
  canceled: "The run has ended; nobody would see the effect.",
  asked: "The same call waits for an answer already.",
  asked_too_often: "Changes of the world ended this call as often as it may be asked for in a turn.",
  internal: "A part of the gate broke down.",
};

/** What the stages of a check mean. @type {Record<string, string>} */
const STAGES = { answer: "when it was answered", execution: "right before it would run", check: "on demand" };

/** How the verdict of a check reads. @type {Record<string, {label: string, icon: IconName, tone: string}>} */
const VERDICTS = {
  safe: { label: "unchanged", icon: "shield", tone: "good" },
  drift: { label: "changed", icon: "drift", tone: "warn" },
  check_failed: { label: "not proven", icon: "shieldx", tone: "bad" },
};

/** waits says whether a status is one of a request that can still be answered. @param {string} status */
function waits(status) {
  return status === "pending" || status === "check_failed" || status === "safe";
}

/** actionOf says what happens on a yes. A record without the sentence has tool and arguments. @param {Approval} a */
function actionOf(a) {
  if (a.action) return a.action;
  if (a.kind !== "confirmation") return (a.agent || "The agent") + " asks for " + (a.kind === "input" ? "an input." : "a " + a.kind + ".");
  const args = a.args && typeof a.args === "object" ? Object.entries(a.args).map(([k, v]) => words(k) + " " + (Array.isArray(v) ? plural(v.length, "item") : clip(JSON.stringify(v), 40))) : [];
  return (a.tool || "The call") + " runs once" + (args.length > 0 ? ", with " + clip(args.join(", "), 200) : "") + ".";
}
