// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// Trajectory: every recorded step in its order, as a conversation, with full payloads.

/** @typedef {{id: string, row: Row, gist: Gist, index: number, turn: number, cls: string}} Item */

const GROUPS = /** @type {Record<string, {label: string, icon: IconName}>} */ ({
  message: { label: "Messages", icon: "message" },
  model: { label: "Model", icon: "model" },
  tool: { label: "Tools", icon: "tool" },
  human: { label: "People", icon: "hitl" },
  check: { label: "Checks", icon: "shield" },
  flow: { label: "Flow", icon: "other" },
});

/** groupOf puts an event type into one of the groups that are filtered by. @param {string} type */
function groupOf(type) {
  if (type === "USER_MESSAGE_RECEIVED" || type === "AGENT_RESPONSE") return "message";
  if (type.startsWith("LLM_")) return "model";
  if (type.startsWith("HITL_")) return "human";
  if (type.startsWith("TOOL_")) return "tool";
  return type === "WORLD_CHANGE_CHECK" ? "check" : "flow";
}

class TrajectoryView {
  /** @param {HTMLElement} root @param {App} app */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.want = { groups: /** @type {string[]} */ ([]), agent: "", errors: false, q: "" };
    /** @type {WeakMap<Row, string>} */
    this.texts = new WeakMap();
    /** @param {Partial<typeof this.want>} change */
    const filter = (change) => {
      Object.assign(this.want, change);
      this.list.update();
    };
    this.search = searchBox({ "aria-label": "Search in all payloads" }, 150, () => this.find());
    this.agents = selectBox("Agent", [], (agent) => filter({ agent }));
    const kinds = Object.entries(GROUPS).map(([g, info]) => filterChip(info.icon, info.label, "", (on) => filter({ groups: toggled(this.want.groups, g, on) })));
    const errors = filterChip("error", "Errors only", "bad", (on) => filter({ errors: on }));
    this.count = h("span", { class: "muted", role: "status" });
    const head = h("div", "toolbar", this.search.box, this.agents, h("div", { class: "chips", role: "group", "aria-label": "Filter by kind of step" }, kinds), errors, this.count);
    const steps = h("div", "steps");
    replace(root, head, steps);
    /** @type {StepList<Item>} */
    this.list = new StepList(app, {
      scroll: root, head, root: steps,
      keeps: (it) => this.keeps(it),
      make: (it) => stepCard(app, it, millis(this.list.session?.start), this.want.q ? snippet(this.text(it), this.want.q) : null),
      above: (it, before) => it.turn !== before?.turn && h("h2", "turn", turnName(it.turn), h("span", "muted", timeEl(it.row.timestamp))),
      holds: (it, ref) => (ref.type === "row" ? ref.key === it.id : ref.type === "span" && ref.key === it.row.span),
      mark: (el, on) => void el.classList.toggle("selected", on),
      frame: () => this.frame(),
      none: () => (this.list.lines.length === 0 ? empty("info", "No rows", "The record of this session is empty.") : empty("search", "No row matches", "Take a filter away, or search for less.")),
    });
  }

  /** find searches all payloads, when they are there. */
  async find() {
    const s = this.list.session, q = this.search.input.value.trim().toLowerCase();
    try {
      if (q && s?.gists.some((g) => !g.loaded)) {
        this.count.textContent = "Reading all payloads…";
        await this.app.load([...s.rows.keys()]);
      }
    } catch (err) {
      this.count.textContent = "The payloads could not be read: " + said(err);
      return;
    }
    if (s !== this.list.session || q !== this.search.input.value.trim().toLowerCase()) return;
    this.want.q = q;
    this.list.update();
  }

  /** text is all of a row, to search in. @param {Item} it */
  text({ row, gist }) {
    let t = this.texts.get(row);
    if (t === undefined) {
      t = [row.event_type, row.agent, row.error_message || "", pretty(row.content), JSON.stringify(row.content_parts || ""), JSON.stringify(row.attributes || "")].join("\n");
      if (gist.loaded) this.texts.set(row, t);
    }
    return t;
  }

  /** keeps says whether a row passes the filters. @param {Item} it */
  keeps(it) {
    const { row } = it, { groups, agent, errors, q } = this.want;
    return (groups.length === 0 || groups.includes(groupOf(row.event_type))) && (!agent || row.agent === agent) && (!errors || row.status === "ERROR" || !!row.error_message) && (!q || this.text(it).toLowerCase().includes(q));
  }

  frame() {
    const all = plural(this.list.lines.length, "row"), n = this.list.shown.length;
    this.count.textContent = n === this.list.lines.length ? all : fmtInt(n) + " of " + all;
    return true;
  }

  /** @param {Session} s */
  show(s) {
    if (!this.list.has(s)) this.want.agent = "";
    replace(this.agents, options([["", "Every agent"], ...[...new Set(s.rows.map((r) => r.agent))].sort().map((a) => /** @type {[string, string]} */ ([a, a || "(none)"]))]));
    this.agents.value = this.want.agent;
    this.list.show(s, s.rows.map((row, index) => {
      const span = this.app.span(row.span);
      return { id: String(index), row, gist: s.gists[index], index, turn: span ? span.turn : 0, cls: span ? span.class : "other" };
    }));
    if (this.want.q) this.find();
  }

  select() {
    this.list.select();
  }

  destroy() {
    this.root.replaceChildren();
  }
}

