// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// What codes of the gate and of a check mean, in words.

/** @type {Record<string, {label: string, icon: IconName, tone: string}>} */
const OUTCOMES = {
  unchanged: { label: "Unchanged", icon: "check", tone: "good" },
  changed: { label: "Changed", icon: "drift", tone: "warn" },
  warned: { label: "Changed, only warned", icon: "info", tone: "wait" },
  failed: { label: "Check failed", icon: "shieldx", tone: "bad" },
  skipped: { label: "Skipped: optional", icon: "none", tone: "idle" },
};

/** @type {{label: string, icon: IconName, tone: string}} */
const NOT_CHECKED = { label: "Not checked", icon: "clock", tone: "wait" };

/** @param {string|undefined} outcome */
function outcomeMark(outcome) {
  if (!outcome) return h("span", "muted", "Not checked");
  return mark(lookOf(OUTCOMES, outcome));
}

/** answerMark says what a person answered. @param {boolean} confirmed */
function answerMark(confirmed) {
  return mark(confirmed ? { label: "Yes", icon: "user", tone: "accent" } : { label: "No", icon: "rejected", tone: "stop" });
}

/** meaning says what a code means, "" for one that this page does not know. @param {Record<string, string>} table @param {string|undefined} code */
function meaning(table, code) {
  return code && Object.hasOwn(table, code) ? table[code] : "";
}

/** What the stages of a check mean. @type {Record<string, string>} */
const STAGES = { answer: "when it was answered", execution: "right before the call", check: "on demand" };

/** waits says whether a status is one of a request that can still be answered. @param {string} status */
function waits(status) {
  return status === "pending" || status === "check_failed" || status === "safe";
}

/** actionOf says what happens on a yes. A request that names no tool has no sentence for that. @param {Approval} a */
function actionOf(a) {
  return a.action || "The call runs once, with the arguments below.";
}
