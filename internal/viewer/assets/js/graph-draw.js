// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// How the graph is drawn: circles for spans, rectangles for entities, and lines between them.

/** GraphDrawing draws a GraphModel into a Canvas. */
class GraphDrawing {
  /** @param {Canvas} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.field = new Field(canvas);
    /** @type {GraphModel} */
    this.model = { nodes: [], edges: [], byId: new Map(), nodeOf: new Map() };
    /** @type {Map<string, Rect>} */ this.rects = new Map();
    /** The index of the item of a node. @type {Map<string, number>} */
    this.indexOf = new Map();
    this.labels = svg("g", { class: "ge-labels", "aria-hidden": "true" });
    /** Whether rows follow each other downwards, or to the right. */
    this.down = true;
    this.edgeAt = -1;
    /** @type {string|null} */ this.nodeAt = null;
    /** The edges that are named. @type {number[]} */
    this.named = [];
    /** @type {{order: Map<string, number>, edges: Set<string>}|null} */ this.paths = null;
    /** What is highlighted, to tell when that changes. */
    this.lit = "";
    this.none = h("div", { class: "gv-none", hidden: true }, empty("graph", "Nothing to draw",
      "No step was recorded, or all of them are hidden in the legend."));
    canvas.root.append(this.none);
    canvas.svg.prepend(svg("defs", {}, Object.keys(EDGE_KINDS).map((k) => {
      const head = svg("path", { class: "ge-head ge-head-" + k, d: "M0 0.500 8 4 0 7.500Z" });
      return arrowHead("gm-" + k, 8, 7, "auto-start-reverse", head);
    })));
    /** @param {Event} ev */ const over = (ev) => {
      const el = ev.target instanceof Element ? ev.target.closest("[data-stop], [data-edge]")
        : null;
      if (!el) this.name(this.nodeAt, this.edgeAt);
      else this.name(el.getAttribute("data-stop"), Number(el.getAttribute("data-edge") || -1));
    };
    canvas.svg.addEventListener("pointerover", over);
    canvas.svg.addEventListener("focusin", over);
    canvas.svg.addEventListener("pointerleave", () => this.name(this.nodeAt, this.edgeAt));
  }

  /** @param {GraphModel} m @param {boolean} down @param {boolean} keep */
  show(m, down, keep) {
    this.model = m;
    this.down = down;
    this.canvas.measure();
    if (!keep) this.lit = "";
    const boxes = m.nodes.map((n) => this.box(n)), things = boxes.filter((b) => b.lane === THINGS);
    // Under each other entities are of one width.
    const width = Math.max(0, ...things.map((b) => b.across));
    if (down) for (const b of things) b.across = width;
    // A number stands before the lane that its line leads into.
    const laneOf = new Map(boxes.map((b) => [b.id, b.lane]));
    const numbered = new Set(m.edges.filter((e) => e.edges.length > 1)
      .map((e) => laneOf.get(e.to)));
    const heads = [0, 1, 2, 3, 4].map((lane) => (numbered.has(lane) ? 34 : 14));
    const board = boardRows(boxes, besideOf(m), heads);
    // A way there and back is one line with two heads.
    const known = new Set(m.edges.map(edgeKey)), quiet = quietEdges(m);
    const twin = (/** @type {GraphEdge} */ e) =>
      known.has(edgeKey({ ...e, from: e.to, to: e.from }));
    const links = m.edges.map((e) =>
      ({ from: e.from, to: e.to, kind: e.kind, quiet: quiet.has(e) }));
    const routes = planRoutes(board, links);
    routes.forEach((r, i) => {
      // Lines over many turns to what was seen in one of them would hide everything else.
      const far = isLink(links[i].kind) || Math.abs(r.from.column - r.to.column) > 1;
      if ((r.way === "far" && far) || (r.back && twin(m.edges[i]))) links[i].quiet = true;
    });
    const tracks = assignTracks(routes, links);
    placeBoard(board, tracks.counts, down ? 110 : 480);
    /** @param {Place} p */
    const point = ({ a, c }) => (down ? { x: c, y: a } : { x: a, y: c });
    /** @param {Place & {along: number, across: number}} p */
    const rect = (p) => ({ ...point(p), w: down ? p.across : p.along,
      h: down ? p.along : p.across });

    const nodes = svg("g", { role: "group", "aria-label": plural(m.nodes.length, "node") });
    const edges = svg("g", { class: "ges", "aria-hidden": "true" });
    this.rects = new Map();
    this.indexOf = new Map(m.nodes.map((n, i) => [n.id, i]));
    const items = m.nodes.map((n) => {
      const p = sure(board.at.get(n.id)), r = rect({ ...p, ...p.box });
      const c = point(centreOf(p)), size = NODE_R * 2;
      this.rects.set(n.id, r);
      const dot = n.entity ? r : { x: c.x - NODE_R, y: c.y - NODE_R, w: size, h: size };
      const cls = "cv-dot " + (n.entity ? typeClass(n.kind) : kindClass(n.kind));
      return /** @type {Piece} */ ({ rect: r, layer: nodes, cls, d: rectPath(dot),
        make: () => this.node(n, c, r) });
    });
    m.edges.forEach((e, i) => {
      const p = routePoints(board, routes[i], tracks.track).map(point);
      const d = routes[i].way === "far" ? swing(p[0], p[1], down) : corners(p);
      items.push({ rect: around(p), layer: edges, cls: "ge ge-" + e.kind, d, quiet: links[i].quiet,
        make: () => this.edge(e, i, d, p, !routes[i].back && twin(e)) });
    });
    const bands = board.bands.length < 2 ? [] : board.bands.map((b) => {
      const text = turnName(b.group) + (b.more ? ", continued" : "");
      return band("gband", rect(b), 10, down ? { x: 44, y: 17 } : { x: 4, y: -6 }, text);
    });
    this.canvas.world.replaceChildren(...bands, this.field.dots, edges, nodes, this.labels);
    this.labels.replaceChildren();
    this.named = [];
    this.none.hidden = m.nodes.length > 0;
    this.field.show(items);
    const bounds = rect({ a: -4, c: down ? 0 : -20, along: board.along + 8,
      across: board.across + (down ? 0 : 24) });
    const marks = items.slice(0, m.nodes.length).map((it) => ({ ...it.rect, cls: it.cls }));
    this.canvas.show(bounds, marks, keep);
    // What informs comes before what contains: it is the better answer to "and before that?".
    const order = [["informs", "resumes"], ["contains"], ["evaluated"], ["named"]];
    return stopsOf(this.field, m.nodes.map((n) => n.id), items, m.edges, order);
  }

  /** box is how much room a node needs. @param {GraphNode} n */
  box(n) {
    if (n.entity) {
      const text = foundText(n.found);
      const w = Math.max(textWidth(clip(n.label, 60), 12, true), textWidth(clip(n.sub, 40), 12),
        textWidth(text, 12, true));
      return this.boxOf(n, THINGS, Math.min(236, Math.max(92, w + 42)), text ? 54 : 38);
    }
    const lane = LANES[n.kind] ?? 2, names = this.namesOf(n);
    const name = Math.max(...names.map((t) => textWidth(t, 12)));
    const size = NODE_R * 2, below = n.verdict ? verdictWidth(n) : textWidth(n.sub, 12);
    if (this.down) {
      return this.boxOf(n, lane, size + 14 + Math.min(Math.max(name, below), this.most(n)),
        size + 4);
    }
    const said = verdictLines(n).length;
    return this.boxOf(n, lane, Math.max(size, name, said && below) + 8,
      size + 8 + 14 * names.length + (said && 6 + 13 * said));
  }

  /** @param {GraphNode} n @param {number} lane @param {number} w @param {number} high */
  boxOf(n, lane, w, high) {
    const [along, across] = this.down ? [high, w] : [w, high];
    return { id: n.id, group: n.turn, lane, along, across };
  }

  /** most is how wide the name of a step may be: where there is little room, a message is cut
   * first. @param {GraphNode} n */
  most(n) {
    if (window.innerWidth < 600) return 130;
    return this.canvas.size.w < 1060 && n.kind === "user" ? 94 : 200;
  }

  /** namesOf is the name of a step beside it, or in lines under it, as far as there is room.
   * @param {GraphNode} n */
  namesOf(n) {
    return this.down ? [fitText(n.label, this.most(n), 12)] : wrapText(n.label, 112, 12, 2);
  }

  /** @param {GraphNode} n @param {Point} c @param {Rect} r */
  node(n, c, r) {
    const name = graphNodeName(n);
    const cls = "gn " + (n.entity ? "gn-entity " + typeClass(n.kind) : kindClass(n.kind))
      + (n.left ? " left" : "");
    const g = svg("g", { class: cls, "data-stop": n.id, role: "button", "aria-label": name,
      tabindex: "-1" }, svg("title", {}, name), n.entity ? this.entity(n, r) : this.step(n, c));
    this.dress(n.id, g);
    return g;
  }

  /** @param {GraphNode} n @param {Rect} r */
  entity(n, r) {
    const text = foundText(n.found), x = r.x + 33, room = r.w - 39;
    const found = n.found && text ? outcomeOf(n.found.outcome) : null;
    return [
      svg("rect", { class: "gn-ring", ...boxAround(r, 4), rx: 10 }),
      svg("rect", { class: "gn-shape", ...boxAround(r, 0), rx: 6 }),
      svg("g", { class: "gn-pill gn-tag" },
        svg("rect", { x: r.x + 7, y: r.y + 8, width: 20, height: 20, rx: 4 }),
        svg("text", { x: r.x + 17, y: r.y + 22 }, typeLook(n.kind).tag)),
      svg("text", { class: "gn-value gn-left", x, y: r.y + 16 }, fitText(n.label, room, 12, true)),
      svg("text", { class: "gn-type gn-left", x, y: r.y + 30 }, fitText(n.sub, room, 12)),
      found && svg("g", { class: "gn-found tone-" + found.tone },
        svg("rect", { class: "gn-change", ...boxAround(r, 2.5), rx: 8 }),
        drawnIcon(found.icon, r.x + 10.5, r.y + 34, 0.84),
        svg("text", { class: "gn-turned gn-left", x, y: r.y + 46 }, fitText(text, room, 12, true))),
    ];
  }

  /** @param {GraphNode} n @param {Point} c */
  step(n, c) {
    const at = { cx: c.x, cy: c.y }, { down } = this, names = this.namesOf(n);
    const s = n.verdict ? statusInfo(n.verdict) : null, said = verdictLines(n);
    const x = down ? c.x + NODE_R + 7 : c.x, y = down ? c.y - 2 : c.y + NODE_R + 14;
    const left = s && !down ? c.x - verdictWidth(n) / 2 : x, top = y + 14 * names.length - 10;
    return [
      svg("circle", { class: "gn-ring", ...at, r: NODE_R + 4 }),
      svg("circle", { class: "gn-shape", ...at, r: NODE_R }),
      // The check has a mark of its own beside its colour, so has what asks a human.
      n.kind === "check" && svg("circle", { class: "gn-second gn-dashed", ...at, r: NODE_R - 3 }),
      n.kind === "hitl" && svg("circle", { class: "gn-second", ...at, r: NODE_R - 3 }),
      drawnIcon(classOf(n.kind).icon, c.x - 6.8, c.y - 6.8, 0.85),
      names.map((t, i) =>
        svg("text", { class: "gn-label" + (down ? " gn-left" : ""), x, y: y + 14 * i }, t)),
      s && svg("g", { class: "gn-verdict tone-" + s.tone },
        svg("rect", { x: left, y: top, width: verdictWidth(n), height: 3 + 13 * said.length,
          rx: 8 }),
        drawnIcon(s.icon, left + 5, top + 2.5, 0.69),
        said.map((t, i) =>
          svg("text", { class: "gn-left", x: left + 18, y: top + 12 + 13 * i }, t))),
      !s && down && svg("text", { class: "gn-sub gn-left", x, y: c.y + 12 },
        fitText(n.sub, this.most(n), 12)),
      n.spans.length > 1
        && pill(c.x - NODE_R + 2, c.y - NODE_R + 1, "×" + n.spans.length, "gn-count"),
      n.errors > 0 && pill(c.x + NODE_R - 3, c.y + NODE_R - 4, "!", "gn-error"),
    ];
  }

  /** edge is a line, with its number where it stands for several. @param {GraphEdge} e
   * @param {number} i @param {string} d @param {Point[]} p @param {boolean} both whether it has
   * a head at both ends */
  edge(e, i, d, p, both) {
    const times = e.edges.length > 1 ? "×" + e.edges.length : "", head = "url(#gm-" + e.kind + ")";
    const end = p[p.length - 1], before = p[p.length - 2];
    const level = Math.abs(end.y - before.y) < 1, right = level && end.x > before.x;
    const dx = right ? -9 : 9;
    const count = { class: "ge-count", "text-anchor": right ? "end" : "start",
      x: end.x + (level ? dx : 4), y: end.y + (level ? 13 : -9) };
    const label = (/** @type {string} */ id) => sure(this.model.byId.get(id)).label;
    const g = svg("g", { class: "geg ge-k-" + e.kind, "data-edge": i },
      svg("path", { class: "ge-hit", d }),
      svg("path", { class: "ge ge-" + e.kind, d, "marker-end": head, "marker-start": both
        && head }),
      times && svg("text", count, times),
      svg("title", {}, label(e.from) + " " + e.kind + " " + label(e.to)
        + (times && " × " + e.edges.length)));
    this.dressEdge(i, g);
    g.classList.toggle("near", this.named.includes(i));
    return g;
  }

  /** dress marks the element of a node by what is selected and highlighted. @param {string} id
   * @param {SVGElement} el */
  dress(id, el) {
    const order = this.paths?.order.get(id), r = sure(this.rects.get(id));
    el.classList.toggle("on", !!order);
    el.classList.toggle("sel", id === this.nodeAt);
    if (id === this.nodeAt) el.setAttribute("aria-current", "true");
    else el.removeAttribute("aria-current");
    el.querySelector(".gn-order")?.remove();
    if (order) el.append(pill(r.x + 4, r.y + 3, String(order), "gn-order"));
  }

  /** dressEdge does the same for an edge. @param {number} i @param {SVGElement} el */
  dressEdge(i, el) {
    el.classList.toggle("on", !!this.paths?.edges.has(edgeKey(this.model.edges[i])));
    el.classList.toggle("sel", i === this.edgeAt);
  }

  /** pin keeps the lines that are marked. */
  pin() {
    const { nodes, edges } = this.model, on = this.paths?.edges;
    const pins = new Set(this.named);
    if (this.edgeAt >= 0) pins.add(this.edgeAt);
    if (on) edges.forEach((e, i) => on.has(edgeKey(e)) && pins.add(i));
    this.field.pin(new Set([...pins].map((i) => nodes.length + i)));
  }

  /** @param {{order: Map<string, number>, edges: Set<string>}|null} paths null ends it */
  highlight(paths) {
    this.canvas.root.classList.toggle("cv-why", paths !== null);
    const was = this.lit, ids = paths ? [...paths.order.keys()] : [];
    this.lit = ids.join();
    this.paths = paths;
    this.mark();
    const all = ids.flatMap((id) => this.rects.get(id) || []);
    if (all.length > 0 && this.lit !== was) this.canvas.frame(around(all.flatMap(cornersOf)));
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
    const { nodes } = this.model;
    this.pin();
    for (const [i, el] of this.field.made) {
      if (i < nodes.length) this.dress(nodes[i].id, el);
      else this.dressEdge(i - nodes.length, el);
    }
  }

  /** name marks the edges of a node, or one edge, and says of what kind they are.
   * @param {string|null} node @param {number} edge */
  name(node, edge) {
    const { edges, nodes } = this.model, first = nodes.length;
    for (const i of this.named) this.field.made.get(first + i)?.classList.remove("near");
    const touching = edges.flatMap((e, i) => (e.from === node || e.to === node ? i : []));
    this.named = edge >= 0 ? [edge] : touching.slice(0, 200);
    this.pin();
    this.labels.replaceChildren();
    for (const i of this.named) {
      const line = this.field.at(first + i), path = line.querySelector("path"), e = edges[i];
      line.classList.add("near");
      if (!path || this.named.length > 12) continue;
      const p = path.getPointAtLength(path.getTotalLength() / 2);
      const times = e.edges.length > 1 ? " ×" + e.edges.length : "";
      this.labels.append(svg("text", { class: "ge-label", x: p.x, y: p.y + 3.5 }, e.kind + times));
    }
  }

  /** @param {string} id */
  reveal(id) {
    const r = this.rects.get(id);
    if (r) this.canvas.reveal(r);
  }

  /** under is the node at a place in the window, where dots stand for the nodes.
   * @param {MouseEvent} ev */
  under(ev) {
    const p = within(ev, this.canvas.svg), v = this.canvas.view, { nodes } = this.model;
    if (this.field.whole) return null;
    const at = { x: (p.x - v.x) / v.k, y: (p.y - v.y) / v.k };
    return nodes[this.field.under(at, nodes.length)]?.id || null;
  }
}

