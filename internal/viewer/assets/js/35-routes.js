// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// Where the lines of the graph run: between lanes and between rows, where nothing stands. Lines of
// one kind out of one step share their way, and part where they must.

/**
 * @typedef {{from: string, to: string, kind: string, quiet: boolean}} Link a quiet link takes no room
 * @typedef {"straight"|"drop"|"side"|"turn"|"loop"|"far"} Way
 * @typedef {object} Route
 * @property {Way} way
 * @property {boolean} back it leads from its end to its beginning
 * @property {boolean} free whether nothing stands between the step and the lane of the other end
 * @property {Placed} from
 * @property {Placed} to
 * @property {string} share lines with the same share run together
 */

/** The radius of a step. */
const NODE_R = 14;

/** No more lines than these run beside each other; more run on each other. */
const MOST_LINES = 7;

/** planRoutes chooses the way of each link. @param {Board} b @param {Link[]} links @returns {Route[]} */
function planRoutes(b, links) {
  /** The row of the step before in the same lane of the same column. @type {Map<string, number>} */
  const before = new Map();
  /** @type {Map<string, number>} */
  const last = new Map();
  for (const r of b.rows) {
    for (const x of r.cells) {
      const key = laneKey(r.column, x.lane);
      before.set(x.id, last.has(key) ? /** @type {number} */ (last.get(key)) : -1);
      last.set(key, r.index);
    }
  }
  return links.map((l) => {
    let from = /** @type {Placed} */ (b.at.get(l.from)), to = /** @type {Placed} */ (b.at.get(l.to));
    const back = to.row < from.row && to.box.lane !== THINGS || (to.row === from.row && to.box.lane < from.box.lane);
    if (back) [from, to] = [to, from];
    const la = from.box.lane, lb = to.box.lane;
    const free = !b.rows[from.row].cells.some((x) => x.lane > la && x.lane < lb);
    /** @type {Way} */
    let way = "loop";
    if (from.column !== to.column) way = "far";
    else if (lb > la) way = from.row === to.row && free && lb !== THINGS ? "straight" : "side";
    else if (la === lb && before.get(to.box.id) === from.row) way = "drop";
    else if (to.row === from.row + 1) way = "turn";
    return { way, back, free, from, to, share: (back ? "to " + l.to : l.from) + " " + l.kind };
  });
}

/**
 * assignTracks puts lines that would lie on each other beside each other.
 * @param {Route[]} routes @param {Link[]} links
 * @returns {{counts: Map<string, number>, track: (key: string, share: string) => number}}
 */
function assignTracks(routes, links) {
  /** @type {Map<string, Map<string, [number, number]>>} */
  const uses = new Map();
  /** @param {string} key @param {string} share @param {number} lo @param {number} hi */
  const use = (key, share, lo, hi) => {
    const of = uses.get(key) || new Map();
    uses.set(key, of);
    const was = of.get(share);
    of.set(share, was ? [Math.min(was[0], lo), Math.max(was[1], hi)] : [lo, hi]);
  };
  routes.forEach((r, i) => {
    if (links[i].quiet) return;
    const la = r.from.box.lane, lb = r.to.box.lane, ra = r.from.row, rb = r.to.row;
    if (r.way === "side") {
      use(laneKey(r.to.column, lb), r.share, Math.min(ra, rb), Math.max(ra, rb) + (lb === THINGS ? 2 : 0));
      if (!r.free) use(gapKey(ra), r.share, la, lb - 0.5);
    } else if (r.way === "turn") use(gapKey(ra), r.share, Math.min(la, lb), Math.max(la, lb));
    else if (r.way === "loop") {
      use(laneKey(r.to.column, lb), r.share, ra, rb);
      use(gapKey(ra), r.share, lb - 0.5, la);
      use(gapKey(rb - 1), r.share, lb - 0.5, lb);
    }
  });
  /** @type {Map<string, number>} */
  const counts = new Map(), tracks = new Map();
  for (const [key, of] of uses) {
    /** @type {number[]} */
    const ends = [];
    for (const [share, [lo, hi]] of [...of].sort((x, y) => x[1][0] - y[1][0])) {
      let t = ends.findIndex((end) => end < lo);
      if (t < 0) t = ends.length < MOST_LINES ? ends.length : MOST_LINES - 1;
      ends[t] = Math.max(hi, ends[t] || 0);
      tracks.set(key + "\n" + share, t);
    }
    counts.set(key, ends.length);
  }
  return { counts, track: (key, share) => tracks.get(key + "\n" + share) || 0 };
}

