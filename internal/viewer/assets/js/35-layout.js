// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// Layered layout: dagre for what people look at as a whole, and a layout of our own, which is
// linear and puts each turn into a band of its own, for what is too much for dagre.

/**
 * @typedef {{id: string, w: number, h: number, group: number}} Box
 * @typedef {{from: string, to: string, weight: number, loose?: boolean}} Link a loose link is drawn and not laid out
 * @typedef {{dir: "LR"|"TB", node: number, rank: number}} LayoutOptions
 * @typedef {{group: number, rect: Rect}} Band
 * @typedef {{at: Map<string, Point>, lines: Point[][], bands: Band[], bounds: Rect, engine: "dagre"|"bands"}} Drawing
 */

/** Above so many nodes dagre takes longer than people wait. */
const DAGRE_NODES = 160;
const DAGRE_LINKS = 420;

/**
 * layered places boxes so that links lead along the direction. Lines hold the points between
 * both ends, without the ends, by the index of the link.
 * @param {Box[]} boxes @param {Link[]} links @param {LayoutOptions} o @returns {Drawing}
 */
function layered(boxes, links, o) {
  if (boxes.length === 0) return { at: new Map(), lines: [], bands: [], bounds: { x: 0, y: 0, w: 1, h: 1 }, engine: "dagre" };
  const firm = links.filter((l) => !l.loose).length;
  if (boxes.length <= DAGRE_NODES && firm <= DAGRE_LINKS) return byDagre(boxes, links, o);
  return byBands(boxes, links, o);
}

/** @param {Box[]} boxes @param {Link[]} links @param {LayoutOptions} o @returns {Drawing} */
function byDagre(boxes, links, o) {
  // A script of its own before this one, see vendor.
  const dagre = /** @type {any} */ (window).dagre;
  const g = new dagre.graphlib.Graph({ multigraph: true });
  g.setGraph({ rankdir: o.dir, nodesep: o.node, edgesep: 10, ranksep: o.rank, marginx: 12, marginy: 12 });
  for (const b of boxes) g.setNode(b.id, { width: b.w, height: b.h });
  links.forEach((l, i) => {
    if (!l.loose) g.setEdge(l.from, l.to, { weight: l.weight }, "e" + i);
  });
  dagre.layout(g);
  /** @type {Map<string, Point>} */
  const at = new Map();
  for (const b of boxes) {
    const n = g.node(b.id);
    at.set(b.id, { x: n.x, y: n.y });
  }
  const lines = links.map((l, i) => (l.loose ? [] : (g.edge(l.from, l.to, "e" + i).points || []).slice(1, -1)));
  const all = g.graph();
  return { at, lines, bands: [], bounds: { x: 0, y: 0, w: all.width || 1, h: all.height || 1 }, engine: "dagre" };
}

/** @param {Box[]} boxes @param {Link[]} links @param {LayoutOptions} o @returns {Drawing} */
function byBands(boxes, links, o) {
  /** @type {Map<number, Box[]>} */
  const groups = new Map();
  for (const b of boxes) {
    const g = groups.get(b.group);
    if (g) g.push(b);
    else groups.set(b.group, [b]);
  }
  /** @type {Map<string, Point>} */
  const at = new Map();
  /** @type {Band[]} */
  const bands = [];
  const groupOf = new Map(boxes.map((b) => [b.id, b.group]));
  /** @type {Map<number, Link[]>} */
  const within = new Map();
  for (const l of links) {
    const g = groupOf.get(l.from);
    if (l.loose || g === undefined || g !== groupOf.get(l.to)) continue;
    const list = within.get(g);
    if (list) list.push(l);
    else within.set(g, [l]);
  }
  const lr = o.dir === "LR";
  let cross = 0, main = 0;
  for (const [group, list] of [...groups].sort((a, b) => a[0] - b[0])) {
    const one = layers(list, within.get(group) || [], o);
    const pad = 30;
    for (const [id, p] of one.at) at.set(id, lr ? { x: p.main + 16, y: p.cross + cross + pad } : { x: p.cross + cross + pad, y: p.main + pad });
    const size = one.cross + pad + 10;
    bands.push({ group, rect: lr ? { x: 0, y: cross, w: one.main + 32, h: size } : { x: cross, y: 0, w: size + 20, h: one.main + pad + 10 } });
    cross += size + (lr ? 14 : 34);
    main = Math.max(main, one.main + pad + 10);
  }
  for (const b of bands) {
    if (lr) b.rect.w = main;
    else b.rect.h = main;
  }
  return { at, lines: links.map(() => []), bands, bounds: lr ? { x: 0, y: 0, w: main, h: cross } : { x: 0, y: 0, w: cross, h: main }, engine: "bands" };
}

/**
 * layers ranks by the longest path, orders each rank by where its predecessors are, and keeps
 * what follows alone straight. Boxes must come in the order of time: a link backwards in it
 * ranks nothing.
 * @param {Box[]} boxes @param {Link[]} links @param {LayoutOptions} o
 */
