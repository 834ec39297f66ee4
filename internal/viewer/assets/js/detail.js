// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The pane on the right: everything that is known of what is selected.

class DetailPane {
  /** @param {HTMLElement} root @param {App} app */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    /** @type {string} */
    this.drawn = "";
    /** @type {Session|null} */
    this.of = null;
    this.body = h("div", { class: "detail-body", tabindex: "0", role: "region", "aria-label": "Properties" });
  }

  /** show draws the selection, or closes the pane. */
  show() {
    const { session, selected, viewId } = this.app;
    // An approval is its own detail where all of it is shown.
    const ref = session && selected && !(selected.type === "approval" && viewId === "approvals") ? selected : null;
    this.root.hidden = !ref;
    document.body.classList.toggle("with-detail", !!ref);
    const sign = JSON.stringify(ref) + zone();
    const same = sign === this.drawn;
    if (same && this.of === session) return;
    this.drawn = sign;
    this.of = session;
    if (!ref) this.root.replaceChildren();
    else if (same) keepPlace(this.body, () => this.draw(ref));
    else {
      this.draw(ref);
      announce("Details: " + this.root.querySelector("h2")?.textContent);
    }
  }

  /** @param {Ref} ref */
  draw(ref) {
    const d = this.describe(ref);
    const close = iconButton("close", "Close (Esc)", () => this.app.select(null), "Close details");
    replace(this.root, h("div", "detail-head", d.mark, h("h2", { title: d.title }, d.title), copyButton(() => this.app.load(d.rows || []).then(() => pretty(d.value)), "this as JSON"), close), this.body);
    replace(this.body, ...d.body);
    this.body.scrollTop = 0;
  }

  /** again draws what is selected again, if it still is ref. @param {Ref} ref */
  again(ref) {
    if (JSON.stringify(ref) === JSON.stringify(this.app.selected) && !this.root.hidden) keepPlace(this.body, () => this.draw(ref));
  }

  /** @param {Ref} ref @returns {{title: string, mark: Child, body: Child[], value: any, rows?: number[]}} rows are those within value */
  describe(ref) {
    const app = this.app;
    const s = /** @type {Session} */ (app.session);
    if (ref.type === "span") {
      const span = app.span(ref.key);
      if (span) return describeSpan(app, s, span);
    } else if (ref.type === "entity") {
      const e = app.entity(ref.key);
      if (e) return describeEntity(app, s, e);
    } else if (ref.type === "row") {
      const row = s.rows[Number(ref.key)];
      if (row) return describeRow(app, s, row, Number(ref.key));
    } else if (ref.type === "approval") {
      const a = s.approvals[Number(ref.key)];
      if (a) return describeApproval(app, s, a, Number(ref.key));
    } else {
      const d = describeEdge(app, s, ref.key);
      if (d) return d;
    }
    return { title: "Not in this session", mark: icon("info"), body: [empty("info", "Not in this session", "The address names a " + ref.type + " that this record does not have.")], value: ref };
  }
}

/** @param {string} title @param {Child[]} body */
function part(title, ...body) {
  return h("section", "part", h("h3", {}, title), ...body);
}

/** spanLink selects a span. @param {App} app @param {string} key @param {string} [text] */
function spanLink(app, key, text) {
  const s = app.span(key);
  if (!s) return h("span", { class: "muted", title: key }, text || "a step that is not in the record");
  const c = classOf(s.class);
  return h("button", { class: "reflink " + kindClass(s.class), title: c.label + " · " + s.name + (s.agent && s.agent !== s.name ? " · " + s.agent : ""), onclick: () => app.select({ type: "span", key }) }, icon(c.icon), h("span", "sr-only", c.label + " "), h("span", "clip", text || s.name));
}

