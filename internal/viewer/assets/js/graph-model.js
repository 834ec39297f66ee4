// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// What the graph shows of a session: every span, or spans of one turn, agent, class and name
// as one node; edges between the same two nodes are one, with a count.

/** Above so many spans they are shown aggregated unless someone asks for all. */
const AGGREGATE_ABOVE = 500;

/** What the kinds of edges say. @type {Record<string, string>} */
const EDGE_KINDS = {
  informs: "What the first step gave was before the model, or called for, when the second began.",
  resumes: "The first step asked a person; the second one is the turn that answered.",
  contains: "The second step took place inside of the first one.",
  evaluated: "The step saw this entity.",
  named: "The step only named this entity, as what a call acts on. It did not look it up.",
};

/** isLink reports whether a kind of edge leads from a step to an entity. @param {string} kind */
const isLink = (kind) => kind === "evaluated" || kind === "named";

/** linksOf says what each step that saw an entity is to it. A call may name the entity first,
 * and its result may then show it: that step evaluated it. @param {Entity} e
 * @returns {Map<string, string>} the kind of link by span */
function linksOf(e) {
  /** @type {Map<string, string>} */ const links = new Map();
  for (const x of e.evaluated) if (links.get(x.span) !== "evaluated") links.set(x.span, x.link);
  return links;
}

/** graphModel makes the graph of a session. @param {Session} s @param {boolean} aggregated
 * @param {Set<string>} hidden "class:…", "type:…" and "edge:…" */
function graphModel(s, aggregated, hidden) {
  /** @type {Map<string, GraphNode>} */ const byId = new Map();
  /** @type {Map<string, string>} */ const nodeOf = new Map();
  const drifts = driftsOf(s);
  for (const sp of s.spans) {
    if (hidden.has("class:" + sp.class)) continue;
    const id = aggregated ? ["g", sp.turn, sp.agent, sp.class, sp.name].join("\u0001") : sp.key;
    let n = byId.get(id);
    if (!n) {
      n = { id, type: "span", kind: sp.class, label: sp.name, sub: "", turn: sp.turn, spans: [],
        entity: null, errors: 0, ms: 0, verdict: "", found: null, left: true };
      byId.set(id, n);
    }
    n.spans.push(sp);
    n.ms += sp.duration_ms;
    if (sp.status === "ERROR") n.errors++;
    n.left &&= !!sp.left;
    n.verdict = drifts.verdicts.get(sp.key) || n.verdict;
    nodeOf.set(sp.key, id);
  }
  for (const n of byId.values()) {
    n.sub = [n.kind === "user" || n.spans[0].agent === n.label ? "" : n.spans[0].agent,
      fmtDuration(n.ms)].filter(Boolean).join(" · ");
    n.label = saidOf(s, n) || n.label;
  }
  for (const e of s.entities) {
    if (hidden.has("type:" + e.type)) continue;
    const first = e.evaluated.map((x) => nodeOf.get(x.span)).find(Boolean);
    const turn = first ? /** @type {GraphNode} */ (byId.get(first)).turn : 0;
    byId.set(e.key, { id: e.key, type: "entity", kind: e.type, label: e.value, sub: e.type, turn,
      spans: [], entity: e, errors: 0, ms: 0, verdict: "", found: drifts.entities.get(e.key)
      || null, left: !!e.left });
    nodeOf.set(e.key, e.key);
  }
  /** @type {Map<string, GraphEdge>} */ const edges = new Map();
  /** @type {Set<string>} */ const had = new Set();
  /** @param {Edge} e */ const add = (e) => {
    const from = nodeOf.get(e.from), to = nodeOf.get(e.to);
    if (!from || !to || from === to || hidden.has("edge:" + e.kind)) return;
    const key = edgeKey({ from, to, kind: e.kind });
    const known = edges.get(key);
    if (!known) edges.set(key, { from, to, kind: e.kind, edges: [e] });
    else if (!had.has(edgeKey(e))) known.edges.push(e);
    had.add(edgeKey(e));
  };
  for (const e of s.edges) add(e);
  for (const e of s.entities) for (const [from, kind] of linksOf(e)) add({ from, to: e.key, kind });
  return { nodes: [...byId.values()], edges: [...edges.values()], byId, nodeOf };
}

/** saidOf is what a node says beside its kind: what was decided, asked or checked.
 * @param {Session} s @param {GraphNode} n */
function saidOf(s, n) {
  if (n.kind === "model") return decisionOf(s, n.spans);
  if (n.kind === "check") return "World check";
  if (n.kind === "hitl") return s.approvals.find((a) => a.span === n.spans[0].key)?.tool || "";
  if (n.kind !== "user") return "";
  const row = n.spans[0].rows.find((i) => s.rows[i].event_type === "USER_MESSAGE_RECEIVED");
  const text = row === undefined ? "" : s.gists[row].said || "";
  return onlyResponses.test(text) ? "answers a request" : text;
}

