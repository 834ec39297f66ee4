// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// How the graph is drawn: circles for spans, rectangles for entities, and lines between them.

const NODE_R = 17;

/** With more edges than this each is drawn with as little as possible. */
const MANY_EDGES = 1500;

/** GraphDrawing draws a GraphModel into a Canvas. */
class GraphDrawing {
  /** @param {Canvas} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    /** @type {GraphModel|null} */
    this.model = null;
    /** @type {"LR"|"TB"} */
    this.dir = "LR";
    /** @type {Map<string, {el: SVGGElement, c: Point, rect: Rect, badge: SVGGElement}>} */
    this.drawn = new Map();
    /** @type {SVGGElement[]} by the index of the edge */
    this.lines = [];
    /** @type {Map<string, number[]>} */
    this.touching = new Map();
    this.labels = svg("g", { class: "ge-labels", "aria-hidden": "true" });
    this.edgeAt = -1;
    /** @type {string|null} */
    this.nodeAt = null;
    /** What is highlighted, to tell when that changes. */
    this.lit = "";
    this.banded = false;
    this.none = h("div", { class: "gv-none", hidden: true }, empty("graph", "Nothing to draw", "No step was recorded, or all of them are hidden in the legend."));
    canvas.root.append(this.none);
    canvas.svg.prepend(svg("defs", {}, ["contains", "informs", "resumes", "evaluated", "named"].map((k) =>
      svg("marker", { id: "gm-" + k, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { class: "ge-head ge-head-" + k, d: "M0 0.500 8 4 0 7.500Z" })))));
    /** @param {Event} ev */
    const over = (ev) => {
      const el = ev.target instanceof Element ? ev.target.closest("[data-stop], [data-edge]") : null;
      const edge = el && el.getAttribute("data-edge");
      this.name(el ? el.getAttribute("data-stop") : this.nodeAt, edge ? Number(edge) : el ? -1 : this.edgeAt);
    };
    canvas.svg.addEventListener("pointerover", over);
    canvas.svg.addEventListener("focusin", over);
    canvas.svg.addEventListener("pointerleave", () => this.name(this.nodeAt, this.edgeAt));
  }

  /**
   * @param {GraphModel} m @param {"LR"|"TB"} dir @param {boolean} keep
   * @returns {Map<string, Stop>}
   */
  show(m, dir, keep) {
    this.model = m;
    this.dir = dir;
    const loose = looseEdges(m);
    const boxes = m.nodes.map((n) => ({ id: n.id, group: n.turn, ...this.box(n) }));
    /** @type {Record<string, number>} */
    const weight = { informs: 6, resumes: 3, contains: 2, evaluated: 1, named: 1 };
    const links = m.edges.map((e) => ({ from: e.from, to: e.to, weight: weight[e.kind] || 1, loose: loose.has(e) }));
    const at = layered(boxes, links, dir === "LR" ? { dir, node: 14, rank: 26 } : { dir, node: 18, rank: 34 });
    this.drawn.clear();
    this.banded = at.engine === "bands";
    const many = m.edges.length > MANY_EDGES;
    if (!keep) this.lit = "";
    const nodes = svg("g", { role: "group", "aria-label": plural(m.nodes.length, "node") });
    m.nodes.forEach((n, i) => {
      const p = /** @type {Point} */ (at.at.get(n.id)), b = boxes[i];
      const rect = { x: p.x - b.w / 2, y: p.y - b.h / 2, w: b.w, h: b.h };
      const c = n.entity ? p : dir === "LR" ? { x: p.x, y: rect.y + NODE_R + 4 } : { x: rect.x + NODE_R + 4, y: p.y };
      const badge = svg("g", { class: "gn-order", transform: "translate(" + (n.entity ? c.x - b.w / 2 : c.x - NODE_R) + " " + (n.entity ? c.y - b.h / 2 : c.y - NODE_R + 4) + ")" });
      const el = this.node(n, c, b, badge);
      this.drawn.set(n.id, { el, c, rect, badge });
      nodes.append(el);
    });
    const trunks = this.trunks(m, loose);
    const edges = svg("g", { class: "ges", "aria-hidden": "true" });
    this.touching = new Map();
    this.lines = m.edges.map((e, i) => {
      for (const id of [e.from, e.to]) {
        const list = this.touching.get(id);
        if (list) list.push(i);
        else this.touching.set(id, [i]);
      }
      const d = loose.has(e) && e.kind === "contains" ? this.bus(e, trunks.get(e.from) || 0) : this.line(e, at.lines[i]);
      const a = /** @type {GraphNode} */ (m.byId.get(e.from)), b = /** @type {GraphNode} */ (m.byId.get(e.to));
      // Lines over many turns to what was seen in one of them would hide everything else.
      const far = this.banded && isLink(e.kind) && a.turn !== b.turn;
      const g = svg("g", { class: "geg ge-k-" + e.kind + (far ? " far" : ""), "data-edge": i }, !many && svg("path", { class: "ge-hit", d }),
        svg("path", { class: "ge ge-" + e.kind, d, "marker-end": "url(#gm-" + e.kind + ")" }),
        !many && svg("title", {}, a.label + " " + e.kind + " " + b.label + (e.edges.length > 1 ? " × " + e.edges.length : "")));
      edges.append(g);
      return g;
    });
    const bands = at.bands.map((b) => svg("g", { class: "gband", "aria-hidden": "true" },
      svg("rect", { x: b.rect.x, y: b.rect.y, width: b.rect.w, height: b.rect.h, rx: 10 }), svg("text", { x: b.rect.x + 14, y: b.rect.y + 20 }, b.group > 0 ? "Turn " + b.group : "Outside of any turn")));
    this.canvas.world.replaceChildren(...bands, edges, nodes, this.labels);
    this.labels.replaceChildren();
    this.none.hidden = m.nodes.length > 0;
    const pad = trunks.size > 0 ? 46 : 10;
    const bounds = { x: at.bounds.x - (dir === "TB" ? pad : 4), y: at.bounds.y - (dir === "LR" ? pad : 4), w: at.bounds.w + (dir === "TB" ? pad : 4) + 4, h: at.bounds.h + (dir === "LR" ? pad : 4) + 4 };
    this.canvas.show(bounds, m.nodes.map((n) => {
      const q = /** @type {{c: Point, rect: Rect}} */ (this.drawn.get(n.id));
      const cls = n.entity ? typeClass(n.kind) : kindClass(n.kind);
      return n.entity ? { ...q.rect, cls } : { x: q.c.x - NODE_R, y: q.c.y - NODE_R, w: NODE_R * 2, h: NODE_R * 2, cls };
    }), keep);
    return this.stops(m);
  }

  /** box is how much room a node needs. @param {GraphNode} n */
  box(n) {
    if (n.entity) return { w: Math.max(86, Math.min(168, 26 + Math.max(n.label.length * 6.8, n.sub.length * 5.8))), h: 40 };
    return this.dir === "LR" ? { w: 104, h: NODE_R * 2 + 36 } : { w: 196, h: NODE_R * 2 + 8 };
  }

  /** @param {GraphNode} n @param {Point} c @param {{w: number, h: number}} b @param {SVGGElement} order */
  node(n, c, b, order) {
    const name = graphNodeName(n);
    const g = svg("g", { class: "gn " + (n.entity ? "gn-entity " + typeClass(n.kind) : kindClass(n.kind)), "data-stop": n.id, role: "button", "aria-label": name, tabindex: "-1" }, svg("title", {}, name));
    if (n.entity) {
      const x = c.x - b.w / 2, y = c.y - b.h / 2;
      g.append(svg("rect", { class: "gn-ring", x: x - 4, y: y - 4, width: b.w + 8, height: b.h + 8, rx: 11 }),
        svg("rect", { class: "gn-shape", x, y, width: b.w, height: b.h, rx: 8 }),
        svg("text", { class: "gn-type", x: c.x, y: c.y - 6 }, clip(n.sub, 22)),
        svg("text", { class: "gn-value", x: c.x, y: c.y + 11 }, clip(n.label, 20)), order);
      return g;
    }
    const info = CLASSES[n.kind] || CLASSES.other;
    g.append(svg("circle", { class: "gn-ring", cx: c.x, cy: c.y, r: NODE_R + 5 }), svg("circle", { class: "gn-shape", cx: c.x, cy: c.y, r: NODE_R }));
    // The check has a mark of its own beside its colour, so has what asks a human.
    if (n.kind === "check" || n.kind === "hitl") g.append(svg("circle", { class: "gn-second" + (n.kind === "check" ? " gn-dashed" : ""), cx: c.x, cy: c.y, r: NODE_R - 3.5 }));
    g.append(svg("path", { class: "gn-icon", d: ICONS[info.icon], transform: "translate(" + (c.x - 8) + " " + (c.y - 8) + ")" }));
    if (this.dir === "LR") {
      wrapName(n.label, 16).forEach((t, i) => g.append(svg("text", { class: "gn-label", x: c.x, y: c.y + NODE_R + 14 + i * 12.5 }, t)));
    } else {
      g.append(svg("text", { class: "gn-label gn-left", x: c.x + NODE_R + 8, y: c.y - 1 }, clip(n.label, 23)), svg("text", { class: "gn-sub gn-left", "aria-hidden": "true", x: c.x + NODE_R + 8, y: c.y + 12 }, clip(n.sub, 27)));
    }
    if (n.spans.length > 1) g.append(pill(c.x + NODE_R, c.y - NODE_R + 4, "×" + n.spans.length, "gn-count"));
    if (n.errors > 0) g.append(pill(c.x + NODE_R - 1, c.y + NODE_R - 4, "!", "gn-error"));
    g.append(order);
    return g;
  }

  /** trunks are where the lines to the steps within a step run, beside all of them. @param {GraphModel} m @param {Set<GraphEdge>} loose */
  trunks(m, loose) {
    /** @type {Map<string, number>} */
    const at = new Map();
    for (const e of loose) {
      if (e.kind !== "contains") continue;
      for (const id of [e.from, e.to]) {
        const q = this.drawn.get(id);
        if (!q) continue;
        const v = (this.dir === "LR" ? q.c.y : q.c.x) - NODE_R - 12;
        at.set(e.from, Math.min(at.has(e.from) ? /** @type {number} */ (at.get(e.from)) : Infinity, v));
      }
    }
    // Trunks of steps within steps lie beside each other and not on each other.
    for (const [id, v] of at) {
      const n = m.byId.get(id);
      at.set(id, v - 6 * (2 - Math.min(2, n && n.spans[0] ? n.spans[0].depth : 0)));
    }
    return at;
  }

  /** bus is the line along a trunk. @param {GraphEdge} e @param {number} trunk */
  bus(e, trunk) {
    const a = /** @type {{c: Point}} */ (this.drawn.get(e.from)).c, b = /** @type {{c: Point}} */ (this.drawn.get(e.to)).c;
    const gap = NODE_R + 3, s = 8;
    /** @param {number} along @param {number} across */
    const p = (along, across) => (this.dir === "LR" ? along.toFixed(1) + " " + across.toFixed(1) : across.toFixed(1) + " " + along.toFixed(1));
    const [a0, a1, b0, b1] = this.dir === "LR" ? [a.x, a.y, b.x, b.y] : [a.y, a.x, b.y, b.x];
    const r = Math.min(s, Math.abs(b0 - a0) / 2), into = "L" + p(b0, b1 - gap);
    // It leaves between two ranks, where nothing stands, when the other end lies further on.
    const lane = this.dir === "LR" ? 65 : 35;
    if (b0 - a0 > lane + 2 * s) return "M" + p(a0 + gap, a1) + "L" + p(a0 + lane - s, a1) + "Q" + p(a0 + lane, a1) + " " + p(a0 + lane, a1 - s) + "L" + p(a0 + lane, trunk + s) + "Q" + p(a0 + lane, trunk) + " " + p(a0 + lane + s, trunk) + "L" + p(b0 - s, trunk) + "Q" + p(b0, trunk) + " " + p(b0, trunk + s) + into;
    const w = b0 >= a0 ? 1 : -1;
    return "M" + p(a0, a1 - gap) + "L" + p(a0, trunk + r) + "Q" + p(a0, trunk) + " " + p(a0 + r * w, trunk) + "L" + p(b0 - r * w, trunk) + "Q" + p(b0, trunk) + " " + p(b0, trunk + r) + into;
  }

  /** @param {GraphEdge} e @param {Point[]} between */
  line(e, between) {
    const ends = [e.from, e.to].map((id) => /** @type {{c: Point, rect: Rect}} */ (this.drawn.get(id)));
    const m = /** @type {GraphModel} */ (this.model);
    const lr = this.dir === "LR";
    const first = between[0], last = between[between.length - 1];
    /** @param {number} i @param {Point} to @param {number} gap */
    const edge = (i, to, gap) => {
      const q = ends[i], n = /** @type {GraphNode} */ (m.byId.get(i === 0 ? e.from : e.to));
      return n.entity ? onRect(q.c, q.rect.w + gap * 2, q.rect.h + gap * 2, to) : onCircle(q.c, NODE_R + gap, to);
    };
    const [a, b] = [ends[0].c, ends[1].c];
    // One point between is only the middle between two ranks.
    if (between.length > 1) return curve([edge(0, first, 1), ...between, edge(1, last, 2)], this.dir);
    // Straight on when it leads on, with level ends where it also leads across.
    const on = lr ? b.x - a.x : b.y - a.y;
    const aim = on > 60 ? 46 : 0;
    const from = edge(0, aim ? (lr ? { x: a.x + aim, y: a.y + (b.y - a.y) * 0.3 } : { x: a.x + (b.x - a.x) * 0.3, y: a.y + aim }) : b, 1);
    const to = edge(1, aim ? (lr ? { x: b.x - aim, y: b.y - (b.y - a.y) * 0.3 } : { x: b.x - (b.x - a.x) * 0.3, y: b.y - aim }) : a, 2);
    return curve([from, to], this.dir);
  }

  /** @param {GraphModel} m @returns {Map<string, Stop>} */
  stops(m) {
    /** @type {Map<string, Stop>} */
    const stops = new Map();
    for (const n of m.nodes) {
      const q = /** @type {{el: SVGGElement, rect: Rect}} */ (this.drawn.get(n.id));
      stops.set(n.id, { el: q.el, rect: q.rect, prev: [], next: [] });
    }
    // What informs comes before what contains: it is the better answer to "and before that?".
    for (const kinds of [["informs", "resumes"], ["contains"], ["evaluated"], ["named"]]) {
      for (const e of m.edges) {
        if (!kinds.includes(e.kind)) continue;
        const a = /** @type {Stop} */ (stops.get(e.from)), b = /** @type {Stop} */ (stops.get(e.to));
        if (!a.next.includes(e.to)) a.next.push(e.to);
        if (!b.prev.includes(e.from)) b.prev.push(e.from);
      }
    }
    return stops;
  }

  /** @param {{order: Map<string, number>, edges: Set<string>}|null} paths null ends it */
  highlight(paths) {
    const m = this.model;
    if (!m) return;
    this.canvas.root.classList.toggle("cv-why", paths !== null);
    const was = this.lit;
    this.lit = paths ? [...paths.order.keys()].join() : "";
    for (const [id, q] of this.drawn) {
      const n = paths && paths.order.get(id);
      q.el.classList.toggle("on", !!n);
      q.badge.replaceChildren(...(n ? pill(0, 0, String(n), "").childNodes : []));
    }
    m.edges.forEach((e, i) => this.lines[i] && this.lines[i].classList.toggle("on", paths !== null && paths.edges.has(edgeKey(e))));
    if (paths && this.lit !== was) this.frame([...paths.order.keys()]);
  }

  /** @param {string|null} node @param {number} edge */
  select(node, edge) {
    this.nodeAt = node;
    this.edgeAt = edge;
    for (const [id, q] of this.drawn) {
      q.el.classList.toggle("sel", id === node);
      if (id === node) q.el.setAttribute("aria-current", "true");
      else q.el.removeAttribute("aria-current");
    }
    this.lines.forEach((l, i) => l.classList.toggle("sel", i === edge));
    this.name(node, edge);
  }

  /** name marks the edges of a node, or one edge, and says of what kind they are. @param {string|null} node @param {number} edge */
  name(node, edge) {
    const m = this.model;
    const near = edge >= 0 ? [edge] : (node && this.touching.get(node)) || [];
    this.canvas.world.querySelectorAll(".geg.near").forEach((l) => l.classList.remove("near"));
    /** @type {SVGTextElement[]} */
    const texts = [];
    for (const i of near) {
      const line = this.lines[i];
      if (!line || !m) continue;
      line.classList.add("near");
      const path = line.querySelector("path");
      if (!path || near.length > 30) continue;
      const p = path.getPointAtLength(path.getTotalLength() / 2), e = m.edges[i];
      texts.push(svg("text", { class: "ge-label", x: p.x, y: p.y + 3.5 }, e.kind + (e.edges.length > 1 ? " ×" + e.edges.length : "")));
    }
    this.labels.replaceChildren(...texts);
  }

  /** frame shows some nodes together. @param {string[]} ids */
  frame(ids) {
    const all = ids.flatMap((id) => this.drawn.get(id)?.rect || []);
    if (all.length === 0) return;
    const x = Math.min(...all.map((r) => r.x)), y = Math.min(...all.map((r) => r.y));
    this.canvas.frame({ x, y, w: Math.max(...all.map((r) => r.x + r.w)) - x, h: Math.max(...all.map((r) => r.y + r.h)) - y });
  }

  /** @param {string} id */
  reveal(id) {
    const q = this.drawn.get(id);
    if (q) this.canvas.reveal(q.rect);
  }
}

/** pill is a small number on a node. @param {number} x @param {number} y @param {string} text @param {string} cls */
function pill(x, y, text, cls) {
  const w = Math.max(15, text.length * 6.4 + 7);
  return svg("g", { class: "gn-pill " + cls }, svg("rect", { x: x - w / 2, y: y - 7.5, width: w, height: 15, rx: 7.5 }), svg("text", { x, y: y + 3.6 }, text));
}
