// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// How an approval is answered: three buttons, and a row that unfolds in place to confirm.

/** @typedef {"yes"|"no"|"change"|"override"|"happened"|"didnot"} Choice */

/** What a choice says, and the words that it takes; reply makes the answer of the words. @type {Record<Choice, {button: string, icon: IconName, cls: string, send: string, note: string, label: string, reply: (words: string) => Reply}>} */
const CHOICES = {
  yes: { button: "Yes", icon: "check", cls: "primary", send: "Yes, run it once", label: "", note: "If anything has changed, or cannot be checked, nothing runs: the gate decides, not this page.", reply: () => ({ confirmed: true }) },
  no: { button: "No, with a reason", icon: "rejected", cls: "danger", send: "No, do not run it", label: "Reason (optional): the agent reads it", note: "A no is final. A new plan needs a new request.", reply: (reason) => ({ confirmed: false, ...(reason ? { reason } : {}) }) },
  change: { button: "Change this", icon: "pen", cls: "primary", send: "Send the wish", label: "What should be different? The agent reads it", note: "This request ends with a no. The agent can ask again with another plan.", reply: (change) => ({ confirmed: false, change }) },
  override: { button: "Override", icon: "warning", cls: "danger", send: "Override the check", label: "Why shall it run although a source is down?", note: "It takes two of the people with that right, each with a reason. The call runs only if nothing else fails.", reply: (override) => ({ confirmed: true, override }) },
  happened: { button: "Record that it took effect", icon: "check", cls: "primary", send: "Record that it took effect", label: "How do you know? The record keeps it", note: "The request ends as executed, by your word.", reply: (reason) => ({ confirmed: false, resolve: "happened", reason }) },
  didnot: { button: "Record that it did not", icon: "rejected", cls: "primary", send: "Record that it did not", label: "How do you know? The record keeps it", note: "The request ends as failed, by your word. A repetition needs a new request.", reply: (reason) => ({ confirmed: false, resolve: "did_not_happen", reason }) },
};

/** sentWord says what was sent. @param {Reply} reply */
function sentWord(reply) {
  if (reply.resolve) return "Your finding";
  if (reply.override) return "Your override";
  return reply.confirmed ? "Your yes" : "Your no";
}

/**
 * DecideBox has the buttons, and beside them what was said against an answer. It is the same element
 * as long as the card is shown, so that nobody loses what they write.
 */
class DecideBox {
  /** @param {App} app @param {Approval} a */
  constructor(app, a) {
    this.app = app;
    this.a = a;
    /** @type {Choice|""} */
    this.choice = "";
    this.error = "";
    this.sending = false;
    this.buttons = h("div", { class: "decide-buttons", role: "group", "aria-label": "Your answer" });
    this.place = h("div", "decide-form");
    this.out = h("div", { class: "decide-out", role: "status" });
    this.root = h("section", { class: "decide", "aria-label": "Decide" }, this.buttons, this.place, this.out);
    this.root.addEventListener("keydown", (ev) => {
      if (ev.key !== "Escape" || !this.choice) return;
      ev.preventDefault();
      this.choose(this.choice);
    });
  }

  /** offered are the answers that the server would pass on. No gate would look at the world before a call that is only observed. */
  offered() {
    const { app, a } = this;
    if (!app.page.decisions || !app.page.live || app.desk.underWay(a)) return [];
    /** @type {Choice[]} */
    const out = [];
    if (a.can.includes("approve")) out.push("yes");
    if (a.can.includes("reject")) out.push("no", "change");
    if (a.can.includes("override") && (a.may_override || []).length > 0) out.push("override");
    if (a.can.includes("resolve")) out.push("happened", "didnot");
    return out;
  }

  /** @param {Approval} a */
  update(a) {
    this.a = a;
    const offered = this.offered();
    if (this.choice && !this.sending && !offered.includes(this.choice)) this.close();
    const reason = a.hopeless || a.unproven || "";
    const sign = JSON.stringify([offered, reason]);
    if (this.buttons.dataset.sign !== sign) {
      this.buttons.dataset.sign = sign;
      /** @param {string} cls @param {IconName} ic @param {string} text */
      const line = (cls, ic, text) => h("p", cls, icon(ic), h("span", {}, text));
      const why = [
        reason !== "" && (!!a.hopeless || offered.includes("yes")) && line("bad-text in-vain", "error", pointed(reason, a)),
        offered.includes("happened") && line("in-doubt", "info", "Look at the system that " + (a.tool || "the call") + " acts on, then record what you found. Nothing runs because of it."),
      ];
      replace(this.buttons, why, offered.map((c) => h("button", { class: "btn" + (c === "yes" && !reason ? " primary" : ""), data: { choice: c }, "aria-expanded": "false", onclick: () => this.choose(c) }, icon(CHOICES[c].icon), c === "yes" && a.hopeless ? "Yes, although it cannot run" : CHOICES[c].button)));
    }
    this.say();
  }

