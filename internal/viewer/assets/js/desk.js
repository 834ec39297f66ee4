// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The desk: what the reader has done about requests since the page was opened, and what the server
// found for them. It decides nothing and is kept in memory alone.

/**
 * An answer that was sent. It says nothing of what came of it: the record does.
 * @typedef {{at: string, reply: Reply, answers: number}} Sent
 */

class Desk {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.token = "";
    /** @type {Map<string, Sent>} by confirmation */ this.sent = new Map();
    /** @type {Map<string, Rechecked & {at: string}>} by approval */ this.findings = new Map();
    /** @type {Map<string, string>} by approval, why the check could not be made */
    this.errors = new Map();
    /** @type {Set<string>} the approvals that are being checked */ this.busy = new Set();
    /** @type {InboxItem[]} */ this.inbox = [];
    this.inboxError = "";
  }

  /** offersInbox is false for a file that was written before there was one. */
  offersInbox() {
    return this.app.page.live || !!this.app.page.inbox;
  }

  /** takeToken takes the token out of the address, so that it stands nowhere but in memory. */
  takeToken() {
    const parts = location.hash.replace(/^#/, "").split("&");
    const token = parts.find((p) => p.startsWith("token="));
    if (token === undefined) return;
    this.token = decoded(token.slice(6));
    const rest = parts.filter((p) => p && p !== token && !p.startsWith("token="));
    history.replaceState(null, "", location.pathname + location.search
      + (rest.length > 0 ? "#" + rest.join("&") : ""));
  }

  /** loadInbox reads which requests wait, and shows their number where the page is not in front. */
  async loadInbox() {
    try {
      this.inbox = await this.app.data.inbox();
      this.inboxError = "";
    } catch (err) {
      this.inboxError = said(err);
    }
    this.app.events.emit("inbox", this.inbox);
  }

  /** answerable are the requests that a yes can let run. */
  answerable() {
    return this.inbox.filter((i) => !i.hopeless);
  }

  /** check asks the server for the present state of the world. @param {SessionKey} session
   * @param {string} id */
  async check(session, id) {
    if (this.busy.has(id)) return;
    this.busy.add(id);
    this.errors.delete(id);
    this.app.events.emit("desk", id);
    announce("Checking");
    try {
      const f = await this.app.data.check(session, id);
      this.findings.set(id, { ...f, at: f.check ? f.check.at : new Date().toISOString() });
      announce(statusInfo(f.verdict).label + ". " + f.explanation);
    } catch (err) {
      this.errors.set(id, said(err));
      announce("It could not be checked: " + said(err));
    }
    await this.loadInbox(); // the server adds what it found
    this.app.reload(true);
    this.busy.delete(id);
    this.app.events.emit("desk", id);
  }

  /** send sends an answer. It throws what was said against it. @param {Approval} a
   * @param {Reply} reply @param {string} token */
  async send(a, reply, token) {
    try {
      const message = await this.app.data.decide({ session: a.session, approval_id: a.id,
        confirmation_id: a.confirmation_id, token, reply });
      this.token = token;
      this.sent.set(a.confirmation_id,
        { at: new Date().toISOString(), reply, answers: a.answers.length });
      announce(message);
    } catch (err) {
      if (/** @type {any} */ (err).status === 401) this.token = "";
      throw err;
    }
    this.app.reload();
  }

  /** underWay is the answer that was sent and that the record does not show yet.
   * @param {Approval} a */
  underWay(a) {
    const sent = this.sent.get(a.confirmation_id);
    return sent && a.answers.length <= sent.answers && (waits(a.status) || a.status === "in_doubt")
      ? sent : null;
  }

  /** refused is the last answer, if it was not taken and the request is open still.
   * @param {Approval} a */
  refused(a) {
    const last = a.answers[a.answers.length - 1];
    return last && !last.accepted && last.confirmed && last.reason !== "more_approvers"
      && waits(a.status) && !this.underWay(a) ? last : null;
  }
}

const CHECK_NOTE = "Compares what it rests on with the world at this moment. It permits nothing.";

/** findingBody says what “check now” found. @param {Rechecked & {at: string}} f
 * @param {Approval} a */
function findingBody(f, a) {
  const needs = Object.entries(f.needs_agent);
  return [
    h("p", "finding-head", mark(foundOf(f.verdict)), " ",
      h("span", "muted", "checked ", agoEl(f.at))),
    h("p", {}, pointed(f.explanation, a)),
    needs.length > 0 && h("ul", "needs",
      needs.map(([type, why]) => h("li", {}, icon("info"),
      h("span", {}, h("strong", {}, type), ": only the agent can check it",
      why && why !== "needs_agent" && " (" + why + ")",
        ". It is checked there when you answer.")))),
  ];
}

/** checkLabel is what stands on a button to check. @param {boolean} busy @param {boolean} again */
function checkLabel(busy, again) {
  if (busy) return [h("span", "spinner"), "Checking…"];
  return [icon("again"), again ? "Check again" : "Check now"];
}

/** CheckBox asks the server now, and says what it found. It is the same element as long as the
 * card is shown. */
class CheckBox {
  /** @param {App} app @param {Approval} a */
  constructor(app, a) {
    this.app = app;
    this.button = h("button", { class: "btn check-now", onclick: () =>
      app.desk.check(this.a.session, this.a.id) }, icon("again"), "Check now");
    this.out = h("div", { class: "finding", role: "status" });
    this.root = h("section", { class: "rail-check", "aria-label": "Check now" }, this.button,
      this.out);
    this.a = a;
  }

  /** @param {Approval} a */
  update(a) {
    this.a = a;
    const desk = this.app.desk;
    const busy = desk.busy.has(a.id), error = desk.errors.get(a.id), f = desk.findings.get(a.id);
    this.root.hidden = !this.app.page.checks || !a.id || a.kind !== "confirmation"
      || !waits(a.status);
    this.button.setAttribute("aria-disabled", String(busy));
    replace(this.button, checkLabel(busy, !!f));
    const out = error ? h("p", "bad-text", icon("error"), "It could not be checked: " + error)
      : f && findingBody(f, a);
    replace(this.out, out, h("p", "muted small", CHECK_NOTE));
  }
}