/** entityLink selects an entity. @param {App} app @param {string|undefined} key @param {string} type @param {string} value */
function entityLink(app, key, type, value) {
  const body = [h("span", "etype", type), h("span", "clip", value)];
  if (!key || !app.entity(key)) return h("span", { class: "reflink plain entity " + typeClass(type) }, ...body);
  return h("button", { class: "reflink entity " + typeClass(type), onclick: () => app.select({ type: "entity", key }) }, ...body);
}

/** rowLink selects a row. @param {App} app @param {number} i */
function rowLink(app, i) {
  return h("button", { class: "linkbtn", onclick: () => app.select(refTo("row", i)) }, "row " + (i + 1));
}

/** @param {string} cls */
function kindMark(cls) {
  const c = classOf(cls);
  return h("span", { class: "kind " + kindClass(cls) }, icon(c.icon), c.label);
}

/** @param {string} status */
function okBadge(status) {
  return status === "ERROR" ? badge("Error", "bad", "error") : badge(status || "OK", "good", "check");
}

/** plainTable has a name and a value in each line. @param {[Child, Child][]} lines */
function plainTable(lines) {
  return h("table", "plain", h("tbody", {}, lines.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value)))));
}

/** @param {Record<string, string>|null|undefined} attrs */
function attributeTable(attrs) {
  const list = Object.entries(attrs || {});
  return list.length > 0 && plainTable(list.map(([k, v]) => [words(k), v]));
}

/** rowLinks lists rows by what they are. @param {App} app @param {Session} s @param {number[]} rows */
function rowLinks(app, s, rows) {
  const list = h("ul", "links");
  chunked(list, rows.filter((i) => s.rows[i]), (i) => h("li", {}, h("button", { class: "linkrow", onclick: () => app.select(refTo("row", i)) }, h("span", "clip", eventName(s.rows[i].event_type)), s.rows[i].status === "ERROR" && h("span", "bad-text", icon("error"), "error"), timeEl(s.rows[i].timestamp, "ms"))), 30);
  return list;
}

/** @param {App} app @param {string} view @param {Ref} ref @param {string} text */
function viewLink(app, view, ref, text) {
  if (app.viewId === view || !app.views.has(view)) return null;
  return smallButton(text, () => app.go(view, ref));
}

