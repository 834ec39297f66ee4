// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// How the graph is drawn: circles for spans, rectangles for entities, and lines between them.

/** GraphDrawing draws a GraphModel into a Canvas. */
class GraphDrawing {
  /** @param {Canvas} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.field = new Field(canvas);
    /** @type {GraphModel|null} */
    this.model = null;
    /** @type {"LR"|"TB"} */
    this.dir = "TB";
    /** @type {Map<string, Rect>} */
    this.rects = new Map();
    /** The index of the item of a node. @type {Map<string, number>} */
    this.indexOf = new Map();
    /** @type {Map<string, number[]>} */
    this.touching = new Map();
    this.labels = svg("g", { class: "ge-labels", "aria-hidden": "true" });
    this.edgeAt = -1;
    /** @type {string|null} */
    this.nodeAt = null;
    /** The edges that are named. @type {number[]} */
    this.named = [];
    /** @type {{order: Map<string, number>, edges: Set<string>}|null} */
    this.paths = null;
    /** What is highlighted, to tell when that changes. */
    this.lit = "";
    this.none = h("div", { class: "gv-none", hidden: true }, empty("graph", "Nothing to draw", "No step was recorded, or all of them are hidden in the legend."));
    canvas.root.append(this.none);
    canvas.svg.prepend(svg("defs", {}, Object.keys(EDGE_KINDS).map((k) =>
      svg("marker", { id: "gm-" + k, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, svg("path", { class: "ge-head ge-head-" + k, d: "M0 0.500 8 4 0 7.500Z" })))));
    /** @param {Event} ev */
    const over = (ev) => {
      const el = ev.target instanceof Element ? ev.target.closest("[data-stop], [data-edge]") : null;
      const edge = el && el.getAttribute("data-edge");
      this.name(el ? el.getAttribute("data-stop") : this.nodeAt, el ? Number(edge || -1) : this.edgeAt);
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
    this.canvas.measure();
    if (!keep) this.lit = "";
    const quiet = quietEdges(m);
    const boxes = m.nodes.map((n) => this.box(n)), things = boxes.filter((b) => b.lane === THINGS);
    // Under each other entities are of one width.
    const width = things.reduce((w, b) => Math.max(w, b.across), 0);
    if (dir === "TB") for (const b of things) b.across = width;
    // A number stands before the lane that its line leads into.
    const laneOf = new Map(boxes.map((b) => [b.id, b.lane]));
    const numbered = new Set(m.edges.filter((e) => e.edges.length > 1).map((e) => laneOf.get(e.to)));
    const board = boardRows(boxes, besideOf(m), [0, 1, 2, 3, 4].map((lane) => (numbered.has(lane) ? 34 : 14)));
    const links = m.edges.map((e) => ({ from: e.from, to: e.to, kind: e.kind, quiet: quiet.has(e) }));
    const routes = planRoutes(board, links);
    // Lines over many turns to what was seen in one of them would hide everything else.
    routes.forEach((r, i) => {
      if (r.way === "far" && (isLink(links[i].kind) || Math.abs(r.from.column - r.to.column) > 1)) links[i].quiet = true;
    });
    // A way there and back is one line with two heads.
    const known = new Set(m.edges.map(edgeKey));
    const twin = (/** @type {GraphEdge} */ e) => known.has(edgeKey({ from: e.to, to: e.from, kind: e.kind }));
    routes.forEach((r, i) => {
      if (r.back && twin(m.edges[i])) links[i].quiet = true;
    });
    const tracks = assignTracks(routes, links);
    placeBoard(board, tracks.counts, dir === "TB" ? 110 : 480);
    /** @param {Place} p @returns {Point} */
    const point = (p) => (dir === "TB" ? { x: p.c, y: p.a } : { x: p.a, y: p.c });
    /** @param {{a: number, c: number, along: number, across: number}} p @returns {Rect} */
    const rect = (p) => ({ ...point(p), ...(dir === "TB" ? { w: p.across, h: p.along } : { w: p.along, h: p.across }) });

    const nodes = svg("g", { role: "group", "aria-label": plural(m.nodes.length, "node") });
    const edges = svg("g", { class: "ges", "aria-hidden": "true" });
    this.rects = new Map();
    this.indexOf = new Map(m.nodes.map((n, i) => [n.id, i]));
    /** @type {Piece[]} */
    const items = m.nodes.map((n) => {
      const p = /** @type {Placed} */ (board.at.get(n.id));
      const r = rect({ ...p, ...p.box }), c = point(centreOf(p));
      this.rects.set(n.id, r);
      const dot = n.entity ? r : { x: c.x - NODE_R, y: c.y - NODE_R, w: NODE_R * 2, h: NODE_R * 2 };
      return { rect: r, layer: nodes, cls: "cv-dot " + (n.entity ? typeClass(n.kind) : kindClass(n.kind)), d: rectPath(dot), make: () => this.node(n, c, r) };
    });
    this.touching = new Map();
    m.edges.forEach((e, i) => {
      for (const id of [e.from, e.to]) {
        const list = this.touching.get(id);
        if (list) list.push(i);
        else this.touching.set(id, [i]);
      }
      const p = routePoints(board, routes[i], tracks.track).map(point);
      const d = routes[i].way === "far" ? swing(p[0], p[1], dir) : corners(p);
      items.push({ rect: around(p), layer: edges, cls: "ge ge-" + e.kind, d, quiet: links[i].quiet, make: () => this.edge(e, i, d, p, !routes[i].back && twin(e)) });
    });
    const bands = board.bands.length < 2 ? [] : board.bands.map((b) => {
      const r = rect(b);
      return svg("g", { class: "gband", "aria-hidden": "true" }, svg("rect", { x: r.x, y: r.y, width: r.w, height: r.h, rx: 10 }), svg("text", dir === "TB" ? { x: r.x + 44, y: r.y + 17 } : { x: r.x + 4, y: r.y - 6 }, turnName(b.group) + (b.more ? ", continued" : "")));
    });
    this.canvas.world.replaceChildren(...bands, this.field.dots, edges, nodes, this.labels);
    this.labels.replaceChildren();
    this.named = [];
    this.none.hidden = m.nodes.length > 0;
    this.field.show(items);
    this.canvas.show(rect({ a: -4, c: dir === "TB" ? 0 : -20, along: board.along + 8, across: board.across + (dir === "TB" ? 0 : 24) }), items.slice(0, m.nodes.length).map((it) => ({ ...it.rect, cls: it.cls })), keep);
    return this.stops(m);
  }

  /** box is how much room a node needs. @param {GraphNode} n @returns {Box} */
  box(n) {
    const down = this.dir === "TB";
    if (n.entity) {
      const text = foundText(n.found);
      const w = Math.max(34 + textWidth(clip(n.label, 60), 12, true), 34 + textWidth(clip(n.sub, 40), 12), 34 + textWidth(text, 12, true));
      const across = Math.min(236, Math.max(92, w + 8)), along = text ? 54 : 38;
      return { id: n.id, group: n.turn, lane: THINGS, ...(down ? { along, across } : { along: across, across: along }) };
    }
    const w = Math.max(...this.linesOf(n).map((t) => textWidth(t, 12)), n.verdict ? verdictWidth(n) : textWidth(n.sub, 12));
    const more = 13 * Math.max(0, verdictLines(n).length - 1);
    const lane = LANES[n.kind] ?? 2;
    if (down) return { id: n.id, group: n.turn, lane, along: NODE_R * 2 + 4, across: NODE_R * 2 + 14 + Math.min(w, this.most(n)) };
    return { id: n.id, group: n.turn, lane, along: Math.max(NODE_R * 2, Math.min(w, 112)) + 8, across: NODE_R * 2 + 8 + 14 * (this.linesOf(n).length + (n.verdict ? 1.3 : 0)) + more };
  }

  /** most is how wide the name of a step may be: where there is little room, a message is cut first. @param {GraphNode} n */
  most(n) {
    const { w } = this.canvas.size;
    if (window.innerWidth < 600) return 130;
    return w < 1060 && n.kind === "user" ? 94 : 200;
  }

  /** linesOf are the lines of the name of a step. @param {GraphNode} n */
  linesOf(n) {
    return this.dir === "TB" ? [fitText(n.label, this.most(n), 12)] : wrapText(n.label, 112, 12, 2);
  }

  /** @param {GraphNode} n @param {Point} c @param {Rect} r */
  node(n, c, r) {
    const name = graphNodeName(n);
    const g = svg("g", { class: "gn " + (n.entity ? "gn-entity " + typeClass(n.kind) : kindClass(n.kind)), "data-stop": n.id, role: "button", "aria-label": name, tabindex: "-1" }, svg("title", {}, name));
    if (n.entity) this.entity(g, n, r);
    else this.step(g, n, c);
    this.dress(n.id, g);
    return g;
  }

  /** @param {SVGGElement} g @param {GraphNode} n @param {Rect} r */
  entity(g, n, r) {
    const text = foundText(n.found);
    append(g, [
      svg("rect", { class: "gn-ring", x: r.x - 4, y: r.y - 4, width: r.w + 8, height: r.h + 8, rx: 10 }),
      svg("rect", { class: "gn-shape", x: r.x, y: r.y, width: r.w, height: r.h, rx: 6 }),
      svg("g", { class: "gn-pill gn-tag" }, svg("rect", { x: r.x + 7, y: r.y + 8, width: 20, height: 20, rx: 4 }), svg("text", { x: r.x + 17, y: r.y + 22 }, typeLook(n.kind).tag)),
      svg("text", { class: "gn-value gn-left", x: r.x + 33, y: r.y + 16 }, fitText(n.label, r.w - 39, 12, true)),
      svg("text", { class: "gn-type gn-left", x: r.x + 33, y: r.y + 30 }, fitText(n.sub, r.w - 39, 12)),
    ]);
    if (!n.found || !text) return;
    const look = outcomeOf(n.found.outcome);
    g.append(svg("g", { class: "gn-found tone-" + look.tone }, svg("rect", { class: "gn-change", x: r.x - 2.5, y: r.y - 2.5, width: r.w + 5, height: r.h + 5, rx: 8 }),
      svg("path", { class: "gn-icon", d: ICONS[look.icon], transform: "translate(" + (r.x + 10.5) + " " + (r.y + 34) + ") scale(.84)" }),
      svg("text", { class: "gn-turned gn-left", x: r.x + 33, y: r.y + 46 }, fitText(text, r.w - 39, 12, true))));
  }

  /** @param {SVGGElement} g @param {GraphNode} n @param {Point} c */
  step(g, n, c) {
    const info = classOf(n.kind), down = this.dir === "TB";
    g.append(svg("circle", { class: "gn-ring", cx: c.x, cy: c.y, r: NODE_R + 4 }), svg("circle", { class: "gn-shape", cx: c.x, cy: c.y, r: NODE_R }));
    // The check has a mark of its own beside its colour, so has what asks a human.
    if (n.kind === "check" || n.kind === "hitl") g.append(svg("circle", { class: "gn-second" + (n.kind === "check" ? " gn-dashed" : ""), cx: c.x, cy: c.y, r: NODE_R - 3 }));
    g.append(svg("path", { class: "gn-icon", d: ICONS[info.icon], transform: "translate(" + (c.x - 6.8) + " " + (c.y - 6.8) + ") scale(.85)" }));
    const lines = this.linesOf(n), x = down ? c.x + NODE_R + 7 : c.x, y = down ? c.y - 2 : c.y + NODE_R + 14;
    lines.forEach((t, i) => g.append(svg("text", { class: "gn-label" + (down ? " gn-left" : ""), x, y: y + i * 14 }, t)));
    if (n.verdict) {
      const s = statusInfo(n.verdict), said = verdictLines(n), w = verdictWidth(n);
      const at = down ? { x, y: c.y + 2 } : { x: c.x - w / 2, y: y + lines.length * 14 - 9 };
      g.append(svg("g", { class: "gn-verdict tone-" + s.tone }, svg("rect", { x: at.x, y: at.y, width: w, height: 3 + 13 * said.length, rx: 8 }),
        svg("path", { class: "gn-icon", d: ICONS[s.icon], transform: "translate(" + (at.x + 5) + " " + (at.y + 2.5) + ") scale(.69)" }), said.map((t, i) => svg("text", { class: "gn-left", x: at.x + 18, y: at.y + 12 + 13 * i }, t))));
    } else if (down) g.append(svg("text", { class: "gn-sub gn-left", x, y: c.y + 12 }, fitText(n.sub, this.most(n), 12)));
    if (n.spans.length > 1) g.append(pill(c.x - NODE_R + 2, c.y - NODE_R + 1, "×" + n.spans.length, "gn-count"));
    if (n.errors > 0) g.append(pill(c.x + NODE_R - 3, c.y + NODE_R - 4, "!", "gn-error"));
  }

  /** edge is a line, with its number where it stands for several. @param {GraphEdge} e @param {number} i @param {string} d @param {Point[]} p @param {boolean} both whether it has a head at both ends */
  edge(e, i, d, p, both) {
    const m = /** @type {GraphModel} */ (this.model), n = e.edges.length;
    const end = p[p.length - 1], before = p[p.length - 2], level = Math.abs(end.y - before.y) < 1;
    const g = svg("g", { class: "geg ge-k-" + e.kind, "data-edge": i }, svg("path", { class: "ge-hit", d }), svg("path", { class: "ge ge-" + e.kind, d, "marker-end": "url(#gm-" + e.kind + ")", "marker-start": both && "url(#gm-" + e.kind + ")" }),
      n > 1 && svg("text", { class: "ge-count", "text-anchor": level && end.x > before.x ? "end" : "start", x: level ? end.x + (end.x > before.x ? -9 : 9) : end.x + 4, y: level ? end.y + 13 : end.y - 9 }, "×" + n),
      svg("title", {}, /** @type {GraphNode} */ (m.byId.get(e.from)).label + " " + e.kind + " " + /** @type {GraphNode} */ (m.byId.get(e.to)).label + (n > 1 ? " × " + n : "")));
    g.classList.toggle("on", this.paths !== null && this.paths.edges.has(edgeKey(e)));
    g.classList.toggle("sel", i === this.edgeAt);
    g.classList.toggle("near", this.named.includes(i));
    return g;
  }

  /** dress marks the element of a node by what is selected and highlighted. @param {string} id @param {SVGElement} el */
  dress(id, el) {
    const order = this.paths && this.paths.order.get(id), r = /** @type {Rect} */ (this.rects.get(id));
    el.classList.toggle("on", !!order);
    el.classList.toggle("sel", id === this.nodeAt);
    if (id === this.nodeAt) el.setAttribute("aria-current", "true");
    else el.removeAttribute("aria-current");
    el.querySelector(".gn-order")?.remove();
    if (order) el.append(pill(r.x + 4, r.y + 3, String(order), "gn-order"));
  }

  /** pin keeps the lines that are marked. */
  pin() {
    const m = /** @type {GraphModel} */ (this.model), first = m.nodes.length;
    const pins = new Set(this.named.map((i) => first + i));
    if (this.edgeAt >= 0) pins.add(first + this.edgeAt);
    if (this.paths) for (const [i, e] of m.edges.entries()) if (this.paths.edges.has(edgeKey(e))) pins.add(first + i);
    this.field.pin(pins);
  }

  /** @param {GraphModel} m @returns {Map<string, Stop>} */
  stops(m) {
    /** @type {Map<string, Stop>} */
    const stops = new Map();
    for (const n of m.nodes) {
      const at = /** @type {number} */ (this.indexOf.get(n.id)), field = this.field;
      stops.set(n.id, { get el() { return field.at(at); }, rect: /** @type {Rect} */ (this.rects.get(n.id)), prev: [], next: [] });
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
    if (!this.model) return;
    this.canvas.root.classList.toggle("cv-why", paths !== null);
    const was = this.lit;
    this.lit = paths ? [...paths.order.keys()].join() : "";
    this.paths = paths;
    this.mark();
    if (paths && this.lit !== was) this.frame([...paths.order.keys()]);
  }

  /** @param {string|null} node @param {number} edge */
  select(node, edge) {
    this.nodeAt = node;
    this.edgeAt = edge;
    this.canvas.hold((node && this.rects.get(node)) || null);
    this.name(node, edge);
    this.mark();
  }

  /** mark brings what is drawn in line with what is selected and highlighted. */
  mark() {
    const m = /** @type {GraphModel} */ (this.model), first = m.nodes.length;
    this.pin();
    for (const [i, el] of this.field.made) {
      if (i < first) this.dress(m.nodes[i].id, el);
      else {
        el.classList.toggle("on", this.paths !== null && this.paths.edges.has(edgeKey(m.edges[i - first])));
        el.classList.toggle("sel", i - first === this.edgeAt);
      }
    }
  }

  /** name marks the edges of a node, or one edge, and says of what kind they are. @param {string|null} node @param {number} edge */
  name(node, edge) {
    const m = this.model;
    if (!m) return;
    const first = m.nodes.length;
    for (const i of this.named) this.field.made.get(first + i)?.classList.remove("near");
    this.named = (edge >= 0 ? [edge] : (node && this.touching.get(node)) || []).slice(0, 200);
    this.pin();
    /** @type {SVGTextElement[]} */
    const texts = [];
    for (const i of this.named) {
      const line = this.field.at(first + i), path = line.querySelector("path"), e = m.edges[i];
      line.classList.add("near");
      if (!path || this.named.length > 12) continue;
      const p = path.getPointAtLength(path.getTotalLength() / 2);
      texts.push(svg("text", { class: "ge-label", x: p.x, y: p.y + 3.5 }, e.kind + (e.edges.length > 1 ? " ×" + e.edges.length : "")));
    }
    this.labels.replaceChildren(...texts);
  }

  /** frame shows some nodes together. @param {string[]} ids */
  frame(ids) {
    const all = ids.flatMap((id) => this.rects.get(id) || []);
    if (all.length === 0) return;
    const x = Math.min(...all.map((r) => r.x)), y = Math.min(...all.map((r) => r.y));
    this.canvas.frame({ x, y, w: Math.max(...all.map((r) => r.x + r.w)) - x, h: Math.max(...all.map((r) => r.y + r.h)) - y });
  }

  /** @param {string} id */
  reveal(id) {
    const r = this.rects.get(id);
    if (r) this.canvas.reveal(r);
  }

  /** under is the node at a place in the window, where dots stand for the nodes. @param {MouseEvent} ev */
  under(ev) {
    const box = this.canvas.svg.getBoundingClientRect(), v = this.canvas.view, m = this.model;
    const i = m && !this.field.whole ? this.field.under({ x: (ev.clientX - box.left - v.x) / v.k, y: (ev.clientY - box.top - v.y) / v.k }, m.nodes.length) : -1;
    return m && i >= 0 ? m.nodes[i].id : null;
  }
}

/** swing is a line between bands, which leaves and enters level with the rows. @param {Point} a @param {Point} b @param {"LR"|"TB"} dir */
function swing(a, b, dir) {
  /** @param {number} x @param {number} y */
  const s = (x, y) => x.toFixed(1) + " " + y.toFixed(1);
  const [dx, dy] = dir === "TB" ? [60, 0] : [0, 60];
  return "M" + s(a.x, a.y) + "C" + s(a.x + dx, a.y + dy) + " " + s(b.x - dx, b.y - dy) + " " + s(b.x, b.y);
}

/** pill is a small number on a node. @param {number} x @param {number} y @param {string} text @param {string} cls */
function pill(x, y, text, cls) {
  const w = Math.max(16, textWidth(text, 12, true) + 9);
  return svg("g", { class: "gn-pill " + cls }, svg("rect", { x: x - w / 2, y: y - 7.5, width: w, height: 15, rx: 7.5 }), svg("text", { x, y: y + 3.6 }, text));
}

/** verdictLines is the verdict of a step, in lines that are not wide. @param {GraphNode} n */
function verdictLines(n) {
  return n.verdict ? wrapText(statusInfo(n.verdict).label, 110, 12, 2, true) : [];
}

/** verdictWidth is how wide it is, with its icon. @param {GraphNode} n */
function verdictWidth(n) {
  return Math.max(...verdictLines(n).map((t) => textWidth(t, 12, true))) + 24;
}