/** graphNodeName says what a node is in words. @param {GraphNode} n */
function graphNodeName(n) {
  const { entity, found: f, spans: [first] } = n, text = foundText(f);
  if (entity) {
    const attrs = Object.entries(entity.attributes).map(([k, v]) => k + " " + v);
    const outcome = f && text && outcomeOf(f.outcome).label.toLowerCase() + " since the request";
    const found = outcome ? [outcome, text, ...f.turned.map(turnedText)] : [];
    return [n.kind + " " + n.label, ...found, ...attrs, ...(n.left ? ["left"] : [])].join(", ");
  }
  return [
    classOf(n.kind).label + " " + n.label,
    n.verdict && statusInfo(n.verdict).label,
    first.name !== n.label && first.name,
    n.spans.length > 1 && plural(n.spans.length, "span"),
    first.agent && first.agent !== n.label && "by " + first.agent,
    n.turn > 0 && "turn " + n.turn,
    fmtDuration(n.ms),
    n.errors > 0 && plural(n.errors, "error"),
    n.left && "left",
  ].filter(Boolean).join(", ");
}

/** The lane of each class of steps. @type {Record<string, number>} */
const LANES = { user: 0, agent: 0, model: 1, tool: 2, other: 2, hitl: 3, check: 3 };

/** quietEdges are drawn only with a step they belong to: where a step lies when another line
 * leads to it already, but for the first step within. @param {GraphModel} m */
function quietEdges(m) {
  const led = new Set(m.edges.filter((e) => e.kind === "informs" || e.kind === "resumes")
    .map((e) => e.to));
  /** @type {Set<GraphEdge>} */ const quiet = new Set();
  /** @type {Set<string>} */ const begun = new Set();
  for (const e of m.edges) {
    if (e.kind !== "contains") continue;
    if (begun.has(e.from) && led.has(e.to)) quiet.add(e);
    begun.add(e.from);
  }
  return quiet;
}

/** besideOf is the step that showed each entity first, or only named it. @param {GraphModel} m */
function besideOf(m) {
  /** @type {Map<string, string>} */ const beside = new Map();
  for (const kind of ["evaluated", "named"]) for (const e of m.edges) if (e.kind === kind
    && !beside.has(e.to)) beside.set(e.to, e.from);
  return beside;
}

/** parentOf returns the span around one that a graph shows. @param {GraphModel} m
 * @param {string} span */
function parentOf(m, span) {
  const n = m.byId.get(m.nodeOf.get(span) || "");
  return n?.spans.find((x) => x.key === span)?.parent || "";
}

/** graphPaths are the nodes and edges on the paths from a request back to what it rests on.
 * Order counts from the request, which is 1. @param {GraphModel} m @param {Why[]} why */
function graphPaths(m, why) {
  /** @type {Map<string, number>} */ const order = new Map();
  /** @type {Set<string>} */ const edges = new Set();
  for (const w of why) {
    let place = 0, last = "";
    for (let i = w.path.length - 1; i >= 0; i--) {
      const id = m.nodeOf.get(w.path[i].span);
      if (!id) continue;
      if (id !== last) place++;
      last = id;
      order.set(id, Math.min(order.get(id) || Infinity, place));
      const next = i + 1 < w.path.length ? m.nodeOf.get(w.path[i + 1].span) : undefined;
      if (next) edges.add(edgeKey({ from: id, to: next, kind: w.path[i].edge || "" }));
    }
    // What the action alone names hangs on the call, in which the request lies.
    const first = w.path.length > 0 ? w.path[0].span : "";
    const seen = m.nodeOf.get(w.origin === "action" ? parentOf(m, first) : first);
    const entity = m.nodeOf.get(w.entity);
    if (entity) {
      order.set(entity, Math.min(order.get(entity) || Infinity, place + 1));
      for (const kind of seen ? ["evaluated", "named"] : []) edges.add(
        edgeKey({ from: /** @type {string} */ (seen), to: entity, kind }));
    }
  }
  return { order, edges };
}

/** stateOf says how a node stands. @param {GraphNode} n */
function stateOf(n) {
  if (n.verdict) return chip(n.verdict);
  if (n.errors > 0) return badge(plural(n.errors, "error"), "bad", "error");
  if (!n.entity) return "ok";
  const text = foundText(n.found);
  return [n.found && text && [mark(outcomeOf(n.found.outcome)), " ", text, ", "],
    "seen " + n.entity.evaluated.length + "×"];
}

/** graphTable is the graph as two tables, for people who read it rather than look at it.
 * @param {GraphModel} m @param {(n: GraphNode) => void} onNode
 * @param {(e: GraphEdge) => void} onEdge @param {Map<string, number>|null} order the places on
 * the highlighted paths */
