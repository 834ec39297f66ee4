// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The pane on the right: everything that is known of what is selected.

class DetailPane {
  /** @param {HTMLElement} root @param {App} app */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.drawn = "";
    /** @type {Session|null} */ this.of = null;
    this.body = h("div", { class: "detail-body", tabindex: "0", role: "region",
      "aria-label": "Properties" });
  }

  /** show draws the selection, or closes the pane. */
  show() {
    const { session, selected, viewId } = this.app;
    // An approval is its own detail where all of it is shown.
    const own = selected?.type === "approval" && viewId === "approvals";
    const ref = session && !own ? selected : null;
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
    const { app } = this, missing = "The address names a " + ref.type
      + " that this record does not have.";
    const d = describe(app, sure(app.session), ref) || {
      title: "Not in this session", mark: icon("info"), value: ref,
      body: [empty("info", "Not in this session", missing)],
    };
    const json = () => app.load(d.rows || []).then(() => pretty(d.value));
    replace(this.root, h("div", "detail-head", d.mark, h("h2", { title: d.title }, d.title),
      copyButton(json, "this as JSON"),
      iconButton("close", "Close (Esc)", () => app.select(null), "Close details")), this.body);
    replace(this.body, d.body);
    this.body.scrollTop = 0;
  }

  /** again draws what is selected again, if it still is ref. @param {Ref} ref */
  again(ref) {
    if (this.root.hidden || JSON.stringify(ref) !== JSON.stringify(this.app.selected)) return;
    keepPlace(this.body, () => this.draw(ref));
  }
}

/** describe says what is known of ref, null for what the session does not have. @param {App} app
 * @param {Session} s @param {Ref} ref */
function describe(app, s, ref) {
  const span = app.span(ref.key), e = app.entity(ref.key), i = Number(ref.key);
  if (ref.type === "span") return span && describeSpan(app, s, span);
  if (ref.type === "entity") return e && describeEntity(app, s, e);
  if (ref.type === "row") return s.rows[i] ? describeRow(app, s, s.rows[i], i) : null;
  if (ref.type === "edge") return describeEdge(app, s, ref.key);
  return s.approvals[i] ? describeApproval(app, s.approvals[i], i) : null;
}

/** @param {string} title @param {Child[]} body */
function part(title, ...body) {
  return h("section", "part", h("h3", {}, title), ...body);
}

/** partOf is a part with a list, null where there is nothing in it. @param {string} title
 * @param {Child[][]} lines */
function partOf(title, lines) {
  return lines.length > 0 && part(title, h("ul", "refs", lines.map((x) => h("li", {}, x))));
}

/** identity lists ids by what they are. @param {Record<string, string|undefined|false>} ids */
function identity(ids) {
  return part("Identity", facts(Object.entries(ids).map(([name, id]) =>
    [name, id && mono(id, name[0].toLowerCase() + name.slice(1) + " id", 22)])));
}

/** spanLink selects a span. @param {App} app @param {string} key @param {string} [text] */
function spanLink(app, key, text) {
  const s = app.span(key);
  if (!s) {
    return h("span", { class: "muted", title: key }, text || "a step that is not in the record");
  }
  const c = classOf(s.class), by = s.agent && s.agent !== s.name ? " · " + s.agent : "";
  return h("button", { class: "reflink " + kindClass(s.class), title: c.label + " · " + s.name + by,
    onclick: () => app.select({ type: "span", key }) },
    icon(c.icon), h("span", "sr-only", c.label + " "), h("span", "clip", text || s.name));
}

/** entityLink selects an entity. @param {App} app @param {string|undefined} key
 * @param {string} type @param {string} value */
function entityLink(app, key, type, value) {
  const body = [h("span", "etype", type), h("span", "clip", value)],
    cls = "entity " + typeClass(type);
  if (!key || !app.entity(key)) return h("span", "reflink plain " + cls, body);
  return h("button", { class: "reflink " + cls, onclick: () =>
    app.select({ type: "entity", key }) },
    body);
}

/** rowLink selects a row. @param {App} app @param {number} i */
function rowLink(app, i) {
  return linkButton("row " + (i + 1), () => app.select(refTo("row", i)));
}

/** @param {string} cls */
function kindMark(cls) {
  const c = classOf(cls);
  return h("span", { class: "kind " + kindClass(cls) }, icon(c.icon), c.label);
}

/** @param {string} status */
function okBadge(status) {
  return status === "ERROR" ? badge("Error", "bad", "error") : badge(status || "OK", "good",
    "check");
}

