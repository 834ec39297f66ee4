// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The card of one request: what will happen, what has changed, what it costs, why, and who decides.

/** Card draws a request again and again, and keeps what the reader has begun to write. */
class Card {
  /** @param {App} app @param {number} index */
  constructor(app, index) {
    this.app = app;
    this.index = index;
    const a = /** @type {Session} */ (app.session).approvals[index];
    this.decide = new DecideBox(app, a);
    this.check = new CheckBox(app, a);
    this.root = h("article", { "aria-labelledby": "approval-" + index });
  }

  /** @param {Approval} record */
  draw(record) {
    const { app, index } = this;
    const a = { ...record, last: record.checks[record.checks.length - 1] };
    this.decide.update(record);
    this.check.update(record);
    this.root.className = "card edge-" + statusInfo(a.status).tone;
    replace(this.root, h("div", "card-top", head(app, a, index), differences(a), seenNow(app, a),
      unproven(a)),
      h("aside", { class: "card-rail", "aria-label": "Decision" }, this.decide.root,
        this.check.root, h("section", "rail-steps", h("h3", {}, "What has happened"),
        stepLine(app, record)), people(app, a)),
      h("div", "card-more", reasons(app, a, index), a.not_chosen && notChosen(a.not_chosen),
        argumentsOf(a), records(app, a)));
  }
}

/** head says what will happen, and how it stands. @param {App} app @param {Approval} a
 * @param {number} index */
function head(app, a, index) {
  return h("header", "card-head",
    h("div", "card-state", chip(a.status), waits(a.status) && countdownEl(a.expires_at),
      !a.enforced && badge("observed only", "wait", "info"),
      a.overridden && badge("overridden: its check failed", "bad", "warning"),
      h("span", "muted", "asked ", agoEl(a.requested_at), a.agent && " by " + a.agent)),
    h("h2", { id: "approval-" + index }, marked(actionOf(a), a.tool)),
    a.total && h("p", "card-total", "Total, at the prices that were read: ",
      h("strong", {}, a.total)),
    unchecked(a),
    h("p", { class: "card-explain status-" + a.status }, pointed(a.explanation, a)),
    !a.hopeless && a.warnings.length > 0 && h("ul", "callout warn list",
      a.warnings.map((w) => h("li", {}, icon("warning"), w))),
    (a.notes || []).map((n) => h("p", "note", icon("info"), n)),
    !a.enforced && a.kind === "confirmation" && h("p", "note", icon("info"),
      "This confirmation was only observed: the call ran, or would run, whatever the verdict. "
        + "List the tool under guard.tools to enforce it."));
}

/** pointed is a sentence of the record without what a check found, which stands in the rows of
 * the card. @param {string} text @param {Approval} a */
function pointed(text, a) {
  for (const c of a.checks) for (const part of [c.changed, c.failed]) if (part) text = text.replace(
    part, "");
  return text;
}

/** unchecked says which arguments no check looks at. @param {Approval} a */
function unchecked(a) {
  if (a.not_checked) return h("p", "note", icon("info"), "Not checked: " + a.not_checked.join(", ")
    + ". No rule of the configuration reads " + (a.not_checked.length > 1 ? "them." : "it."));
  const last = a.checks[a.checks.length - 1];
  if (!waits(a.status) || !a.enforced || last?.verdict !== "safe") return null;
  return h("p", "note", icon("info"),
    "All that the agent passes is read by the rules of the check.");
}

/** marked sets off the name of the tool in a sentence, so that it is not read as a verb.
 * @param {string} text @param {string} tool */
function marked(text, tool) {
  const at = tool ? text.indexOf(" " + tool + " once") : -1;
  return at < 0 ? h("strong", {}, text) : [text.slice(0, at + 1), h("strong", "tool", tool),
    text.slice(at + 1 + tool.length)];
}

/** people says who asked, who may approve, and who has. @param {App} app @param {Approval} a */
function people(app, a) {
  const need = Math.max(1, a.approvers || 0);
  const has = a.consents.length > 0 ? a.consents.length + " of " + need + ": "
    + a.consents.join(", ") : a.kind === "confirmation" && "0 of " + need;
  const open = waits(a.status);
  return h("section", "rail-people", h("h3", {}, "Who"), facts([
    ["May approve", open && (a.requester && !a.requester.authenticated && a.kind === "confirmation"
      ? h("span", "warn-text", icon("warning"), a.may_approve) : a.may_approve)],
    ["Has approved", has],
    ["For", a.requester && [h("strong", {}, a.requester.name), " ", a.requester.authenticated
      ? badge("authenticated", "good", "lock") : badge("not authenticated", "wait", "warning")]],
    ["Wish", a.change],
    ["Asked", timeEl(a.requested_at)],
    ["Expires", open && !Number.isNaN(millis(a.expires_at)) && timeEl(a.expires_at)],
    ["Waited", fmtDuration(a.waited_ms)],
    ["Step", spanLink(app, a.span)],
  ]));
}