function layers(boxes, links, o) {
  const lr = o.dir === "LR";
  const index = new Map(boxes.map((b, i) => [b.id, i]));
  /** @type {number[][]} */
  const preds = boxes.map(() => []);
  for (const l of links) {
    const a = /** @type {number} */ (index.get(l.from)), b = /** @type {number} */ (index.get(l.to));
    if (a < b) preds[b].push(a);
  }
  const rank = boxes.map(() => 0);
  /** @type {number[][]} */
  const ranks = [];
  boxes.forEach((_, i) => {
    for (const p of preds[i]) rank[i] = Math.max(rank[i], rank[p] + 1);
    (ranks[rank[i]] = ranks[rank[i]] || []).push(i);
  });
  /** @type {number[]} */
  const cross = [];
  /** @type {Map<string, {main: number, cross: number}>} */
  const at = new Map();
  let main = 0, most = 0;
  for (const row of ranks) {
    /** @param {number} i */
    const wish = (i) => {
      const near = preds[i].filter((p) => rank[p] === rank[i] - 1);
      const from = near.length > 0 ? near : preds[i];
      return from.length === 0 ? 0 : from.reduce((s, p) => s + cross[p], 0) / from.length;
    };
    const order = row.map((i) => ({ i, wish: wish(i) })).sort((a, b) => a.wish - b.wish || a.i - b.i);
    let free = 0, deep = 0;
    for (const { i, wish: w } of order) {
      const size = lr ? boxes[i].h : boxes[i].w;
      cross[i] = Math.max(free + size / 2, w);
      free = cross[i] + size / 2 + o.node;
      deep = Math.max(deep, lr ? boxes[i].w : boxes[i].h);
    }
    for (const { i } of order) at.set(boxes[i].id, { main: main + deep / 2, cross: cross[i] });
    most = Math.max(most, free - o.node);
    main += deep + o.rank;
  }
  return { at, main: Math.max(1, main - o.rank), cross: Math.max(1, most) };
}

/**
 * curve is the path of a line through points, smooth, without loops.
 * @param {Point[]} p @param {"LR"|"TB"} dir
 */
function curve(p, dir) {
  /** @param {number} n */
  const r = (n) => n.toFixed(1);
  /** @param {Point} q */
  const s = (q) => r(q.x) + " " + r(q.y);
  let d = "M" + s(p[0]);
  if (p.length === 2) {
    const [a, b] = p;
    const along = dir === "LR" ? b.x - a.x : b.y - a.y, across = dir === "LR" ? b.y - a.y : b.x - a.x;
    if (Math.abs(across) < 2 && along > 0) return d + "L" + s(b);
    // A line back, or across bands, swings out, so that it is told from those that lead on.
    const pull = along > 0 ? Math.min(along / 2, 60 + Math.abs(across) / 4) : 50;
    return dir === "LR"
      ? d + "C" + r(a.x + pull) + " " + r(a.y) + " " + r(b.x - pull) + " " + r(b.y) + " " + s(b)
      : d + "C" + r(a.x) + " " + r(a.y + pull) + " " + r(b.x) + " " + r(b.y - pull) + " " + s(b);
  }
  for (let i = 1; i < p.length - 1; i++) {
    const end = i === p.length - 2 ? p[i + 1] : { x: (p[i].x + p[i + 1].x) / 2, y: (p[i].y + p[i + 1].y) / 2 };
    d += "Q" + s(p[i]) + " " + s(end);
  }
  return d;
}

/** onCircle is where the line from the centre to a point leaves a circle. @param {Point} c @param {number} r @param {Point} to */
function onCircle(c, r, to) {
  const d = Math.hypot(to.x - c.x, to.y - c.y) || 1;
  return { x: c.x + ((to.x - c.x) * r) / d, y: c.y + ((to.y - c.y) * r) / d };
}

/** onRect is the same for a rectangle. @param {Point} c @param {number} w @param {number} hgt @param {Point} to */
function onRect(c, w, hgt, to) {
  const dx = to.x - c.x, dy = to.y - c.y;
  if (dx === 0 && dy === 0) return { ...c };
  const k = Math.min(dx === 0 ? Infinity : w / 2 / Math.abs(dx), dy === 0 ? Infinity : hgt / 2 / Math.abs(dy));
  return { x: c.x + dx * k, y: c.y + dy * k };
}

/** wrapName breaks a name of a tool into at most two lines. @param {string} name @param {number} max @returns {string[]} */
function wrapName(name, max) {
  if (name.length <= max) return [name];
  let cut = -1;
  for (let i = 3; i <= max; i++) if (/[_\-./ :]/.test(name[i - 1])) cut = i;
  if (cut < 0) cut = max;
  const rest = name.slice(cut).trimStart();
  return [name.slice(0, cut).trimEnd(), rest.length > max ? rest.slice(0, max - 1) + "…" : rest];
}