/** plainTable has a name and values in each line. @param {Child[][]} lines @param {Child} [head] */
function plainTable(lines, head) {
  return h("table", "plain", head, h("tbody", {}, lines.map(([name, ...values]) =>
    h("tr", {}, h("th", { scope: "row" }, name), values.map((v) => h("td", {}, v))))));
}

/** @param {Record<string, string>} attrs */
function attributeTable(attrs) {
  const list = Object.entries(attrs);
  return list.length > 0 && plainTable(list.map(([k, v]) => [words(k), v]));
}

/** rowLinks lists rows by what they are. @param {App} app @param {Session} s
 * @param {number[]} rows */
function rowLinks(app, s, rows) {
  const list = h("ul", "links");
  chunked(list, rows, (i) => {
    const { event_type, status, timestamp } = s.rows[i];
    return h("li", {}, h("button", { class: "linkrow", onclick: () => app.select(refTo("row", i)) },
      h("span", "clip", eventName(event_type)),
      status === "ERROR" && h("span", "bad-text", icon("error"), "error"),
        timeEl(timestamp, "ms")));
  }, 30);
  return list;
}

/** @param {App} app @param {string} view @param {Ref} ref @param {string} text */
function viewLink(app, view, ref, text) {
  return app.viewId !== view && smallButton(text, () => app.go(view, ref));
}

/** @param {App} app @param {Session} s @param {Span} span */
function describeSpan(app, s, span) {
  /** @type {Ref} */ const ref = { type: "span", key: span.key };
  const approval = s.approvals.findIndex((a) => a.span === span.key), asked = s.approvals[approval];
  /** @param {string} link */
  const linked = (link) => s.entities.filter((e) => linksOf(e).get(span.key) === link)
    .map((e) => [entityLink(app, e.key, e.type, e.value)]);
  /** @param {Edge} e */ const edge = (e) => [h("button", { class: "rel linkbtn",
    onclick: () => app.select({ type: "edge", key: edgeKey(e) }) },
    e.from === span.key ? e.kind : "← " + e.kind),
      spanLink(app, e.from === span.key ? e.to : e.from)];
  const edges = s.edges.filter((e) => [e.from, e.to].includes(span.key) && e.kind !== "contains");
  const children = s.spans.filter((x) => x.parent === span.key), more = children.length - 60;
  const rows = span.rows.filter((i) => s.rows[i]), shown = rows.slice(0, 6);
  const check = s.approvals.flatMap((a) => a.checks).find((c) => c.span === span.key);
  const critical = s.critical_path.includes(span.key);
  return {
    title: span.name,
    mark: kindMark(span.class),
    value: { span, rows: rows.map((i) => s.rows[i]) },
    rows,
    body: [
      span.error && errorBox(span.error, 600),
      facts([
        ["Left", span.left && leftBy(span.left)],
        ["Verdict", check && chip(check.verdict)],
        ["Approval", asked && chip(asked.status)],
        // That a check ran without an error says nothing of what it found.
        ["Status", !(check || asked) && [okBadge(span.status),
          span.open && [" ", badge("No end recorded", "wait", "clock")]]],
        ["Decided", span.class === "model" && decisionOf(s, [span])],
        ["Agent", span.agent],
        ["Started", timeEl(span.start, "ms")],
        ["Duration", span.open ? "open" : fmtDuration(span.duration_ms)],
        ["Turn", span.turn ? String(span.turn) : "outside of any"],
        ["Tokens", span.tokens && span.tokens.total > 0 && tokensOf(span.tokens)],
        ["Call", span.call_id && mono(span.call_id, "call id", 22)],
        ["Branch", span.branch],
        ["Critical path", critical && "yes: the session would have ended sooner without it"],
      ]),
      h("div", "actions",
        asked && h("button", { class: "btn small primary",
          onclick: () => app.go("approvals", refTo("approval", approval)) }, "Open the approval"),
        viewLink(app, "graph", ref, "Graph"), viewLink(app, "timeline", ref, "Timeline"),
        viewLink(app, "trajectory", ref, "Trajectory")),
      check && checkFound(app, check),
      partOf("Evaluated here", linked("evaluated")),
      partOf("Named here", linked("named")),
      partOf("Linked to", [
        ...(span.parent ? [[h("span", "rel", "in"), spanLink(app, span.parent)]] : []),
        ...edges.slice(0, 60).map(edge),
        ...children.slice(0, 60).map((c) => [h("span", "rel", "contains"), spanLink(app, c.key)]),
        ...(more > 0 ? [[h("span", "muted", "and " + plural(more, "more step") + " in it")]] : []),
      ]),
      rows.length > 0 && part("Content",
        shown.some((i) => !s.gists[i].loaded) ? waiting(app, shown, () => app.detail?.again(ref))
          : shown.map((i) => payload(eventName(s.rows[i].event_type), s.rows[i].content, 2)),
        rows.length > 6
          && h("p", "muted", "and " + plural(rows.length - 6, "more row") + " below")),
      rows.length > 0 && part(plural(rows.length, "row"), rowLinks(app, s, rows)),
      identity({ Span: span.span_id, Trace: span.trace_id, Invocation: span.invocation_id,
        "Node key": span.key }),
    ],
  };
}

