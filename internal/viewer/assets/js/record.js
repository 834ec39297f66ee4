// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// What the record has of a request: its checks, the answers, the run, and the history in the ledger.

/** failureList says why a check failed, and what to do. @param {Check} c */
function failureList(c) {
  // What is true of several things is said once.
  const what = (/** @type {Finding} */ f) => (f.text.startsWith(f.type + " " + f.value + ": ") ? f.text.slice((f.type + " " + f.value + ": ").length) : f.text);
  return h("ul", "failures", [...groupBy(c.findings.filter((f) => f.effect === "fail"), (f) => what(f) + "\n" + (f.remedy || ""))].map(([, fs]) => {
    const f = fs[0], said = what(f);
    const about = c.failures.filter((x) => fs.some((f) => x.reason === f.reason && (x.entity_type || "") === (f.type || "") && (x.entity || "") === (f.value || "")));
    const details = new Set(about.map((x) => x.detail || "").filter((d) => d && !f.text.includes(d)));
    return h("li", {}, h("strong", {}, said === f.text ? said : fs.map((x) => x.type + " " + x.value).join(", ") + ": " + said), f.remedy && h("div", {}, f.remedy), [...details].map((d) => h("div", "detail-text", d)));
  }));
}

/** unproven says why the last check failed, and what that means. @param {Approval & {last: Check|undefined}} a */
function unproven(a) {
  if (!a.last || a.last.verdict !== "check_failed") return null;
  const blocked = !a.overridden && a.answers.some((x) => x.confirmed);
  return h("div", "callout bad", icon("lock"), h("div", {},
    h("p", {}, h("strong", {}, blocked ? "It did not run: its check failed." : "Its check failed."), " That does not mean that anything has changed."),
    blocked && waits(a.status) && !a.hopeless && h("p", {}, "The request stays open: answer again when the cause is gone."),
    failureList(a.last)));
}

/** severity says a number in a word. @param {number} n */
function severity(n) {
  if (n >= 0.9) return "critical";
  if (n >= 0.7) return "high";
  return n >= 0.4 ? "medium" : "low";
}

/** alertList shows changes, the worst first. @param {Alert[]} alerts */
function alertList(alerts) {
  const sorted = [...alerts].sort((a, b) => b.severity - a.severity);
  return h("ul", "alerts", sorted.map((a) => {
    const word = severity(a.severity);
    const fillEl = h("span", "bar-fill");
    fillEl.style.width = Math.round(Math.max(0, Math.min(1, a.severity)) * 100) + "%";
    return h("li", { class: "alert sev-" + word },
      h("div", "alert-head", h("span", "sev", h("span", { class: "bar", "aria-hidden": "true" }, fillEl), h("span", "sev-text", a.severity.toFixed(2) + " " + word)), h("strong", {}, words(a.drift_type)), a.effect === "warn" && badge("does not block", "wait")),
      h("div", "alert-what", h("span", "what-name", a.entity_type + " " + a.entity), change(a.before, a.after, a.condition && h("span", "muted", a.condition + " needed"), percent(a.change_percent))),
      h("p", "alert-do", a.recommendation));
  }));
}

/** gridTable scrolls on its own where it is too wide, also by keys. @param {string} label @param {string[]} heads @param {HTMLElement} body */
function gridTable(label, heads, body) {
  return h("div", { class: "table-wrap", tabindex: "0", role: "region", "aria-label": label }, h("table", "grid", h("thead", {}, h("tr", {}, heads.map((t) => h("th", { scope: "col" }, t)))), body));
}

/** @param {App} app @param {Approval} a */
function checkList(app, a) {
  if (a.checks.length === 0) return h("p", "muted", waits(a.status) ? "Nobody has checked it yet." : "No check is on record.");
  return h("ol", "checks", a.checks.map((c) => {
    const other = a.fingerprint && c.fingerprint && a.fingerprint !== c.fingerprint;
    const head = [
      chip(c.verdict),
      h("span", {}, wordOf("stage", c.stage).name),
      agoEl(c.at),
      h("span", "muted", fmtDuration(c.duration_ms)),
      h("span", "muted", c.stale_entities + " of " + c.total_entities + " changed"),
      other && badge("another fingerprint than was asked for", "warn", "warning"),
    ];
    return h("li", {}, details({}, head,
      h("div", "check-body",
        c.alerts.length > 0 && [h("h4", {}, "Changes"), alertList(c.alerts)],
        c.warnings.length > 0 && [h("h4", {}, "Warnings: changes that do not block"), alertList(c.warnings)],
        c.failures.length > 0 && [h("h4", {}, "What failed"), failureList(c)],
        c.alerts.length + c.warnings.length + c.failures.length === 0 && h("p", "muted", "It found nothing changed."),
        facts([["Time", timeEl(c.at)], ["Step", c.span && spanLink(app, c.span)], ["Fingerprint", mono(c.fingerprint, "fingerprint", 24)], ["Policy", mono(c.policy_version, "policy version", 24)], ["Check", mono(c.id, "check id", 24)]], "line"))));
  }));
}

/** @param {App} app @param {Approval} a */
function answerList(app, a) {
  if (a.answers.length === 0) return h("p", "muted", waits(a.status) ? "Nobody has answered yet." : "Nobody answered.");
  return h("ul", "answers", a.answers.map((x) => h("li", {},
    answerMark(x.confirmed),
    h("span", {}, "by ", h("strong", {}, x.approver || "a person the record does not name"), " ", x.authenticated ? badge("authenticated", "good", "lock") : badge("not authenticated", "idle")),
    timeEl(x.at),
    x.because && h("span", {}, "because: " + x.because),
    x.change && h("span", {}, "wants: " + x.change),
    x.override && [badge("overrides", "bad", "warning"), h("span", {}, x.override)],
    x.accepted || x.reason === "more_approvers" ? h("span", "muted", "it counted" + (x.accepted || !x.refusal ? "" : ": " + x.refusal)) : x.confirmed && h("span", "warn-text", icon("warning"), "it did not count" + (x.refusal || x.reason ? ": " + (x.refusal || words(x.reason || "")) : "")),
    x.row >= 0 && rowLink(app, x.row))));
}

/** @param {App} app @param {Approval} a */
function execution(app, a) {
  const e = a.execution;
  if (!e) return h("p", "muted", "It did not run.");
  const ended = !Number.isNaN(millis(e.end));
  return [
    facts([["Result", !ended && !e.status ? badge("no end recorded", "doubt", "doubt") : okBadge(e.status || "")], ["Started", timeEl(e.start)], ["Took", ended && fmtDuration(millis(e.end) - millis(e.start))], ["Step", spanLink(app, e.span)]], "line"),
    e.error && errorBox(e.error, 400),
  ];
}

/** @param {Step[]} steps */
function historyTable(steps) {
  return gridTable("History in the ledger", ["Time", "State", "By", "Verdict", "Note"],
    h("tbody", {}, steps.map((s) => h("tr", {},
      h("td", {}, timeEl(s.at)),
      h("td", {}, s.from === s.to && "still ", s.from && s.from !== s.to && [h("span", "muted", words(s.from)), icon("arrow")], h("strong", {}, wordOf("status", s.to).name.toLowerCase())),
      h("td", {}, s.actor || "–", s.authenticated && [" ", badge("authenticated", "good", "lock")], s.resolved && [" ", badge("by their word", "doubt")]),
      h("td", {}, s.verdict ? wordOf("status", s.verdict).name.toLowerCase() : "–", s.override && [" ", badge("overridden", "bad", "warning")]),
      h("td", {}, s.note || "")))));
}
