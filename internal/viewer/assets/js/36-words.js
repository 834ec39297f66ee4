// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// What codes of the gate and of a check mean, in words.

/** @type {Record<string, {label: string, icon: IconName, tone: string}>} */
const OUTCOMES = {
  unchanged: { label: "Unchanged", icon: "check", tone: "good" },
  changed: { label: "Changed", icon: "drift", tone: "warn" },
  warned: { label: "Changed, a warning", icon: "info", tone: "wait" },
  failed: { label: "Check failed", icon: "shieldx", tone: "bad" },
  skipped: { label: "Skipped", icon: "none", tone: "idle" },
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

/** meaning says what a code means, "" for one that this page does not know. @param {Record<string, string>} table @param {string|undefined} code */
function meaning(table, code) {
  return code && Object.hasOwn(table, code) ? table[code] : "";
}

/** What the stages of a check mean. @type {Record<string, string>} */
const STAGES = { asking: "before anybody was asked", answer: "when it was answered", execution: "right before it would run", check: "on demand" };

/** waits says whether a status is one of a request that can still be answered. @param {string} status */
function waits(status) {
  return status === "pending" || status === "check_failed" || status === "safe";
}

/** actionOf says what happens on a yes. A request that names no tool has no sentence for that. @param {Approval} a */
function actionOf(a) {
  return a.action || "The call would run once, with the arguments below.";
}