/** @param {App} app @param {Session} s @param {Span} span */
function describeSpan(app, s, span) {
  /** @type {Ref} */
  const ref = { type: "span", key: span.key };
  const approval = s.approvals.findIndex((a) => a.span === span.key);
  /** @param {string} link */
  const linked = (link) => s.entities.filter((e) => linksOf(e).get(span.key) === link).map((e) => h("li", {}, entityLink(app, e.key, e.type, e.value)));
  const seen = linked("evaluated"), names = linked("named");
  const edges = s.edges.filter((e) => (e.from === span.key || e.to === span.key) && e.kind !== "contains");
  const children = s.spans.filter((x) => x.parent === span.key);
  const rows = span.rows.filter((i) => s.rows[i]), shown = rows.slice(0, 6);
  const tokens = span.tokens && span.tokens.total > 0 ? tokensOf(span.tokens) : "";
  const check = s.approvals.flatMap((a) => a.checks).find((c) => c.span === span.key);
  const asked = approval >= 0 ? s.approvals[approval] : null;
  const decided = span.class === "model" && decisionOf(s, [span]);
  return {
    title: span.name,
    mark: kindMark(span.class),
    value: { span, rows: rows.map((i) => s.rows[i]) },
    rows,
    body: [
      span.error && errorBox(span.error, 600),
      facts([
        ["Verdict", check && chip(check.verdict)],
        ["Approval", asked && chip(asked.status)],
        // That a check ran without an error says nothing of what it found.
        ["Status", !(check || asked) && [okBadge(span.status), span.open && [" ", badge("No end recorded", "wait", "clock")]]],
        ["Decided", decided],
        ["Agent", span.agent],
        ["Started", timeEl(span.start, "ms")],
        ["Duration", span.open ? "open" : fmtDuration(span.duration_ms)],
        ["Turn", span.turn ? String(span.turn) : "outside of any"],
        ["Tokens", tokens],
        ["Call", span.call_id && mono(span.call_id, "call id", 22)],
        ["Branch", span.branch],
        ["Critical path", s.critical_path.includes(span.key) ? "yes: the session would have ended sooner without it" : ""],
      ]),
      h("div", "actions", approval >= 0 && h("button", { class: "btn small primary", onclick: () => app.go("approvals", refTo("approval", approval)) }, "Open the approval"), viewLink(app, "graph", ref, "Graph"), viewLink(app, "timeline", ref, "Timeline"), viewLink(app, "trajectory", ref, "Trajectory")),
      check && checkFound(app, check),
      seen.length > 0 && part("Evaluated here", h("ul", "refs", seen)),
      names.length > 0 && part("Named here", h("ul", "refs", names)),
      (span.parent || edges.length > 0 || children.length > 0) &&
        part(
          "Linked to",
          h("ul", "refs",
            span.parent && h("li", {}, h("span", "rel", "in"), spanLink(app, span.parent)),
            edges.slice(0, 60).map((e) => h("li", {}, h("button", { class: "rel linkbtn", onclick: () => app.select({ type: "edge", key: edgeKey(e) }) }, e.from === span.key ? e.kind : "← " + e.kind), spanLink(app, e.from === span.key ? e.to : e.from))),
            children.slice(0, 60).map((c) => h("li", {}, h("span", "rel", "contains"), spanLink(app, c.key))),
            children.length > 60 && h("li", "muted", "and " + plural(children.length - 60, "more step") + " in it")),
        ),
      rows.length > 0 && part("Content", shown.some((i) => !s.gists[i].loaded) ? waiting(app, shown, () => app.detail?.again(ref)) : shown.map((i) => rowContent(s.rows[i])), rows.length > 6 && h("p", "muted", "and " + plural(rows.length - 6, "more row") + " below")),
      rows.length > 0 && part(plural(rows.length, "row"), rowLinks(app, s, rows)),
      part("Identity", facts([["Span", mono(span.span_id, "span id")], ["Trace", mono(span.trace_id, "trace id", 20)], ["Invocation", mono(span.invocation_id, "invocation id", 20)], ["Node key", mono(span.key, "node key", 20)]])),
    ],
  };
}

/** checkFound is what a check found, in lines to read. @param {App} app @param {Check} c @returns {Child} */
function checkFound(app, c) {
  /** @param {string|undefined} type @param {string|undefined} value */
  const name = (type, value) => entityLink(app, c.entities.find((e) => e.type === type && e.value === value)?.key, type || "", value || "");
  return part(c.alerts.length + c.failures.length + c.warnings.length === 0 ? "Nothing has changed" : "What it found",
    h("ul", "refs", [...c.alerts, ...c.warnings].map((x) => h("li", {}, name(x.entity_type, x.entity), h("span", "turned", turnedLine({ name: x.attribute, seen: x.before, now: x.after })))),
      c.failures.map((x) => h("li", {}, x.entity && name(x.entity_type, x.entity), h("span", "turned", "could not be checked: " + words(x.reason))))),
    h("p", "muted", c.stale_entities + " changed of " + plural(c.total_entities, "entity", "entities") + " checked"));
}

/** rowContent is the content of a row under its name. @param {Row} row */
function rowContent(row) {
  if (row.content === null || row.content === undefined) return null;
  return payload(eventName(row.event_type), row.content, 2);
}