/** checkFound is what a check found, in lines to read. @param {App} app @param {Check} c */
function checkFound(app, c) {
  /** @param {string} type @param {string} value */ const name = (type, value) => entityLink(app,
    c.entities.find((e) => e.type === type && e.value === value)?.key, type, value);
  const found = [
    ...[...c.alerts, ...c.warnings].map((x) => [name(x.entity_type, x.entity),
      h("span", "turned", turnedLine({ name: x.attribute, seen: x.before, now: x.after }))]),
    ...c.failures.map((x) => [x.entity && name(x.entity_type || "", x.entity),
      h("span", "turned", "could not be checked: " + words(x.reason))]),
  ];
  const count = plural(c.total_entities, "entity", "entities");
  return part(found.length === 0 ? "Nothing has changed" : "What it found",
    h("ul", "refs", found.map((x) => h("li", {}, x))),
    h("p", "muted", c.stale_entities + " changed of " + count + " checked"));
}

/** @param {App} app @param {Session} s @param {Entity} e @returns {Described} */
function describeEntity(app, s, e) {
  const used = s.approvals.flatMap((a, i) => {
    const r = a.entities.find((x) => x.key === e.key);
    return r ? { a, i, r } : [];
  });
  const sightings = h("ul", "refs");
  chunked(sightings, e.evaluated, (x) => h("li", {}, timeEl(x.seen_at, "ms"), spanLink(app, x.span),
    h("span", "muted", x.source + (x.link === "named" ? ", only named" : "")),
    x.row >= 0 && rowLink(app, x.row)), 40);
  const found = driftsOf(s).entities.get(e.key), last = used.map((x) => x.r)
    .filter((r) => r.outcome).pop();
  return {
    title: e.value,
    mark: h("span", { class: "kind entity " + typeClass(e.type) }, typeMark(e.type), e.type),
    value: e,
    body: [
      found && last && part("Seen, and at the last check",
        h("p", {}, mark(outcomeOf(found.outcome)),
          found.reason && h("span", "muted", " " + words(found.reason))), thenAndNow(last, found)),
      part("Latest values seen", attributeTable(e.attributes)
        || h("p", "muted", "It was named; no attribute of it was seen.")),
      facts([["Left", e.left && leftBy(e.left)], ["Confidence", e.confidence.toFixed(2)],
        ["Found by", e.sources.join(", ")],
        ["First seen", timeEl(e.first_seen)], ["Last seen", timeEl(e.last_seen)],
        ["Artifact", e.artifact_uri && mono(e.artifact_uri, "artifact URI", 40)]]),
      h("div", "actions", viewLink(app, "graph", { type: "entity", key: e.key }, "Show in graph")),
      partOf("Approvals that rest on it", used.map(({ a, i, r }) => [
        linkButton(a.tool, () => app.go("approvals", refTo("approval", i))), chip(a.status),
        r.outcome && mark(outcomeOf(r.outcome))])),
      part("Seen " + plural(e.evaluated.length, "time"), sightings),
      part("Identity", facts([["Key", mono(e.key, "entity key", 44)]])),
    ],
  };
}

/** thenAndNow has the value that was seen beside the present one in each line. @param {Rested} r
 * @param {Found} f */
function thenAndNow(r, f) {
  const head = h("thead", {}, h("tr", {}, h("td", {}),
    ["Seen", "Now"].map((text) => h("th", { scope: "col" }, text))));
  const turned = new Map(f.turned.map((t) => [t.name, t]));
  const names = new Set([...turned.keys(), ...Object.keys({ ...r.seen, ...r.now })]);
  return h("div", "then", plainTable([...names].map((name) => {
    const t = turned.get(name);
    if (t) return [words(name), t.seen, h("strong", {}, t.now)];
    return [words(name), r.seen?.[name] ?? "–", r.now?.[name] ?? "not read"];
  }), head));
}