function graphTable(m, onNode, onEdge, order) {
  const numbers = ["Turn", "Time", "Causes", "Effects", "On the path"];
  /** @template T @param {string} caption @param {string[]} heads @param {T[]} items
   * @param {(item: T) => {cls?: string, cells: Child[]}} line */
  const table = (caption, heads, items, line) => {
    const body = h("tbody"), cls = heads.map((n) => (numbers.includes(n) ? "num" : null));
    chunked(body, items, (x) => {
      const { cls: of, cells } = line(x);
      return h("tr", of, heads.map((_, i) => h("td", cls[i], cells[i])));
    }, 200);
    return h("table", "gv-table", h("caption", {}, caption), h("thead", {}, h("tr", {},
      heads.map((n, i) => h("th", { scope: "col", class: cls[i] }, n)))), body);
  };
  const out = groupBy(m.edges, (e) => e.from), into = groupBy(m.edges, (e) => e.to);
  /** @param {string} id */
  const link = (id) => linkButton(sure(m.byId.get(id)).label, () => onNode(sure(m.byId.get(id))));
  const heads = ["Kind", "Name", "Agent or properties", "Turn", "Time", "State", "Causes",
    "Effects"];
  return h("div", "gv-tables",
    table(plural(m.nodes.length, "node"), order ? [...heads, "On the path"] : heads, m.nodes,
      (n) => {
      const e = n.entity, attrs = Object.entries(e?.attributes || {}).map((x) => x.join(" "));
      const cls = (e ? typeClass(n.kind) : kindClass(n.kind)) + (n.left ? " left" : "");
      return { cls, cells: [
        e ? [typeMark(n.kind), " ", n.kind] : [h("span", "gv-dot"), classOf(n.kind).label],
        [link(n.id), n.spans.length > 1 && " × " + n.spans.length],
        e ? attrs.join(", ") : n.spans[0].agent,
        n.turn || "–", e ? "–" : fmtDuration(n.ms), stateOf(n),
        into.get(n.id)?.length || 0, out.get(n.id)?.length || 0, order?.get(n.id) || "–",
      ] };
    }),
    table(plural(m.edges.length, "edge"), ["From", "Edge", "To"], m.edges, (e) => {
      const times = e.edges.length > 1 ? " × " + e.edges.length : "";
      return { cells: [link(e.from), linkButton(e.kind + times, () => onEdge(e)), link(e.to)] };
    }));
}

// What the checks of a session found: the verdict of each step that checked or asked, and what
// came of each entity, with the values then and now.

/** @param {Session} s */
function driftsOf(s) {
  /** @type {Drifts} */ const d = { verdicts: new Map(), entities: new Map() };
  for (const a of s.approvals) {
    d.verdicts.set(a.span, a.status);
    for (const c of a.checks) d.verdicts.set(c.span, c.verdict);
    const last = a.checks[a.checks.length - 1];
    for (const r of a.entities) {
      if (!r.key || !r.outcome) continue;
      const turned = turnedOf(r, last ? last.alerts : []);
      // A plan may cost too much although its budget is as it was.
      const outcome = r.outcome === "unchanged" && turned.length > 0 ? "changed" : r.outcome;
      // Of several approvals that rest on it the last one knows best.
      d.entities.set(r.key, { outcome, turned, reason: r.reason || "", as_of: r.as_of || "" });
    }
  }
  return d;
}

/** turnedOf are the values of an entity that are others now. @param {Rested} r
 * @param {Alert[]} alerts */
function turnedOf(r, alerts) {
  const mine = alerts.filter((x) => x.entity_type === r.type && x.entity === r.value);
  const changed = ["changed", "warned"].includes(r.outcome || "") ? valuesOf(r, mine) : [];
  return [
    ...mine.map((x) => ({ name: x.attribute, seen: x.before, now: x.after })),
    ...changed.flatMap(({ name, seen, now, changed, alert }) =>
      (changed && !alert && seen !== undefined && now !== undefined ? { name, seen, now } : [])),
  ];
}

/** foundText says in a few words what came of an entity, "" where nothing did.
 * @param {Found|null} f */
function foundText(f) {
  if (!f || f.outcome === "unchanged" || f.outcome === "skipped") return "";
  if (f.turned.length > 0) return f.turned[0].seen + " → " + f.turned[
    0].now + (f.turned.length > 1 ? " +" + (f.turned.length - 1) : "");
  return f.outcome === "failed" ? "not checked" : outcomeOf(f.outcome).label.toLowerCase();
}

/** turnedLine is a changed value in a line to read. @param {Turned} t */
function turnedLine(t) {
  return [words(t.name), " ", h("s", {}, t.seen), " → ", h("strong", {}, t.now)];
}

/** turnedText is the same as a text. @param {Turned} t */
function turnedText(t) {
  return words(t.name) + " " + t.seen + " → " + t.now;
}

/** decisionOf is what a model step decided: the tools that it asked for, or that it answered; ""
 * where nothing is on record. @param {Session} s @param {Span[]} spans */
function decisionOf(s, spans) {
  /** @type {Set<string>} */ const names = new Set();
  let answers = false;
  for (const sp of spans) {
    for (const i of sp.rows) {
      const row = s.rows[i];
      if (!row || row.event_type !== "LLM_RESPONSE") continue;
      const g = s.gists[i];
      for (const name of g.calls || []) names.add(name || "a tool");
      if (g.answers) answers = true;
    }
  }
  const list = [...names];
  if (list.length === 0) return answers ? "→ answer" : "";
  if (list.length === 1 || (list.length === 2 && list.join().length <= 28)) return "→ "
    + list.join(", ");
  return "→ " + list[0] + " +" + (list.length - 1);
}