/** stopsOf are the stops of the items of a drawing, by what leads to each and where it leads.
 * Edges of the kinds that come first are the first choices. @param {Field} field
 * @param {string[]} ids of the first items @param {Piece[]} items
 * @param {{from: string, to: string, kind: string}[]} edges @param {string[][]} order */
function stopsOf(field, ids, items, edges, order) {
  /** @type {Map<string, Stop>} */ const stops = new Map();
  ids.forEach((id, i) => {
    stops.set(id, { get el() { return field.at(i); }, rect: items[i].rect, prev: [], next: [] });
  });
  for (const kinds of order) {
    for (const e of edges) {
      const a = stops.get(e.from), b = stops.get(e.to);
      if (!a || !b || !kinds.includes(e.kind)) continue;
      if (!a.next.includes(e.to)) a.next.push(e.to);
      if (!b.prev.includes(e.from)) b.prev.push(e.from);
    }
  }
  return stops;
}

/** arrowHead is the head of lines. @param {string} id @param {number} size @param {number} refX
 * @param {string} orient @param {SVGElement} path */
function arrowHead(id, size, refX, orient, path) {
  return svg("marker", { id, viewBox: "0 0 8 8", refX, refY: 4, markerWidth: size,
    markerHeight: size, markerUnits: "userSpaceOnUse", orient }, path);
}