/** @param {App} app @param {Session} s @param {Row} row @param {number} index */
function describeRow(app, s, row, index) {
  const verdict = s.approvals.flatMap((a) => a.checks).find((c) => c.row === index)?.verdict;
  const ref = refTo("row", index);
  return {
    title: eventName(row.event_type),
    mark: h("span", "kind", "Row " + (index + 1)),
    value: row,
    rows: [index],
    body: [
      row.error_message && errorBox(row.error_message, 600),
      facts([["Left", row.left && leftBy(row.left)],
        ["Verdict", verdict && chip(verdict)], ["Status", !verdict && okBadge(row.status)],
        ["Agent", row.agent], ["Time", timeEl(row.timestamp)], ["Latency", tookOf(row)],
        ["Step", spanLink(app, row.span)],
        ["Cut", row.is_truncated && badge("lost content to a limit", "warn", "warning")]]),
      h("div", "actions",
        index > 0 && smallButton("Row before", () => app.select(refTo("row", index - 1))),
        index + 1 < s.rows.length
          && smallButton("Next row", () => app.select(refTo("row", index + 1))),
        viewLink(app, "trajectory", ref, "Trajectory")),
      s.gists[index].loaded ? payloads(row, 1)
        : waiting(app, [index], () => app.detail?.again(ref)),
      identity({ Event: row.event_id, Span: row.span_id, Parent: row.parent_span_id,
        Trace: row.trace_id, Invocation: row.invocation_id }),
    ],
  };
}

/** @param {App} app @param {Approval} a @param {number} index @returns {Described} */
function describeApproval(app, a, index) {
  return {
    title: a.tool || a.kind,
    mark: kindMark("hitl"),
    value: a,
    body: [
      h("p", {}, chip(a.status)),
      h("p", {}, a.explanation),
      facts([["Asked by", a.agent], ["Asked", timeEl(a.requested_at)],
        ["Waited", fmtDuration(a.waited_ms)], ["Step", spanLink(app, a.span)]]),
      h("div", "actions", viewLink(app, "approvals", refTo("approval", index), "Open the approval"),
        a.why.length > 0
          && smallButton([icon("graph"), "Why, in the graph"], () => showWhy(app, index))),
      partOf("Rests on", a.entities.map((e) => [entityLink(app, e.key, e.type, e.value),
        e.outcome && mark(outcomeOf(e.outcome))])),
      a.args !== undefined && payload("Arguments", a.args, 3),
      identity({ Approval: a.id, Call: a.call_id, Fingerprint: a.fingerprint }),
    ],
  };
}

/** showWhy goes to the graph with the paths of an approval. @param {App} app
 * @param {number} index */
function showWhy(app, index) {
  app.why(index);
  app.go("graph");
}

/** describeEdge describes a Caused edge, or one from a span to an entity. @param {App} app
 * @param {Session} s @param {string} key @returns {Described|null} */
function describeEdge(app, s, key) {
  /** @param {string} kind @param {string} mark @param {Edge|Sighting} value
   * @param {Child[]} body */
  const described = (kind, mark, value, ...body) => ({ title: sentence(kind), value,
    mark: h("span", "kind", mark), body: [h("p", {}, EDGE_KINDS[kind]), ...body] });
  const edge = s.edges.find((e) => edgeKey(e) === key);
  if (edge) {
    return described(edge.kind, "Caused", edge, part("From", edgeEnd(app, edge.from)),
      part("To", edgeEnd(app, edge.to)));
  }
  for (const e of s.entities) {
    const links = linksOf(e);
    const x = e.evaluated.find((y) => y.link === links.get(y.span)
      && edgeKey({ from: y.span, to: e.key, kind: y.link }) === key);
    if (!x) continue;
    return described(x.link, sentence(x.link), x, part("Step", edgeEnd(app, x.span)),
      part("Entity", entityLink(app, e.key, e.type, e.value)),
      part("Seen", attributeTable(x.attributes), facts([["Time", timeEl(x.seen_at)],
        ["Found by", x.source], ["Confidence", x.confidence.toFixed(2)],
        ["Row", x.row >= 0 && rowLink(app, x.row)]])));
  }
  return null;
}

/** @param {App} app @param {string} key */
function edgeEnd(app, key) {
  const s = app.span(key);
  return h("div", {}, spanLink(app, key), s && facts([["Agent", s.agent],
    ["Started", timeEl(s.start, "ms")], ["Duration", fmtDuration(s.duration_ms)],
    ["Turn", String(s.turn)]]));
}