/** @type {ViewSpec} */
const trajectoryView = { id: "trajectory", title: "Trajectory", mount: (root, app) => new TrajectoryView(root, app) };

/** promptOf gives the messages of a request, however they were written. @param {any} content @returns {{role: string, content: any}[]} */
function promptOf(content) {
  const p = content.prompt;
  if (Array.isArray(p)) return p.map((m) => (m && typeof m === "object" ? { role: String(m.role || ""), content: m.content } : { role: "", content: m }));
  return p ? [{ role: "", content: p }] : [];
}

/** snippet is where a text was found, with the find marked. @param {string} text @param {string} q */
function snippet(text, q) {
  const at = text.toLowerCase().indexOf(q);
  if (at < 0) return null;
  const from = Math.max(0, at - 60);
  return h("p", "snippet", (from > 0 ? "…" : "") + text.slice(from, at), h("mark", {}, text.slice(at, at + q.length)), text.slice(at + q.length, at + q.length + 80) + "…");
}

/** fold is closed; what is in it is made when it is opened. @param {string} title @param {() => Child} make */
function fold(title, make) {
  const body = h("div", "fold-body");
  const d = details("fold", title, body);
  d.addEventListener("toggle", () => append(body, make()), { once: true });
  return d;
}

/** @param {App} app @param {Item} it @param {number} start @param {Child} found */
function stepCard(app, it, start, found) {
  const { row, gist, index } = it;
  const name = h("button", { class: "step-name", data: { row: it.id }, onclick: () => app.select(refTo("row", index)) }, eventName(row.event_type));
  const holder = h("div", "step-body");
  const took = tookOf(row);
  const error = row.status === "ERROR";
  const off = millis(row.timestamp) - start;
  const card = h(
    "article",
    { class: "step " + kindClass(it.cls) + (error ? " error" : ""), "aria-label": "Row " + (index + 1) + ", " + words(row.event_type.toLowerCase()) },
    h("header", {},
      h("span", "step-icon", icon(classOf(it.cls).icon)),
      name,
      error && badge("Error", "bad", "error"),
      row.is_truncated && badge("cut", "warn", "warning"),
      h("span", "step-meta", row.agent && h("span", "step-agent", row.agent), took && h("span", {}, took), h("span", { title: fmtTime(row.timestamp, true) + " " + zone() }, "+" + fmtDuration(off)), h("span", "step-no", "#" + (index + 1))),
    ),
    row.error_message && errorBox(row.error_message, 800),
    found,
    holder,
  );
  const say = () => {
    const body = stepBody(app, row, gist).filter(Boolean);
    card.classList.toggle("thin", body.length === 0 && !row.error_message);
    const subject = stepSubject(row);
    if (subject) name.after(subject);
    replace(holder, body, fold("Full payload", () => payloads(row, 2)));
  };
  if (gist.loaded) say();
  else append(holder, waiting(app, [index], say));
  return card;
}

/** stepSubject is what a step is about: the tool or the model. @param {Row} row */
function stepSubject(row) {
  const c = row.content;
  const a = row.attributes || {};
  if (row.event_type.startsWith("HITL_")) {
    const call = c && c.args && c.args.originalFunctionCall;
    return call && call.name && h("code", "subject", call.name);
  }
  if (c && typeof c === "object" && typeof c.tool === "string") return h("code", "subject", c.tool);
  const model = a.model || a.model_version;
  return typeof model === "string" && h("code", "subject", model);
}

/** unquoted takes the frame off an answer that is one text. @param {any} v */
function unquoted(v) {
  const s = pretty(v);
  const m = /^text: '([\s\S]*)'$/.exec(s);
  return m ? m[1] : s;
}

/** onlyResponses matches what a row has as the text of a message that only brings answers to calls. */
const onlyResponses = /^Function response: [\w.:-]+(?: \| Function response: [\w.:-]+)*$/;