  /** say shows what stands against an answer, or where the answer is. */
  say() {
    const { app, a } = this;
    const sent = app.desk.underWay(a), refused = app.desk.refused(a);
    /** @param {IconName} ic @param {string} cls @param {Child[]} text */
    const line = (ic, cls, ...text) => h("p", cls, icon(ic), h("span", {}, text));
    if (this.sending) replace(this.out, h("p", {}, h("span", "spinner"), " Sending…"));
    else if (this.error) replace(this.out, line("error", "bad-text", this.error));
    else if (sent) {
      replace(this.out, line("arrow", "sent", sentWord(sent.reply) + " was sent ", agoEl(sent.at),
        ". What the gate makes of it appears here: the record has no word of it yet."), this.nowhere());
    } else {
      replace(this.out, refused && line("error", "bad-text", "The last yes did not count: ",
        h("strong", {}, wordOf("status", refused.reason || "no reason is on record").name.toLowerCase()), refused.refusal ? ". " + capital(refused.refusal) + "." : "."), this.nowhere());
    }
    this.root.hidden = !this.out.firstChild && !this.buttons.firstChild;
  }

  /** nowhere says where an open request is answered, if not here. */
  nowhere() {
    const { app, a } = this;
    if (!waits(a.status) || this.buttons.querySelector("button")) return null;
    if (a.kind !== "confirmation") return h("p", {}, icon("info"), h("span", {}, "Answer it where the agent is used, such as its own page or ADK’s web UI. A page like this one takes a yes or a no, and nothing else."));
    if (!app.page.live) return h("p", {}, icon("info"), h("span", {}, "This page is a file and can only be read. Answer where the agent runs, or with “contextgraph serve”."));
    if (!app.page.decisions) return h("p", {}, icon("info"), h("span", {}, "This page is read only. Answer where the agent runs, or start the server with --allow-decisions."));
    return null;
  }

  close() {
    this.choice = "";
    this.place.replaceChildren();
    for (const b of this.buttons.querySelectorAll("button")) b.setAttribute("aria-expanded", "false");
  }

  /** choose unfolds the row of an answer, or folds it. @param {Choice} choice */
  choose(choice) {
    const again = this.choice === choice;
    if (this.sending) return;
    this.close();
    this.error = "";
    this.say();
    const button = /** @type {HTMLElement|null} */ (this.buttons.querySelector("[data-choice=" + choice + "]"));
    if (again) {
      button?.focus();
      return;
    }
    this.choice = choice;
    button?.setAttribute("aria-expanded", "true");
    const c = CHOICES[choice];
    const wish = choice === "yes" ? null : h("textarea", { rows: 2, maxlength: 2000, required: choice !== "no", name: "words" });
    const token = this.app.desk.token ? null : h("input", { type: "password", id: "cg-token", autocomplete: "off", spellcheck: "false", required: true });
    const send = h("button", { type: "submit", class: "btn " + (choice === "yes" && this.a.hopeless ? "danger" : c.cls) }, choice === "yes" && this.a.hopeless ? "Yes all the same" : c.send);
    const vain = choice === "yes" && this.a.hopeless ? pointed(this.a.hopeless, this.a) : "";
    const form = h("form", { class: "decision", "aria-label": c.button },
      vain && h("p", "bad-text", icon("error"), h("span", {}, vain)),
      wish && h("label", {}, c.label, wish),
      token && h("label", {}, "Token", token, h("span", "muted", "“contextgraph serve” printed it. It stays in the memory of this page until you close it.")),
      h("p", "muted", c.note, choice === "override" && " They are " + (this.a.may_override || []).join(", ") + "."),
      h("div", "actions", send, h("button", { class: "btn quiet", onclick: () => this.choose(choice) }, "Back")));
    form.addEventListener("submit", (ev) => {
      ev.preventDefault();
      this.send(c.reply(wish ? wish.value.trim() : ""), token ? token.value : this.app.desk.token, send);
    });
    replace(this.place, form);
    (wish || token || send).focus();
  }

  /** @param {Reply} reply @param {string} token @param {HTMLButtonElement} button */
  async send(reply, token, button) {
    this.sending = true;
    this.error = "";
    button.disabled = true;
    this.say();
    try {
      await this.app.desk.send(this.a, reply, token);
      this.sending = false;
      this.close();
    } catch (err) {
      this.sending = false;
      button.disabled = false;
      // A token that was not taken is asked for again, and the words stay.
      const choice = this.choice;
      if (choice && !this.app.desk.token && !this.place.querySelector("#cg-token")) {
        this.close();
        this.choose(choice);
        const wish = this.place.querySelector("textarea");
        if (wish) wish.value = reply.reason || reply.change || reply.override || "";
      }
      this.error = capital(said(err));
    }
    this.update(this.a);
    this.app.events.emit("desk", this.a.id);
  }
}