/** @param {App} app @param {Session} s @param {Entity} e */
function describeEntity(app, s, e) {
  const used = s.approvals.map((a, i) => ({ a, i, r: a.entities.find((x) => x.key === e.key) })).filter((x) => x.r);
  const sightings = h("ul", "refs");
  chunked(sightings, e.evaluated, (x) => h("li", {}, timeEl(x.seen_at, "ms"), spanLink(app, x.span), h("span", "muted", x.source + (x.link === "named" ? ", only named" : "")), x.row >= 0 && rowLink(app, x.row)), 40);
  const found = driftsOf(s).entities.get(e.key), now = used.map((x) => x.r).filter((r) => r && r.outcome).pop();
  return {
    title: e.value,
    mark: h("span", { class: "kind entity " + typeClass(e.type) }, typeMark(e.type), e.type),
    value: e,
    body: [
      found && now && part("Seen, and at the last check", h("p", {}, mark(outcomeOf(found.outcome)), found.reason && h("span", "muted", " " + words(found.reason))), thenAndNow(now, found)),
      part("Latest values seen", attributeTable(e.attributes) || h("p", "muted", "It was named; no attribute of it was seen.")),
      facts([["Confidence", e.confidence.toFixed(2)], ["Found by", e.sources.join(", ")], ["First seen", timeEl(e.first_seen)], ["Last seen", timeEl(e.last_seen)], ["Artifact", e.artifact_uri && mono(e.artifact_uri, "artifact URI", 40)]]),
      h("div", "actions", viewLink(app, "graph", { type: "entity", key: e.key }, "Show in graph")),
      used.length > 0 && part("Approvals that rest on it", h("ul", "refs", used.map(({ a, i, r }) => h("li", {}, h("button", { class: "linkbtn", onclick: () => app.go("approvals", refTo("approval", i)) }, a.tool), chip(a.status), r && r.outcome && mark(outcomeOf(r.outcome)))))),
      part("Seen " + plural(e.evaluated.length, "time"), sightings),
      part("Identity", facts([["Key", mono(e.key, "entity key", 44)]])),
    ],
  };
}

/** thenAndNow has the value that was seen beside the present one in each line. @param {Rested} r @param {Found} f */
function thenAndNow(r, f) {
  const names = new Set([...f.turned.map((t) => t.name), ...Object.keys(r.seen || {}), ...Object.keys(r.now || {})]);
  return h("table", "plain then", h("thead", {}, h("tr", {}, h("td", {}), h("th", { scope: "col" }, "Seen"), h("th", { scope: "col" }, "Now"))), h("tbody", {}, [...names].map((name) => {
    const t = f.turned.find((x) => x.name === name);
    const seen = t ? t.seen : (r.seen || {})[name], now = t ? t.now : (r.now || {})[name];
    return h("tr", { class: t ? "turned" : null }, h("th", { scope: "row" }, words(name)), h("td", {}, seen === undefined ? "–" : seen), h("td", {}, t && now !== undefined ? h("strong", {}, now) : now ?? "not read"));
  })));
}

/** @param {App} app @param {Session} s @param {Row} row @param {number} index */
function describeRow(app, s, row, index) {
  const verdict = s.approvals.flatMap((a) => a.checks).find((c) => c.row === index)?.verdict;
  return {
    title: eventName(row.event_type),
    mark: h("span", "kind", "Row " + (index + 1)),
    value: row,
    rows: [index],
    body: [
      row.error_message && errorBox(row.error_message, 600),
      facts([["Verdict", verdict && chip(verdict)], ["Status", !verdict && okBadge(row.status)], ["Agent", row.agent], ["Time", timeEl(row.timestamp)], ["Latency", tookOf(row)], ["Step", spanLink(app, row.span)], ["Cut", row.is_truncated && badge("lost content to a limit", "warn", "warning")]]),
      h("div", "actions",
        index > 0 && smallButton("Row before", () => app.select(refTo("row", index - 1))),
        index + 1 < s.rows.length && smallButton("Next row", () => app.select(refTo("row", index + 1))),
        viewLink(app, "trajectory", refTo("row", index), "Trajectory")),
      s.gists[index].loaded ? payloads(row, 1) : waiting(app, [index], () => app.detail?.again(refTo("row", index))),
      part("Identity", facts([["Event", mono(row.event_id, "event id", 20)], ["Span", mono(row.span_id, "span id")], ["Parent", row.parent_span_id && mono(row.parent_span_id, "parent span id")], ["Trace", mono(row.trace_id, "trace id", 20)], ["Invocation", mono(row.invocation_id, "invocation id", 20)]])),
    ],
  };
}

