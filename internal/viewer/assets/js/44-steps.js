// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// What came of a request, step by step, from the record alone. An answer that was sent and is not on
// record yet stands at the end, and nothing is said to have come of it.

/** @typedef {{at: number, time: string, icon: IconName, tone: string, text: Child, more?: Child}} Passed */

/** stepsOf has what has happened, in its order. @param {App} app @param {Approval} a @returns {Passed[]} */
function stepsOf(app, a) {
  /** @type {Passed[]} */
  const out = [{ at: -Infinity, time: a.requested_at, icon: "message", tone: "idle", text: ["Asked", a.agent && " by " + a.agent] }];
  const used = new Set();
  let before = -Infinity;
  for (const x of a.answers) {
    const at = millis(x.at);
    // The check that an answer brought about is on record before the answer is.
    const own = a.checks.filter((c) => c.stage === "answer" && !used.has(c) && millis(c.at) > before && millis(c.at) <= at);
    for (const c of own) used.add(c);
    before = at;
    const first = Math.min(at, ...own.map((c) => millis(c.at)));
    out.push({ at: first, time: x.at, icon: "user", tone: "idle", text: [x.confirmed ? "Yes" : "No", " by ", h("strong", {}, x.approver || "a person whom the record does not name"), x.confirmed && x.accepted && ": taken"], more: [!x.authenticated && h("span", "muted", "not authenticated"), x.override && h("span", {}, "overrides: “" + x.override + "”"), x.because && h("span", {}, "because: “" + x.because + "”"), x.change && h("span", {}, "wants: “" + x.change + "”")].filter(Boolean) });
    for (const c of own) out.push(checkStep(c));
    if (!x.accepted && x.confirmed) out.push({ at, time: x.at, icon: x.reason === "more_approvers" ? "clock" : "rejected", tone: x.reason === "more_approvers" ? "wait" : "bad", text: x.reason === "more_approvers" ? "Counted: waits for more people" : ["Refused: ", h("strong", {}, words(x.reason || "no reason on record"))], more: x.reason !== "more_approvers" && REFUSALS[x.reason || ""] });
  }
  for (const c of a.checks) if (!used.has(c)) out.push(checkStep(c));
  const e = a.execution;
  if (e) {
    const ended = !Number.isNaN(millis(e.end)) || !!e.status;
    if (!ended) out.push({ at: millis(e.start), time: e.start, icon: "doubt", tone: "doubt", text: "Started; its end is not on record" });
    else if (e.status === "ERROR") out.push({ at: millis(e.start), time: e.end || e.start, icon: "failed", tone: "bad", text: "Ran and returned an error", more: e.error && clip(e.error, 160) });
    else out.push({ at: millis(e.start), time: e.end || e.start, icon: "executed", tone: "good", text: "Ran without an error" });
  }
  // The sort keeps the order of what is at one time.
  out.sort((x, y) => x.at - y.at);
  out.push(...ending(app, a));
  return out;
}

/** checkStep is a check and its verdict. @param {Check} c @returns {Passed} */
function checkStep(c) {
  const v = lookOf(VERDICTS, c.verdict);
  const what = c.verdict === "drift" ? c.alerts.map((x) => x.entity + " " + words(x.attribute) + " " + x.before + " → " + x.after).join("; ")
    : c.verdict === "check_failed" ? c.failures.map((f) => ([f.entity_type, f.entity].filter(Boolean).join(" ") || "The whole check") + ": " + words(f.reason)).join("; ") : "";
  return { at: millis(c.at), time: c.at, icon: v.icon, tone: v.tone, text: ["Checked " + (STAGES[c.stage] || words(c.stage)) + ": ", h("strong", {}, v.label)], more: what && clip(what, 200) };
}

/** ending is how it stands, where no step above says it. @param {App} app @param {Approval} a @returns {Passed[]} */
function ending(app, a) {
  /** @param {IconName} ic @param {string} tone @param {Child} text @param {Child} [more] */
  const one = (ic, tone, text, more) => [{ at: Infinity, time: "", icon: ic, tone, text, more }];
  const sent = app.desk.underWay(a);
  if (sent) return [{ at: Infinity, time: sent.at, icon: "arrow", tone: "idle", text: [sent.reply.confirmed ? "Your yes" : "Your no", " was ", h("strong", {}, "sent")], more: "The gate has not answered yet." }];
  if (a.status === "drift") return one("drift", "warn", h("strong", {}, "Blocked for good"), "It needs a new request.");
  if (a.status === "rejected") return one("rejected", "stop", h("strong", {}, "It does not run"), "A new plan needs a new request.");
  if (a.status === "expired") return one("expired", "idle", h("strong", {}, "Expired"), "Nothing came of it in time.");
  if (a.execution) return a.status === "in_doubt" ? one("doubt", "doubt", h("strong", {}, "In doubt"), "Look at the system that it acts on, then resolve it.") : [];
  if (a.status === "safe") return one("clock", "wait", "Approved; it has not run yet", "It is checked once more right before it runs.");
  const missing = a.approvers - a.consents.length;
  if (a.consents.length > 0 && missing > 0) return one("clock", "wait", "Waits for " + plural(missing, "more person", "more people"));
  if (waits(a.status)) return one("clock", "wait", a.kind === "confirmation" ? "Waits for a yes or a no" : "Waits for a person");
  return a.status === "in_doubt" ? one("doubt", "doubt", h("strong", {}, "In doubt")) : [];
}

/** stepLine draws them. @param {App} app @param {Approval} a */
function stepLine(app, a) {
  return h("ol", "passed", stepsOf(app, a).map((s) => h("li", { class: "tone-" + s.tone }, icon(s.icon), h("div", {}, h("p", {}, s.text, " ", s.time && h("span", "passed-at", agoEl(s.time))), (Array.isArray(s.more) ? s.more.length > 0 : s.more) && h("p", "passed-more", s.more)))));
}
