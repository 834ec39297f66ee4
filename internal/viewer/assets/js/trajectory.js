// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Trajectory: every recorded step in its order, as a conversation, with full payloads.

/** The groups that are filtered by. @type {Record<string, [label: string, icon: IconName]>} */
const GROUPS = {
  message: ["Messages", "message"],
  model: ["Model", "model"],
  tool: ["Tools", "tool"],
  human: ["People", "hitl"],
  check: ["Checks", "shield"],
  flow: ["Flow", "other"],
};

/** groupOf puts an event type into one of the groups. @param {string} type */
function groupOf(type) {
  if (type === "USER_MESSAGE_RECEIVED" || type === "AGENT_RESPONSE") return "message";
  if (type === "WORLD_CHANGE_CHECK") return "check";
  const begin = type.split("_")[0];
  return { LLM: "model", HITL: "human", TOOL: "tool" }[begin] || "flow";
}

class TrajectoryView {
  /** @param {HTMLElement} root @param {App} app */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.want = { groups: /** @type {string[]} */ ([]), agent: "", errors: false, q: "" };
    /** @type {WeakMap<Row, string>} */ this.texts = new WeakMap();
    /** @param {Partial<typeof this.want>} change */ const filter = (change) => {
      Object.assign(this.want, change);
      this.list.update();
    };
    this.search = searchBox({ "aria-label": "Search in all payloads" }, 150, () => this.find());
    this.agents = selectBox("Agent", [], (agent) => filter({ agent }));
    const kinds = Object.entries(GROUPS).map(([g, [label, ic]]) => filterChip(ic, label, "",
      (on) => filter({ groups: toggled(this.want.groups, g, on) })));
    const errors = filterChip("error", "Errors only", "bad", (on) => filter({ errors: on }));
    this.count = h("span", { class: "muted", role: "status" });
    const group = { class: "chips", role: "group", "aria-label": "Filter by kind of step" };
    const head = h("div", "toolbar", this.search.box, this.agents, h("div", group, kinds), errors,
      this.count);
    const steps = h("div", "steps");
    replace(root, head, steps);
    /** @type {StepList<Item>} */ this.list = new StepList(app, {
      scroll: root, head, root: steps,
      keeps: (it) => this.keeps(it),
      make: (it) => stepCard(app, it, millis(this.list.session?.start),
        this.want.q && snippet(this.text(it), this.want.q)),
      above: (it, before) => it.turn !== before?.turn
        && h("h2", "turn", turnName(it.turn), h("span", "muted", timeEl(it.row.timestamp)),
          it.row.left && h("span", "muted", leftBy(it.row.left))),
      holds: (it, ref) => ref.key === { row: it.id, span: it.row.span }[String(ref.type)],
      mark: (el, on) => void el.classList.toggle("selected", on),
      frame: () => this.frame(),
      none: () => (this.list.lines.length === 0
        ? empty("info", "No rows", "The record of this session is empty.")
        : empty("search", "No row matches", "Take a filter away, or search for less.")),
    });
  }

  /** find searches all payloads, when they are there. */
  async find() {
    const s = this.list.session, sought = () => this.search.input.value.trim().toLowerCase();
    const q = sought();
    try {
      if (q && s?.gists.some((g) => !g.loaded)) {
        this.count.textContent = "Reading all payloads…";
        await this.app.load([...s.rows.keys()]);
      }
    } catch (err) {
      this.count.textContent = "The payloads could not be read: " + said(err);
      return;
    }
    if (s !== this.list.session || q !== sought()) return;
    this.want.q = q;
    this.list.update();
  }

  /** text is all of a row, to search in. @param {Item} it */
  text({ row, gist }) {
    let t = this.texts.get(row);
    if (t === undefined) {
      t = [row.event_type, row.agent, row.error_message || "", pretty(row.content),
        JSON.stringify([row.content_parts, row.attributes])].join("\n");
      if (gist.loaded) this.texts.set(row, t);
    }
    return t;
  }

  /** keeps says whether a row passes the filters. @param {Item} it */
  keeps(it) {
    const { row } = it, { groups, agent, errors, q } = this.want;
    if (groups.length > 0 && !groups.includes(groupOf(row.event_type))) return false;
    if (errors && row.status !== "ERROR" && !row.error_message) return false;
    return (!agent || row.agent === agent) && (!q || this.text(it).toLowerCase().includes(q));
  }

  frame() {
    const { lines, shown } = this.list, all = plural(lines.length, "row");
    const some = shown.length < lines.length;
    this.count.textContent = some ? fmtInt(shown.length) + " of " + all : all;
    return true;
  }

  /** @param {Session} s */
  show(s) {
    if (!this.list.has(s)) this.want.agent = "";
    const agents = [...new Set(s.rows.map((r) => r.agent))].sort();
    replace(this.agents, options([["", "Every agent"],
      ...agents.map((a) => /** @type {[string, string]} */ ([a, a || "(none)"]))]));
    this.agents.value = this.want.agent;
    this.list.show(s, s.rows.map((row, index) => {
      const { turn, class: cls } = this.app.span(row.span) || { turn: 0, class: "other" };
      return { id: String(index), row, gist: s.gists[index], index, turn, cls };
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
const trajectoryView = {
  id: "trajectory", title: "Trajectory", mount: (root, app) => new TrajectoryView(root, app),
};

/** promptOf gives the messages of a request, however they were written. @param {any} p
 * @returns {{role: string, content: any}[]} */
function promptOf(p) {
  if (!p) return [];
  return [p].flat().map((m) => {
    const message = Array.isArray(p) && isRecord(m);
    return message ? { role: String(m.role || ""), content: m.content } : { role: "", content: m };
  });
}

/** snippet is where a text was found, with the find marked. @param {string} text
 * @param {string} q */
function snippet(text, q) {
  const at = text.toLowerCase().indexOf(q), end = at + q.length, from = Math.max(0, at - 60);
  return at >= 0 && h("p", "snippet", (from > 0 ? "…" : "") + text.slice(from, at),
    h("mark", {}, text.slice(at, end)), text.slice(end, end + 80) + "…");
}

/** fold is closed; what is in it is made when it is opened. @param {string} title
 * @param {() => Child} make */
function fold(title, make) {
  const body = h("div", "fold-body"), d = details("fold", title, body);
  d.addEventListener("toggle", () => append(body, make()), { once: true });
  return d;
}

/** @param {App} app @param {Item} it @param {number} start @param {Child} found */
function stepCard(app, it, start, found) {
  const { row, gist, index } = it, error = row.status === "ERROR", took = tookOf(row);
  const name = h("button", { class: "step-name", data: { row: it.id },
    onclick: () => app.select(refTo("row", index)) }, eventName(row.event_type));
  const holder = h("div", "step-body");
  const card = h("article", { class: "step " + kindClass(it.cls) + (error ? " error" : "")
    + (row.left ? " left" : ""),
    "aria-label": "Row " + (index + 1) + ", " + words(row.event_type.toLowerCase()) },
    h("header", {},
      h("span", "step-icon", icon(classOf(it.cls).icon)),
      name,
      error && badge("Error", "bad", "error"),
      row.is_truncated && badge("cut", "warn", "warning"),
      h("span", "step-meta", row.agent && h("span", "step-agent", row.agent),
        took && h("span", {}, took),
        h("span", { title: fmtTime(row.timestamp, true) + " " + zone() },
          "+" + fmtDuration(millis(row.timestamp) - start)),
        h("span", "step-no", "#" + (index + 1)))),
    row.error_message && errorBox(row.error_message, 800),
    found,
    holder);
  const say = () => {
    const body = stepBody(app, row, gist).filter(Boolean), subject = stepSubject(row);
    card.classList.toggle("thin", body.length === 0 && !row.error_message);
    if (subject) name.after(h("code", "subject", subject));
    replace(holder, body, fold("Full payload", () => payloads(row, 2)));
  };
  if (gist.loaded) say();
  else append(holder, waiting(app, [index], say));
  return card;
}

/** stepSubject is what a step is about: the tool or the model. @param {Row} row @returns {any} */
function stepSubject(row) {
  const c = row.content, a = row.attributes || {};
  if (row.event_type.startsWith("HITL_")) return c?.args?.originalFunctionCall?.name;
  return [c?.tool, a.model || a.model_version].find((x) => typeof x === "string");
}

/** unquoted takes the frame off an answer that is one text. @param {any} v */
function unquoted(v) {
  const s = pretty(v);
  return /^text: '([\s\S]*)'$/.exec(s)?.[1] ?? s;
}

/** onlyResponses matches what a row has as the text of a message that only brings answers to
 * calls. */
const onlyResponses = /^Function response: [\w.:-]+(?: \| Function response: [\w.:-]+)*$/;

/** shownAs shows a value: a text as it is, all else as a tree, and nothing where it is empty.
 * @param {any} v @param {number} open how many levels are open @param {string} [title]
 * @returns {Child} */
function shownAs(v, open, title) {
  if (isNothing(v)) return null;
  return [title && h("h3", {}, title), typeof v === "string" ? longText(v) : jsonTree(v, open)];
}

/** stepBody is what a step says, by its event type. @param {App} app @param {Row} row
 * @param {Gist} gist @returns {Child[]} */
function stepBody(app, row, gist) {
  const c = row.content ?? "", a = row.attributes || {}, adk = a.adk || {};
  switch (row.event_type) {
    case "USER_MESSAGE_RECEIVED": {
      const t = pretty(c.text_summary || "");
      return [t && !onlyResponses.test(t) ? h("div", "bubble", longText(t, 2000))
        : h("p", "muted", "A message without text: it answers a request.")];
    }
    case "AGENT_STARTING": {
      const title = gist.again ? "Instruction, as before" : "Instruction";
      return [typeof c === "string" && c !== "" && fold(title, () => longText(c, 4000))];
    }
    case "LLM_REQUEST":
      return requestBody(c, a, gist);
    case "LLM_RESPONSE": {
      const calls = Array.isArray(a.function_calls) ? a.function_calls : [];
      const text = unquoted(c.response || ""), u = c.usage || {};
      const end = a.finish_reason ? ", finish reason " + a.finish_reason : "";
      return [
        text && !(calls.length > 0 && text.startsWith("call: "))
          && h("div", "bubble agent", longText(text, 3000)),
        calls.map((/** @type {any} */ f) => h("div", "call",
          h("div", "call-head", icon("arrow"), "calls ", h("code", {}, String(f.name))),
          shownAs(f.args, 2))),
        u.total > 0 && h("p", "muted", tokensOf(u, " tokens") + end),
      ];
    }
    case "TOOL_STARTING":
    case "TOOL_ERROR":
      return [shownAs(c.args, 2, "Input")];
    case "TOOL_COMPLETED":
      return [c.result !== undefined && [h("h3", {}, "Output"),
        typeof c.result === "string" ? longText(c.result) : jsonTree(c.result, 2)]];
    case "AGENT_RESPONSE": {
      const text = typeof a.response_text === "string" ? a.response_text
        : unquoted(c.response || c);
      return [h("div", "bubble agent", longText(text, 3000))];
    }
    case "AGENT_TRANSFER":
      return [c && h("p", {}, h("strong", {}, String(c.from_agent)), " ", icon("arrow"), " ",
        h("strong", {}, String(c.to_agent)))];
    case "STATE_DELTA":
      return [a.state_delta && jsonTree(a.state_delta, 1)];
    case "ENTITIES_DECLARED":
    case "ENTITIES_FOUND":
      return [a.entities && jsonTree(a.entities, 1)];
    case "WORLD_CHANGE_CHECK":
      return checkBody(app, row, c || {}, adk);
    case "HITL_CONFIRMATION_REQUEST": {
      const { originalFunctionCall: call, toolConfirmation: asked } = c.args || {};
      return [shownAs(call?.args, 2, "Asks to run"),
        asked?.hint && h("p", "muted", String(asked.hint)), approvalLink(app, adk)];
    }
    case "HITL_CONFIRMATION_REQUEST_COMPLETED": {
      const why = adk.reason ? ": " + words(adk.reason) : "";
      return [
        h("p", {}, answerMark(adk.confirmed), adk.approver && " by " + adk.approver,
          adk.accepted === false && h("span", "warn-text", " · not taken" + why),
          adk.waited_ms !== undefined
            && h("span", "muted", " · waited " + fmtDuration(adk.waited_ms))),
        approvalLink(app, adk),
      ];
    }
    default:
      return [c !== "" && (typeof c === "string" ? longText(c) : jsonTree(c, 1))];
  }
}

/** requestBody shows what is new in a request, and folds what the model was told before.
 * @param {any} c @param {any} a @param {Gist} gist @returns {Child[]} */
function requestBody(c, a, gist) {
  const messages = promptOf(c.prompt), known = Math.min(gist.before || 0, messages.length);
  /** @param {{role: string, content: any}} m */
  const bubble = (m) => h("div", "msg", h("span", "role", m.role || "message"),
    typeof m.content === "string" ? longText(m.content, 1200) : jsonTree(m.content, 1));
  /** @type {any[]} */ const tools = Array.isArray(a.tools) ? a.tools : [];
  const names = clip(tools.map((t) => t?.name || t).join(", "), 100);
  return [
    c.system_prompt && fold("System prompt" + (gist.again ? ", as before" : ""),
      () => longText(pretty(c.system_prompt), 6000)),
    known > 0 && fold(plural(known, "message") + " as in the request before",
      () => messages.slice(0, known).map(bubble)),
    messages.slice(known).map(bubble),
    tools.length > 0 && fold(plural(tools.length, "tool") + " offered: " + names,
      () => jsonTree(tools, 1)),
  ];
}

/** @param {App} app @param {Row} row @param {any} report @param {any} adk @returns {Child[]} */
function checkBody(app, row, report, adk) {
  const { stale_entities: stale, total_entities: total } = report;
  const checks = (app.session?.approvals || []).flatMap((a) => a.checks);
  const check = checks.find((c) => c.span === row.span);
  return [
    h("p", {}, chip(report.verdict || adk.verdict || "No verdict"), " ",
      wordOf("stage", adk.stage).name,
      h("span", "muted", " · " + (stale || 0) + " of " + (total || 0) + " changed")),
    check ? [check.alerts.length > 0 && alertList(check.alerts), failureList(check)]
      : shownAs(report.failures, 2, "What failed"),
    approvalLink(app, adk),
  ];
}

/** @param {App} app @param {any} adk */
function approvalLink(app, adk) {
  const i = (app.session?.approvals || []).findIndex((x) => (x.id && x.id === adk.approval_id)
    || (x.confirmation_id && x.confirmation_id === adk.confirmation_id));
  return i >= 0 && smallButton([icon("hitl"), "Open the approval"],
    () => app.go("approvals", refTo("approval", i)));
}