/** @param {App} app @param {Session} s @param {Approval} a @param {number} index */
function describeApproval(app, s, a, index) {
  return {
    title: a.tool || a.kind,
    mark: kindMark("hitl"),
    value: a,
    body: [
      h("p", {}, chip(a.status)),
      h("p", {}, a.explanation),
      facts([["Asked by", a.agent], ["Asked", timeEl(a.requested_at)], ["Waited", fmtDuration(a.waited_ms)], ["Step", spanLink(app, a.span)]]),
      h("div", "actions", viewLink(app, "approvals", refTo("approval", index), "Open the approval"), a.why.length > 0 && smallButton([icon("graph"), "Why, in the graph"], () => showWhy(app, index))),
      a.entities.length > 0 && part("Rests on", h("ul", "refs", a.entities.map((e) => h("li", {}, entityLink(app, e.key, e.type, e.value), e.outcome && mark(outcomeOf(e.outcome)))))),
      a.args !== undefined && payload("Arguments", a.args, 3),
      part("Identity", facts([["Approval", a.id && mono(a.id, "approval id", 20)], ["Call", mono(a.call_id, "call id", 22)], ["Fingerprint", a.fingerprint && mono(a.fingerprint, "fingerprint", 20)]])),
    ],
  };
}

/** showWhy goes to the graph with the paths of an approval. @param {App} app @param {number} index */
function showWhy(app, index) {
  app.why(index);
  app.go("graph");
}

/** What the kinds of edges mean. @type {Record<string, string>} */
const EDGE_HELP = {
  contains: "The second step took place inside of the first one.",
  informs: "What the first step gave was before the model, or called for, when the second one began.",
  resumes: "The first step asked a person; the second one is the turn that answered.",
  evaluated: "The step saw this entity.",
  named: "The step only named this entity, as what a call acts on. It did not look it up.",
};

/** describeEdge describes a Caused edge, or one from a span to an entity. @param {App} app @param {Session} s @param {string} key */
function describeEdge(app, s, key) {
  const edge = s.edges.find((e) => edgeKey(e) === key);
  if (edge) {
    return {
      title: sentence(edge.kind),
      mark: h("span", "kind", "Caused"),
      value: edge,
      body: [h("p", {}, EDGE_HELP[edge.kind] || ""), part("From", edgeEnd(app, edge.from)), part("To", edgeEnd(app, edge.to))],
    };
  }
  for (const e of s.entities) {
    const links = linksOf(e);
    for (const x of e.evaluated) {
      if (x.link !== links.get(x.span) || edgeKey({ from: x.span, to: e.key, kind: x.link }) !== key) continue;
      const title = sentence(x.link);
      return {
        title,
        mark: h("span", "kind", title),
        value: x,
        body: [h("p", {}, EDGE_HELP[x.link] || ""), part("Step", edgeEnd(app, x.span)), part("Entity", entityLink(app, e.key, e.type, e.value)), part("Seen", attributeTable(x.attributes), facts([["Time", timeEl(x.seen_at)], ["Found by", x.source], ["Confidence", x.confidence.toFixed(2)], ["Row", x.row >= 0 && rowLink(app, x.row)]]))],
      };
    }
  }
  return null;
}

/** @param {App} app @param {string} key */
function edgeEnd(app, key) {
  const s = app.span(key);
  return h("div", {}, spanLink(app, key), s && facts([["Agent", s.agent], ["Started", timeEl(s.start, "ms")], ["Duration", fmtDuration(s.duration_ms)], ["Turn", String(s.turn)]]));
}
