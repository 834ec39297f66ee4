// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// Approvals: what was asked, what it rests on, what has changed, and who said what.

registerView({
  id: "approvals",
  title: "Approvals",
  mount(root, app) {
    /** @type {HTMLElement[]} */
    let cards = [];
    /** @type {SessionKey|null} */
    let shown = null;
    const timer = window.setInterval(() => tick(root), 1000);
    /** @type {HTMLDetailsElement[]} */
    let opened = [];
    const off = onPrint(() => {
      for (let b = root.querySelector("button.more"); b instanceof HTMLElement; b = root.querySelector("button.more")) b.click();
      opened = [...root.querySelectorAll("details")].filter((d) => !d.open && !d.closest(".json"));
      for (const d of opened) d.open = true;
    }, () => {
      for (const d of opened) d.open = false;
    });
    return {
      /** @param {Session} s */
      show(s) {
        if (s.approvals.length === 0) {
          cards = [];
          replace(root, empty("hitl", "Nobody was asked for anything", "An approval appears here when a tool asks for a confirmation, or a tool under guard.tools is called."));
          return;
        }
        cards = s.approvals.map((a, i) => approvalCard(app, a, i));
        const draw = () => replace(root, h("div", "approvals", cards));
        if (sameSession(shown, s.session)) keepPlace(root, draw);
        else {
          draw();
          root.scrollTop = 0;
        }
        shown = s.session;
        tick(root);
      },
      select(ref) {
        for (const [i, c] of cards.entries()) {
          const on = !!ref && ref.type === "approval" && ref.key === String(i);
          c.classList.toggle("selected", on);
          if (on && cards.length > 1) c.scrollIntoView({ block: "start" });
        }
      },
      destroy() {
        clearInterval(timer);
        off();
        root.replaceChildren();
      },
    };
  },
});

/** tick brings the countdowns up to date. @param {HTMLElement} root */
function tick(root) {
  if (root.hidden) return;
  for (const el of root.querySelectorAll("[data-until]")) {
    const left = Number(el.getAttribute("data-until")) - Date.now();
    el.textContent = left > 0 ? "expires in " + fmtDuration(Math.ceil(left / 1000) * 1000) : "expired " + fmtDuration(Math.floor(-left / 60000) * 60000) + " ago";
  }
}

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
  if (!outcome) return h("span", "muted", "Not checked yet");
  return mark(lookOf(OUTCOMES, outcome));
}

/** answerMark says what a person answered. @param {boolean} confirmed */
function answerMark(confirmed) {
  return mark(confirmed ? { label: "Approved", icon: "check", tone: "good" } : { label: "Rejected", icon: "rejected", tone: "stop" });
}