/** stepBody is what a step says, by its event type. @param {App} app @param {Row} row @param {Gist} gist @returns {Child[]} */
function stepBody(app, row, gist) {
  const c = row.content;
  const a = row.attributes || {};
  const adk = a.adk || {};
  switch (row.event_type) {
    case "USER_MESSAGE_RECEIVED": {
      const t = c && c.text_summary;
      return [t && !onlyResponses.test(pretty(t)) ? h("div", "bubble", longText(pretty(t), 2000)) : h("p", "muted", "A message without text: it answers a request.")];
    }
    case "AGENT_STARTING":
      return [typeof c === "string" && c !== "" && fold(gist.again ? "Instruction, as before" : "Instruction", () => longText(c, 4000))];
    case "LLM_REQUEST":
      return c ? requestBody(c, a, gist) : [];
    case "LLM_RESPONSE": {
      const calls = Array.isArray(a.function_calls) ? a.function_calls : [];
      const said = c ? unquoted(c.response || "") : "";
      const u = (c && c.usage) || {};
      return [
        said && !(calls.length > 0 && said.startsWith("call: ")) && h("div", "bubble agent", longText(said, 3000)),
        calls.map((/** @type {any} */ f) => h("div", "call", h("div", "call-head", icon("arrow"), "calls ", h("code", {}, String(f.name))), f.args && Object.keys(f.args).length > 0 && jsonTree(f.args, 2))),
        u.total ? h("p", "muted", tokensOf(u, " tokens") + (a.finish_reason ? ", finish reason " + String(a.finish_reason) : "")) : null,
      ];
    }
    case "TOOL_STARTING":
    case "TOOL_ERROR":
      return [c && c.args && Object.keys(c.args).length > 0 && [h("h3", {}, "Input"), jsonTree(c.args, 2)]];
    case "TOOL_COMPLETED":
      return [c && c.result !== undefined && [h("h3", {}, "Output"), typeof c.result === "string" ? longText(c.result) : jsonTree(c.result, 2)]];
    case "AGENT_RESPONSE":
      return [h("div", "bubble agent", longText(typeof a.response_text === "string" ? a.response_text : unquoted((c && (c.response || c)) || ""), 3000))];
    case "AGENT_TRANSFER":
      return [c && h("p", {}, h("strong", {}, String(c.from_agent)), " ", icon("arrow"), " ", h("strong", {}, String(c.to_agent)))];
    case "STATE_DELTA":
      return [a.state_delta && jsonTree(a.state_delta, 1)];
    case "ENTITIES_DECLARED":
    case "ENTITIES_FOUND":
      return [a.entities && jsonTree(a.entities, 1)];
    case "WORLD_CHANGE_CHECK":
      return checkBody(app, c || {}, adk);
    case "HITL_CONFIRMATION_REQUEST": {
      const call = c && c.args && c.args.originalFunctionCall;
      const conf = (c && c.args && c.args.toolConfirmation) || {};
      return [call && call.args && [h("h3", {}, "Asks to run"), jsonTree(call.args, 2)], conf.hint && h("p", "muted", String(conf.hint)), approvalLink(app, adk)];
    }
    case "HITL_CONFIRMATION_REQUEST_COMPLETED":
      return [
        h("p", {}, answerMark(adk.confirmed), adk.approver && " by " + adk.approver, adk.accepted === false && h("span", "warn-text", " · not taken" + (adk.reason ? ": " + words(adk.reason) : "")), adk.waited_ms !== undefined && h("span", "muted", " · waited " + fmtDuration(adk.waited_ms))),
        approvalLink(app, adk),
      ];
    default:
      return [c !== null && c !== undefined && c !== "" && (typeof c === "string" ? longText(c) : jsonTree(c, 1))];
  }
}

/** requestBody shows what is new in a request, and folds what the model was told before. @param {any} c @param {any} a @param {Gist} gist @returns {Child[]} */
function requestBody(c, a, gist) {
  const messages = promptOf(c);
  const known = Math.min(gist.before || 0, messages.length);
  /** @param {{role: string, content: any}} m */
  const bubble = (m) => h("div", "msg", h("span", "role", m.role || "message"), typeof m.content === "string" ? longText(m.content, 1200) : jsonTree(m.content, 1));
  return [
    c.system_prompt && fold(gist.again ? "System prompt, as before" : "System prompt", () => longText(pretty(c.system_prompt), 6000)),
    known > 0 && fold(plural(known, "message") + " as in the request before", () => messages.slice(0, known).map(bubble)),
    messages.slice(known).map(bubble),
    Array.isArray(a.tools) && a.tools.length > 0 && fold(plural(a.tools.length, "tool") + " offered: " + clip(a.tools.map((/** @type {any} */ t) => (t && t.name) || t).join(", "), 100), () => jsonTree(a.tools, 1)),
  ];
}

/** @param {App} app @param {any} report @param {any} adk @returns {Child[]} */
function checkBody(app, report, adk) {
  const alerts = Array.isArray(report.alerts) ? report.alerts : [];
  const failures = Array.isArray(report.failures) ? report.failures : [];
  return [
    h("p", {}, chip(report.verdict || adk.verdict || "No verdict"), " ", wordOf("stage", adk.stage).name, h("span", "muted", " · " + (report.stale_entities || 0) + " of " + (report.total_entities || 0) + " changed")),
    alerts.length > 0 && alertList(alerts),
    failures.length > 0 && failureList(/** @type {any} */ ({ failures, findings: failures.map((f) => ({ effect: "fail", type: f.entity_type, value: f.entity, reason: f.reason, text: [f.entity_type, f.entity].filter(Boolean).concat(words(f.reason)).join(" ") })) })),
    approvalLink(app, adk),
  ];
}

/** @param {App} app @param {any} adk */
function approvalLink(app, adk) {
  const list = app.session ? app.session.approvals : [];
  const i = list.findIndex((x) => (adk.approval_id && x.id === adk.approval_id) || (adk.confirmation_id && x.confirmation_id === adk.confirmation_id));
  return i >= 0 && smallButton([icon("hitl"), "Open the approval"], () => app.go("approvals", refTo("approval", i)));
}