/** reasons says where each value was learned. @param {App} app @param {Approval} a
 * @param {number} index */
function reasons(app, a, index) {
  if (a.why.length === 0) return null;
  const groups = groupBy(a.why, (w) => (w.origin === "action" ? "" : w.path[0]?.span || ""));
  return h("section", "c-part", h("div", "payload-head", h("h3", {}, "Why: where it was learned"),
    smallButton([icon("graph"), "Show the paths in the graph"], () => showWhy(app, index))),
    h("ul", "whys", [...groups].map(([key, ws]) => {
      const span = app.span(key);
      const note = ws[0].note;
      return h("li", {}, h("span", "why-what",
        ws.map((w) => entityLink(app, w.entity, w.type, w.value))),
        h("span", "why-from", key ? ["shown by ", spanLink(app, key),
          span && h("span", {}, span.agent && span.agent + ", ",
          timeEl(span.end || span.start, "clock"), " (", agoEl(span.end || span.start),
          ")")] : "named by the action alone", note && h("span", "warn-text", icon("warning"),
          note)));
    })));
}

/** What was there to choose from and does not count. @param {NotChosen} n */
function notChosen(n) {
  const more = n.total - n.entities.length;
  return h("section", "c-part", h("h3", {}, "Not chosen, and not checked",
    h("span", "count", String(n.total))),
    h("ul", "v-quiet", n.entities.map((e) =>
      h("li", "v-row", h("span", {}, e.type, " ", h("strong", {}, e.value)),
      h("span", "v-list", Object.entries(e.seen || {}).map(([name, value]) => named(name, value))),
        h("span", "v-state"), seenAge(e))),
    more > 0 && h("li", "muted", "and " + more + " more")));
}

/** argumentsOf shows the arguments open, and long ones as far as a screen goes.
 * @param {Approval} a */
function argumentsOf(a) {
  const title = h("h3", {}, "What the agent passes to " + (a.tool || "the call"));
  if (a.args === undefined) return h("section", "c-part", title,
    h("p", "muted", "The record holds no arguments."));
  const tree = jsonTree(a.args, JSON.stringify(a.args).length < 20000 ? 50 : 2);
  const lines = tree.querySelectorAll(".j-leaf, summary").length;
  if (lines > 18) tree.classList.add("bounded");
  return h("section", "c-part", h("div", "payload-head", title,
    copyButton(() => pretty(a.args), "arguments")), tree,
    lines > 18 && moreButton("Show all " + fmtInt(lines) + " lines",
      () => tree.classList.remove("bounded")));
}

/** differences says what changed since the request that this one replaces. @param {Approval} a */
function differences(a) {
  if (!a.replaces) return null;
  const d = a.difference || {};
  /** @param {string} what @param {ValueDifference} v */
  const value = (what, v) => h("li", {},
    h("div", "alert-what", h("span", "what-name", what + " " + words(v.name)),
    change(v.was || "none", v.now || "none")));
  const items = [
    ...(d.entities || []).flatMap((e) => {
      const what = e.type + " " + e.value;
      const list = (e.attributes || []).map((v) => value(what, v));
      return e.change === "changed" ? list : [h("li", {}, what + " was " + e.change), ...list];
    }),
    ...(d.arguments || []).map((v) => value("Argument", v)),
  ];
  if (d.tool) items.push(h("li", {}, "The tool is declared otherwise"));
  for (const who of d.consents || []) items.push(h("li", {}, who + " has to approve again"));
  if (d.omitted) items.push(h("li", {}, d.omitted + " more values"));
  return h("section", "c-part", h("h3", {},
    "Asked again: what is different from the earlier request"), items.length > 0
    ? h("ul", "refs", items) : h("p", "muted", "Nothing that the record shows."),
    facts([["Replaces", mono(a.replaces, "approval id")], ["Asked then", timeEl(d.since)]],
    "line"));
}

/** records is what the record has, for those who look closer. @param {App} app
 * @param {Approval & {last: Check|undefined}} a */