/**
 * routePoints are the corners of a line, both ends among them. A line across columns has its ends only.
 * @param {Board} b @param {Route} r @param {(key: string, share: string) => number} track @returns {Place[]}
 */
function routePoints(b, r, track) {
  const A = ports(r.from, r.back ? 5 : 0), B = ports(r.to, r.back ? 5 : 0);
  const lb = r.to.box.lane, key = laneKey(r.to.column, lb);
  /** @param {number} row */
  const gap = (row) => b.rows[row].a + b.rows[row].along + 10 + GAPS.line * track(gapKey(row), r.share);
  const c = (b.lanes.get(key) || 0) - b.heads[lb] - GAPS.line * track(key, r.share);
  /** @type {Place[]} */
  let p;
  switch (r.way) {
    case "far":
    case "straight":
      p = [A.out, B.in];
      break;
    case "drop":
      p = [A.end, B.begin];
      break;
    case "side":
      p = r.free ? [A.out, { a: A.out.a, c }] : [A.end, { a: gap(r.from.row), c: A.end.c }, { a: gap(r.from.row), c }];
      p.push({ a: B.in.a, c }, B.in);
      break;
    case "turn":
      p = [A.end, { a: gap(r.from.row), c: A.end.c }, { a: gap(r.from.row), c: B.begin.c }, B.begin];
      break;
    case "loop":
      p = [A.end, { a: gap(r.from.row), c: A.end.c }, { a: gap(r.from.row), c }, { a: gap(r.to.row - 1), c }, { a: gap(r.to.row - 1), c: B.begin.c }, B.begin];
      break;
  }
  return r.back ? p.reverse() : p;
}

/** centreOf is the middle of what an edge ends at. @param {Placed} p @returns {Place} */
function centreOf(p) {
  return { a: p.a + p.box.along / 2, c: p.box.lane === THINGS ? p.c + p.box.across / 2 : p.c + NODE_R + 3 };
}

/** ports are where lines leave and enter a box. @param {Placed} p @param {number} shift along */
function ports(p, shift) {
  const m = centreOf(p);
  return {
    in: { a: m.a + shift, c: p.box.lane === THINGS ? p.c - 3 : m.c - NODE_R - 3 },
    out: { a: m.a + shift, c: p.c + p.box.across + 3 },
    begin: { a: m.a - NODE_R - 3, c: m.c },
    end: { a: m.a + NODE_R + 1, c: m.c },
  };
}

/** corners is a path through points with round corners. @param {Point[]} p */
function corners(p) {
  /** @param {number} x @param {number} y */
  const s = (x, y) => x.toFixed(1) + " " + y.toFixed(1);
  let d = "M" + s(p[0].x, p[0].y);
  for (let i = 1; i < p.length - 1; i++) {
    const a = p[i - 1], b = p[i], c = p[i + 1];
    const la = Math.hypot(b.x - a.x, b.y - a.y), lc = Math.hypot(c.x - b.x, c.y - b.y);
    const r = Math.min(8, la / 2, lc / 2);
    if (r < 0.5) continue;
    d += "L" + s(b.x + ((a.x - b.x) * r) / la, b.y + ((a.y - b.y) * r) / la) + "Q" + s(b.x, b.y) + " " + s(b.x + ((c.x - b.x) * r) / lc, b.y + ((c.y - b.y) * r) / lc);
  }
  const end = p[p.length - 1];
  return d + "L" + s(end.x, end.y);
}
