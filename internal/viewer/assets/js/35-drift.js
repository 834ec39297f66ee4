// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// What the checks of a session found: the verdict of each step that checked or asked, and what
// came of each entity, with the values then and now.

/**
 * @typedef {{name: string, seen: string, now: string}} Turned a value that is another one now
 * @typedef {{outcome: string, turned: Turned[], reason: string, as_of: string}} Found
 * @typedef {{verdicts: Map<string, string>, entities: Map<string, Found>}} Drifts verdicts by the key of the span
 */

/** @param {Session} s @returns {Drifts} */
function driftsOf(s) {
  /** @type {Drifts} */
  const d = { verdicts: new Map(), entities: new Map() };
  for (const a of s.approvals) {
    d.verdicts.set(a.span, a.status);
    for (const c of a.checks) d.verdicts.set(c.span, c.verdict);
    const last = a.checks[a.checks.length - 1];
    for (const r of a.entities) {
      if (!r.key || !r.outcome) continue;
      const turned = turnedOf(r, last ? last.alerts : []);
      // A plan may cost too much although its budget is as it was.
      const outcome = r.outcome === "unchanged" && turned.length > 0 ? "changed" : r.outcome;
      // Of several approvals that rest on it the last one knows best.
      d.entities.set(r.key, { outcome, turned, reason: r.reason || "", as_of: r.as_of || "" });
    }
  }
  return d;
}

/** turnedOf are the values of an entity that are others now. @param {Rested} r @param {Alert[]} alerts @returns {Turned[]} */
function turnedOf(r, alerts) {
  const mine = alerts.filter((x) => x.entity_type === r.type && x.entity === r.value);
  const turned = mine.map((x) => ({ name: x.attribute, seen: x.before, now: x.after }));
  if (r.outcome !== "changed" && r.outcome !== "warned") return turned;
  for (const [name, now] of Object.entries(r.now || {})) {
    const seen = (r.seen || {})[name];
    if (seen !== undefined && seen !== now && !turned.some((t) => t.name === name)) turned.push({ name, seen, now });
  }
  return turned;
}

/** foundText says in a few words what came of an entity, "" where nothing did. @param {Found|null} f */
function foundText(f) {
  if (!f || f.outcome === "unchanged" || f.outcome === "skipped") return "";
  if (f.turned.length > 0) return f.turned[0].seen + " → " + f.turned[0].now + (f.turned.length > 1 ? " +" + (f.turned.length - 1) : "");
  return f.outcome === "failed" ? "not checked" : lookOf(OUTCOMES, f.outcome).label.toLowerCase();
}

/** turnedLine is a changed value in a line to read. @param {Turned} t */
function turnedLine(t) {
  return [words(t.name), " ", h("s", {}, t.seen), " → ", h("strong", {}, t.now)];
}

/** turnedText is the same as a text. @param {Turned} t */
function turnedText(t) {
  return words(t.name) + " " + t.seen + " → " + t.now;
}

/**
 * decisionOf is what a model step decided: the tools that it asked for, or that it answered; "" where nothing is on record.
 * @param {Session} s @param {Span[]} spans
 */
function decisionOf(s, spans) {
  /** @type {Set<string>} */
  const names = new Set();
  let answers = false;
  for (const sp of spans) {
    for (const i of sp.rows) {
      const row = s.rows[i];
      if (!row || row.event_type !== "LLM_RESPONSE") continue;
      const g = s.gists[i];
      for (const name of g.calls || []) names.add(name || "a tool");
      if (g.answers) answers = true;
    }
  }
  const list = [...names];
  if (list.length === 0) return answers ? "→ answer" : "";
  if (list.length === 1 || (list.length === 2 && list.join().length <= 28)) return "→ " + list.join(", ");
  return "→ " + list[0] + " +" + (list.length - 1);
}