function records(app, a) {
  return [
    a.hint && h("section", "c-part", h("h3", {}, "The request in words, as it was asked"),
      h("p", "muted", a.hint)),
    a.kind === "confirmation" && h("section", "c-part",
      h("h3", {}, "Checks", h("span", "count", String(a.checks.length))), checkList(app, a)),
    h("div", "c-cols",
      h("section", "c-part", h("h3", {}, "Answers"), answerList(app, a)),
      h("section", "c-part", h("h3", {}, "Execution"), execution(app, a))),
    (a.history || []).length > 0 && h("section", "c-part", h("h3", {}, "History in the ledger"),
      historyTable(a.history || [])),
    details("ap-ids", "Fingerprint, digest and ids",
      facts([["Fingerprint of what was seen", mono(a.fingerprint, "fingerprint")],
      ["Digest of the arguments", mono(a.args_digest, "digest")],
      ["Policy version", mono(a.policy_version, "policy version")],
      ["Approval", mono(a.id, "approval id")],
      ["Confirmation", mono(a.confirmation_id, "confirmation id")],
      ["Call", mono(a.call_id, "call id")], ["Ledger", a.state && words(a.state)]], "ids")),
  ];
}

// What came of a request, step by step, from the record alone. An answer that was sent and is not
// on record yet stands at the end, and nothing is said to have come of it.

/** The look of a step, by its kind and then by the status that it speaks for.
 * @type {Record<string, [IconName, string]>} */
const STEP_LOOKS = {
  asked: ["message", "idle"],
  answered: ["user", "idle"],
  refused: ["rejected", "bad"],
  started: ["arrow", "idle"],
};

/** lookOfStep is the icon and the tone of a step. @param {Progress} p
 * @returns {[IconName, string]} */
function lookOfStep(p) {
  const s = statusInfo(p.status);
  return (p.step !== "answered" || p.status === "pending") && Object.hasOwn(STEP_LOOKS, p.step)
    ? STEP_LOOKS[p.step] : [s.icon, s.tone];
}

/** ending is how it stands, where the last step does not say it. @param {App} app
 * @param {Approval} a @returns {[IconName, string, Child, Child?]|null} */
function ending(app, a) {
  const sent = app.desk.underWay(a);
  if (sent) return ["arrow", "idle", [sentWord(sent.reply), " was ", h("strong", {}, "sent"), " ",
    h("span", "passed-at", agoEl(sent.at))], "The record has no word of the gate yet."];
  if (a.status === "drift") return ["drift", "warn", h("strong", {}, "This request can never run"),
    newer(a) || "It needs a new one."];
  if (a.status === "rejected") return ["rejected", "stop", h("strong", {}, "It does not run"),
    "A new plan needs a new request."];
  if (a.status === "expired") return ["expired", "idle", h("strong", {}, "Expired"),
    "Nothing came of it in time."];
  if (a.status === "superseded") return [
    "expired", "idle", h("strong", {}, statusInfo(a.status).label),
    newer(a) || "The same call was asked for again."];
  if (a.status === "in_doubt") return ["doubt", "doubt", h("strong", {}, "In doubt"),
    "Nobody knows whether it took effect."];
  if (a.execution) return null;
  if (a.status === "safe") return ["clock", "wait", "Approved, and not run yet",
    "It is checked a last time right before it runs."];
  const missing = a.approvers - a.consents.length;
  if (a.consents.length > 0 && missing > 0) return [
    "clock", "wait", "Waits for " + plural(missing, "more person", "more people")];
  return waits(a.status) ? ["clock", "wait", waitsFor(a)] : null;
}

/** waitsFor says what an open request waits for. @param {Approval} a */
function waitsFor(a) {
  if (a.kind !== "confirmation") return "Waits for a person";
  return a.hopeless ? "Waits for a no: it cannot run" : "Waits for a yes or a no";
}

/** newer leads to the request that replaces this one. @param {Approval} a */
function newer(a) {
  return a.replaced_by && h("a", { href: "#s=" + sessionPath(a.session) + "&v=approvals&request="
    + encodeURIComponent(a.replaced_by) }, "Open the newer request");
}

/** stepLine draws what has happened, and how it stands. @param {App} app @param {Approval} a */
function stepLine(app, a) {
  /** @param {IconName} ic @param {string} tone @param {Child} text @param {Child} [more] */
  const line = (ic, tone, text, more) => h("li", { class: "tone-" + tone }, icon(ic),
    h("div", {}, h("p", {}, text), more && h("p", "passed-more", more)));
  const end = ending(app, a);
  return h("ol", "passed", a.progress.map((p) => {
    // The gate refuses by a code.
    const answer = p.step === "refused" && a.answers.find((x) => x.at === p.at);
    return line(...lookOfStep(p), [pointed(p.text, a), " ", answer && answer.reason && [
      badge(wordOf("status", answer.reason).name.toLowerCase(), "bad"), " "],
      h("span", "passed-at", agoEl(p.at))]);
  }), end && line(...end));
}