/** What the reasons for which a check fails mean. @type {Record<string, string>} */
const REASONS = {
  no_entities: "There is nothing to check, and nothing is approved by absence.",
  no_checker: "No checker is registered for this type, so nobody can say what it is now.",
  needs_agent: "Only the process of the agent can ask for it: check it there.",
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

/** What the stages of a check mean. @type {Record<string, string>} */
const STAGES = { answer: "when it was answered", execution: "right before it would run", check: "on demand" };

/** @param {App} app @param {Approval} a @param {number} index */
function approvalCard(app, a, index) {
  const last = a.checks[a.checks.length - 1];
  const tone = statusInfo(a.status).tone;
  const failed = a.status === "check_failed" || (last && last.verdict === "check_failed");
  const alerts = last ? last.alerts : [];
  return h(
    "article",
    { class: "approval edge-" + tone, "aria-labelledby": "approval-" + index },
    h("header", "ap-head",
      h("div", "ap-title", h("span", "ap-kind", (a.kind === "confirmation" ? "Approval" : sentence(a.kind)) + " " + (index + 1)), h("h2", { id: "approval-" + index }, h("code", {}, a.tool || a.kind)), chip(a.status), !a.enforced && badge("observed only", "wait", "info"), a.overridden && badge("overridden: its check failed", "bad", "warning")),
      decisionButtons(app, a),
    ),
    h("p", "ap-explain", a.explanation),
    a.hint && h("p", "note", icon("info"), a.hint),
    !a.enforced && h("p", "note", icon("info"), "This confirmation was only observed: the call ran, or would run, whatever the verdict. List the tool under guard.tools to enforce it."),
    facts(
      [
        ["Asked by", a.agent],
        ["Requester", requester(a)],
        ["Approvers", approvers(a)],
        ["Change wanted", a.change],
        ["Asked", timeEl(a.requested_at)],
        ["Waited", fmtDuration(a.waited_ms)],
        ["Expiry", expiry(a)],
        ["Ledger", a.state && words(a.state)],
        ["Step", spanLink(app, a.span)],
      ],
      "line",
    ),
    a.warnings.length > 0 && h("ul", "callout warn list", a.warnings.map((w) => h("li", {}, icon("warning"), w))),
    differences(a),
    failed && failClosed(a, last),
    h("div", "ap-cols",
      h("section", "ap-args", h("div", "payload-head", h("h3", {}, "What was asked for"), a.args !== undefined && copyButton(() => pretty(a.args), "arguments")), a.args !== undefined ? jsonTree(a.args, JSON.stringify(a.args).length < 20000 ? 50 : 2) : h("p", "muted", "The record holds no arguments.")),
      h("section", {}, h("h3", {}, "Changes found", h("span", "count", String(alerts.length))), alertList(app, alerts, last ? "The last check found nothing changed." : "It has not been checked yet.", failed)),
    ),
    h("section", {}, h("h3", {}, "What it rests on: seen → now", h("span", "count", String(a.entities.length))), entityTable(app, a.entities),
      a.not_chosen && notChosen(a.not_chosen)),
    last && last.warnings.length > 0 && h("section", {}, h("h3", {}, "Warnings: changes that do not block"), alertList(app, last.warnings, "", false)),
    h("section", {}, h("h3", {}, "Checks", h("span", "count", String(a.checks.length))), checkList(app, a)),
    h("div", "ap-cols",
      h("section", {}, h("h3", {}, "Answers"), answerList(app, a)),
      h("section", {}, h("h3", {}, "Execution"), execution(app, a)),
    ),
    a.why.length > 0 && h("section", {}, h("div", "payload-head", h("h3", {}, "Why: from what it rests on to the request"), smallButton([icon("graph"), "Show in graph"], () => showWhy(app, index))), whyList(app, a)),
    (a.history || []).length > 0 && h("section", {}, h("h3", {}, "History in the ledger"), historyTable(a.history || [])),
    details("ap-ids", "Fingerprint, digest and ids", facts([["Fingerprint of what was seen", mono(a.fingerprint, "fingerprint")], ["Digest of the arguments", mono(a.args_digest, "digest")], ["Policy version", mono(a.policy_version, "policy version")], ["Approval", mono(a.id, "approval id")], ["Confirmation", mono(a.confirmation_id, "confirmation id")], ["Call", mono(a.call_id, "call id")]], "ids")),
  );
}

/** change shows a value that is another one now. @param {string} was @param {string} now @param {Child[]} more */
function change(was, now, ...more) {
  return h("span", "change", h("del", {}, was), icon("arrow"), h("span", "sr-only", "is now"), h("ins", {}, now), more);
}

/** differences says what changed since the request that this one replaces. @param {Approval} a */
function differences(a) {
  if (!a.replaces) return null;
  const d = a.difference || {};
  /** @param {string} what @param {ValueDifference} v */
  const value = (what, v) => h("li", {}, h("div", "alert-what", h("span", "what-name", what + " " + v.name), change(v.was || "none", v.now || "none")));
  const items = [
    ...(d.entities || []).flatMap((e) => {
      const what = e.type + " " + e.value;
      const list = (e.attributes || []).map((v) => value(what, v));
      return e.change === "changed" ? list : [h("li", {}, what + " was " + e.change), ...list];
    }),
    ...(d.arguments || []).map((v) => value("Argument", v)),
  ];
  if (d.omitted) items.push(h("li", {}, d.omitted + " more values"));
  return h("section", {}, h("h3", {}, "Asked again: what changed since the request before"), items.length > 0 ? h("ul", "refs", items) : h("p", "muted", "Nothing that the record shows."), facts([["Replaces", mono(a.replaces, "approval id")], ["Asked then", timeEl(d.since)]], "line"));
}

/** approvers says who has approved, where several people have to. @param {Approval} a */
function approvers(a) {
  const people = a.consents || [];
  if (a.approvers < 2 && people.length < 2) return "";
  return people.length + " of " + a.approvers + (people.length > 0 ? ": " + people.join(", ") : "");
}

/** requester says who asked, and whether that is known. @param {Approval} a */
function requester(a) {
  if (!a.requester) return "";
  return [a.requester.name, " ", a.requester.authenticated ? badge("authenticated", "good", "lock") : badge("not authenticated: may be whoever approves", "wait", "warning")];
}

/** expiry counts down while the approval is open, and is a date afterwards. @param {Approval} a */
function expiry(a) {
  const at = millis(a.expires_at);
  if (Number.isNaN(at)) return "";
  const open = a.status === "pending" || a.status === "safe" || a.status === "check_failed";
  return [timeEl(a.expires_at), open && [" · ", h("span", { class: "countdown", data: { until: at } })]];
}

/** failClosed says why a check that could not be made blocks. @param {Approval} a @param {Check|undefined} check */
function failClosed(a, check) {
  const open = a.status === "check_failed";
  return h("div", "callout bad", icon("lock"), h("div", {},
    h("p", {}, h("strong", {}, "Blocked, because it could not be shown that the world is unchanged.")),
    h("p", {}, "A failed check is not a changed world: it is no knowledge of it, and nothing is approved without. ", open ? "The approval stays open: remove the cause and answer again before it expires." : ""),
    check && check.failures.length > 0 && failureList(check.failures)));
}

/** @param {Failure[]} list */
function failureList(list) {
  return h("ul", "failures", list.map((f) => h("li", {}, h("strong", {}, [f.entity_type, f.entity].filter(Boolean).join(" ") || "The whole check"), " ", badge(words(f.reason), "bad"), h("div", {}, REASONS[f.reason] || ""), f.detail && h("div", "detail-text", f.detail))));
}

/** severity says a number in a word. @param {number} n */
function severity(n) {
  return n >= 0.9 ? "critical" : n >= 0.7 ? "high" : n >= 0.4 ? "medium" : "low";
}

/** @param {App} app @param {Alert[]} alerts @param {string} none @param {boolean|undefined} failed */
function alertList(app, alerts, none, failed) {
  if (alerts.length === 0) return h("p", "muted", failed ? "None was found where a comparison was possible. What could not be compared is listed above." : none);
  const sorted = [...alerts].sort((a, b) => b.severity - a.severity);
  return h("ul", "alerts", sorted.map((a) => {
    const word = severity(a.severity);
    const fillEl = h("span", "bar-fill");
    fillEl.style.width = Math.round(Math.max(0, Math.min(1, a.severity)) * 100) + "%";
    const pct = a.change_percent;
    return h("li", { class: "alert sev-" + word },
      h("div", "alert-head", h("span", "sev", h("span", { class: "bar", "aria-hidden": "true" }, fillEl), h("span", "sev-text", a.severity.toFixed(2) + " " + word)), h("strong", {}, words(a.drift_type)), a.effect === "warn" && badge("does not block", "wait")),
      h("div", "alert-what", h("span", "what-name", a.entity_type + " " + a.entity), change(a.before, a.after, a.condition && h("span", "muted", a.condition + " needed"), pct !== undefined && pct !== null && h("span", "pct", (pct > 0 ? "+" : "") + (Math.round(pct * 10) / 10) + "%"))),
      h("p", "alert-do", a.recommendation));
  }));
}

/** @param {string[]} heads @param {HTMLElement} body */
function gridTable(heads, body) {
  return h("div", "table-wrap", h("table", "grid", h("thead", {}, h("tr", {}, heads.map((t) => h("th", { scope: "col" }, t)))), body));
}

/** @param {App} app @param {Rested[]} list */
function entityTable(app, list) {
  if (list.length === 0) return h("p", "muted", "Nothing was found that it rests on. A check of nothing fails.");
  const body = h("tbody", {});
  const sure = list.some((e) => e.confidence > 0);
  // What needs a reader comes first.
  const order = ["unchanged", "skipped", "warned", "failed", "changed"];
  /** @param {Rested} e */
  const rank = (e) => -order.indexOf(e.outcome || "");
  const sorted = [...list].sort((a, b) => rank(a) - rank(b));
  chunked(body, sorted, (e) => {
    const names = [...new Set([...Object.keys(e.seen || {}), ...Object.keys(e.now || {}), ...Object.keys(e.conditions || {})])];
    const rows = Math.max(1, names.length);
    const age = millis(e.as_of) - millis(e.seen_at);
    const ageNow = Number.isNaN(age) || age < 0 ? "" : "checked " + fmtDuration(age) + " later";
    return Array.from({ length: rows }, (_, i) => {
      const n = names[i];
      const seen = n === undefined ? undefined : (e.seen || {})[n];
      const now = n === undefined ? undefined : (e.now || {})[n];
      const condition = n !== undefined && Object.hasOwn(e.conditions || {}, n) ? (e.conditions || {})[n] : "";
      const changed = e.now && n !== undefined && seen !== now && e.outcome !== "unchanged";
      return h("tr", { class: (i === 0 ? "first" : "") + (changed ? " changed" : "") },
        i === 0 && h("th", { scope: "rowgroup", rowspan: rows }, entityLink(app, e.key, e.type, e.value), e.unseen && h("div", {}, badge("not shown to the approver", "warn", "warning"))),
        i === 0 && h("td", { rowspan: rows }, outcomeMark(e.outcome), e.reason && h("div", "detail-text", words(e.reason))),
        h("td", "attr", n === undefined ? "–" : words(n)),
        h("td", {}, seen === undefined ? h("span", "none", "not seen") : changed ? h("del", {}, seen) : seen),
        h("td", {}, now === undefined ? h("span", "none", e.outcome ? "no answer" : "–") : changed ? [h("ins", {}, now), h("span", "mark", icon("drift"), "changed")] : now, condition && h("div", "detail-text", condition + " needed")),
        i === 0 && h("td", { rowspan: rows, class: "when" }, timeEl(e.seen_at, "ms"), ageNow && h("div", { class: "muted", title: "Compared with what was true at " + e.as_of }, ageNow)),
        sure && i === 0 && h("td", { rowspan: rows, class: "num" }, e.confidence > 0 ? e.confidence.toFixed(2) : "–"));
    });
  }, 60);
  return gridTable(["Entity", "Outcome", "Attribute", "Seen", "Now", "Seen at", ...(sure ? ["Confidence"] : [])], body);
}

/** What was there to choose from and does not count. @param {NotChosen} n */
function notChosen(n) {
  const more = n.total - n.entities.length;
  return details({}, ["Not chosen, and not checked", h("span", "count", String(n.total))],
    h("ul", {}, n.entities.map((e) => h("li", {}, e.type, " ", h("strong", {}, e.value), " ",
      h("span", "muted", Object.entries(e.seen || {}).map(([name, value]) => words(name) + " " + value).join(", ")))),
    more > 0 && h("li", "muted", "and " + more + " more")));
}

/** @param {App} app @param {Approval} a */
function checkList(app, a) {
  if (a.checks.length === 0) return h("p", "muted", "It is checked when it is answered, and again right before it runs.");
  return h("ol", "checks", a.checks.map((c, i) => {
    const other = a.fingerprint && c.fingerprint && a.fingerprint !== c.fingerprint;
    const head = [
      chip(c.verdict),
      h("span", {}, STAGES[c.stage] || words(c.stage)),
      timeEl(c.at),
      h("span", "muted", fmtDuration(c.duration_ms)),
      h("span", "muted", c.stale_entities + " stale of " + c.total_entities),
      other && badge("another fingerprint than was asked for", "warn", "warning"),
    ];
    return h("li", {}, details({}, head,
      h("div", "check-body",
        c.alerts.length > 0 && [h("h4", {}, "Changes"), alertList(app, c.alerts, "", false)],
        c.warnings.length > 0 && [h("h4", {}, "Warnings"), alertList(app, c.warnings, "", false)],
        c.failures.length > 0 && [h("h4", {}, "Failures"), failureList(c.failures)],
        i < a.checks.length - 1 && c.entities.length > 0 && [h("h4", {}, "Compared"), entityTable(app, c.entities)],
        facts([["Step", spanLink(app, c.span)], ["Fingerprint", mono(c.fingerprint, "fingerprint", 24)], ["Policy", mono(c.policy_version, "policy version", 24)], ["Check", mono(c.id, "check id", 24)]], "line"))));
  }));
}

/** @param {App} app @param {Approval} a */
function answerList(app, a) {
  if (a.answers.length === 0) return h("p", "muted", a.status === "expired" ? "Nobody answered in time." : "Nobody has answered yet.");
  return h("ul", "answers", a.answers.map((x) => h("li", {},
    answerMark(x.confirmed),
    h("span", {}, "by ", h("strong", {}, x.approver || "a person the record does not name"), " ", x.authenticated ? badge("authenticated", "good", "lock") : badge("not authenticated", "idle")),
    timeEl(x.at),
    x.change && h("span", {}, "wants: " + x.change),
    x.override && [badge("overrides", "bad", "warning"), h("span", {}, x.override)],
    x.accepted ? h("span", "muted", "taken") : h("span", "warn-text", icon("warning"), "not taken" + (x.reason ? ": " + words(x.reason) : "")),
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

/** whyList joins entities that share a path. @param {App} app @param {Approval} a */
function whyList(app, a) {
  const groups = groupBy(a.why, (w) => w.origin + w.path.map((p) => p.span).join(">"));
  return h("ul", "whys", [...groups.values()].map((ws) => h("li", {},
    h("div", "why-from", ws.map((w) => entityLink(app, w.entity, w.type, w.value)), h("span", "muted", [ws[0].hops > 0 ? plural(ws[0].hops, "hop") : ws[0].origin === "result" && "shown by the call itself", ws[0].note].filter(Boolean).join("; "))),
    ws[0].origin !== "action" && h("ol", "crumbs", ws[0].path.map((p) => h("li", {}, spanLink(app, p.span), p.edge && h("span", "edge-name", p.edge, icon("arrow"))))))));
}

/** @param {Step[]} steps */
function historyTable(steps) {
  return gridTable(["Time", "State", "By", "Verdict", "Note"],
    h("tbody", {}, steps.map((s) => h("tr", {},
      h("td", {}, timeEl(s.at)),
      h("td", {}, s.from && [h("span", "muted", words(s.from)), icon("arrow")], h("strong", {}, words(s.to))),
      h("td", {}, s.actor || "–", s.authenticated && [" ", badge("authenticated", "good", "lock")], s.resolved && [" ", badge("by their word", "doubt")]),
      h("td", {}, s.verdict ? words(s.verdict) : "–", s.override && [" ", badge("overridden", "bad", "warning")]),
      h("td", {}, s.note || "")))));
}

/** The token is kept in memory alone, for as long as the page is open. */
const decisionSecret = { token: "" };

/** decisionButtons are there where the server takes answers. @param {App} app @param {Approval} a */
function decisionButtons(app, a) {
  if (!app.page.decisions || !app.page.live || a.kind !== "confirmation" || !["pending", "check_failed", "safe"].includes(a.status)) return null;
  return h("div", "decide",
    h("button", { class: "btn", onclick: () => decide(app, a, false) }, icon("rejected"), "Reject"),
    // No gate would look at the world before a call that is only observed.
    a.enforced ? h("button", { class: "btn primary", onclick: () => decide(app, a, true) }, icon("check"), "Approve") : null);
}

/** decide asks once more, says what will happen, and sends the answer. @param {App} app @param {Approval} a @param {boolean} confirmed */
function decide(app, a, confirmed) {
  const token = h("input", { type: "password", id: "cg-token", autocomplete: "off", spellcheck: "false", required: true });
  token.value = decisionSecret.token;
  const out = h("p", { class: "note", role: "status" });
  const send = h("button", { type: "submit", class: confirmed ? "btn primary" : "btn danger" }, confirmed ? "Approve" : "Reject");
  const cancel = h("button", "btn", "Cancel");
  const form = h("form", "decision",
    h("p", {}, confirmed ? "You approve that this runs, as it was asked for:" : "You reject this. The agent is told, and it does not run:"),
    facts([["Tool", h("code", {}, a.tool)], ["Fingerprint", mono(a.fingerprint, "fingerprint")], ["Arguments", details({}, "Show", jsonTree(a.args === undefined ? null : a.args, 3))]], "ids"),
    h("p", "note", icon(confirmed ? "shield" : "info"), confirmed ? "What it rests on is checked now and again right before it runs. If anything has changed, or cannot be checked, nothing runs: the gate decides, not this page." : "A rejection is final. A new plan needs a new request."),
    h("label", { for: "cg-token" }, "Token"),
    token,
    h("p", "muted", "The one that “contextgraph serve” printed when it started. It stays in the memory of this page until you close it."),
    out,
    h("div", "actions end", cancel, send));
  const d = openDialog((confirmed ? "Approve " : "Reject ") + (a.tool || a.kind), form);
  cancel.addEventListener("click", () => d.close());
  form.addEventListener("submit", async (ev) => {
    ev.preventDefault();
    send.disabled = true;
    replace(out, h("span", "spinner"), "Sending…");
    try {
      const message = await app.data.decide({ session: a.session, approval_id: a.id, confirmation_id: a.confirmation_id, confirmed, token: token.value });
      decisionSecret.token = token.value;
      replace(form, h("p", "callout good", icon("check"), message), h("div", "actions end", h("button", { class: "btn primary", onclick: () => d.close() }, "Close")));
      announce(message);
      app.reload();
    } catch (err) {
      send.disabled = false;
      if (/** @type {any} */ (err).status === 401) decisionSecret.token = "";
      replace(out, h("span", "bad-text", icon("error"), said(err)));
    }
  });
  (decisionSecret.token ? send : token).focus();
}