/** band is a box behind what belongs together, with a title. @param {string} cls @param {Rect} r
 * @param {number} rx @param {Point} title where it stands in the box @param {string} text */
function band(cls, r, rx, title, text) {
  return svg("g", { class: cls, "aria-hidden": "true" }, svg("rect", { ...boxAround(r, 0), rx }),
    svg("text", { x: r.x + title.x, y: r.y + title.y }, text));
}

/** boxAround has the attributes of a box around another. @param {Rect} r @param {number} by */
function boxAround(r, by) {
  return { x: r.x - by, y: r.y - by, width: r.w + 2 * by, height: r.h + 2 * by };
}

/** cornersOf are two corners of a box. @param {Rect} r */
function cornersOf(r) {
  return [{ x: r.x, y: r.y }, { x: r.x + r.w, y: r.y + r.h }];
}

/** drawnIcon is an icon in a drawing. @param {IconName} name @param {number} x @param {number} y
 * @param {number} scale */
function drawnIcon(name, x, y, scale) {
  const transform = "translate(" + x + " " + y + ") scale(" + scale + ")";
  return svg("path", { class: "gn-icon", d: ICONS[name], transform });
}

/** swing is a line between bands, which leaves and enters along the rows. @param {Point} a
 * @param {Point} b @param {boolean} down */
function swing(a, b, down) {
  const [x, y] = down ? [60, 0] : [0, 60];
  return "M" + pointText(a.x, a.y) + "C" + pointText(a.x + x, a.y + y) + " "
    + pointText(b.x - x, b.y - y) + " " + pointText(b.x, b.y);
}

/** pill is a small number on a node. @param {number} x @param {number} y @param {string} text
 * @param {string} cls */
function pill(x, y, text, cls) {
  const width = Math.max(16, textWidth(text, 12, true) + 9);
  return svg("g", { class: "gn-pill " + cls },
    svg("rect", { x: x - width / 2, y: y - 7.5, width, height: 15, rx: 7.5 }),
    svg("text", { x, y: y + 3.6 }, text));
}

/** verdictLines is the verdict of a step, in lines that are not wide. @param {GraphNode} n */
function verdictLines(n) {
  return n.verdict ? wrapText(statusInfo(n.verdict).label, 110, 12, 2, true) : [];
}

/** verdictWidth is how wide it is, with its icon. @param {GraphNode} n */
function verdictWidth(n) {
  return Math.max(...verdictLines(n).map((t) => textWidth(t, 12, true))) + 24;
}
