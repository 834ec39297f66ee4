// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Where the nodes of the graph stand. Steps stand in rows in the order of time, each in the lane
// of its kind: who acts, what the model decided, the tools, what guards them, and at the end the
// entities beside the steps that showed them. So the eye reads a session downwards, and the width
// is used. It takes time in proportion to the number of nodes.
//
// Along is the direction in which rows follow each other, across the one of the lanes: down and to
// the right, or to the right and down.

/** The lane of entities is behind the lanes of steps. */
const THINGS = 4;

/** More rows than these stand beside each other, in bands. */
const LONG_ROWS = 40;

/** The least distances: between rows, between lanes, between entities, for the title of a band,
 * between lines side by side. */
const GAPS = { row: 20, lane: 8, thing: 9, title: 22, line: 4, band: 30 };

/** boardRows deals boxes into rows. A row goes on while its steps lead to the right.
 * @param {Box[]} boxes in the order of time @param {Map<string, string>} beside the step that
 * an entity stands beside @param {number[]} heads @returns {Board} with nothing placed yet */
function boardRows(boxes, beside, heads) {
  /** @type {BoardRow[]} */ const rows = [];
  /** @type {Map<string, Placed>} */ const at = new Map();
  /** @param {number} group */ const add = (group) => {
    const row = { cells: [], things: [], group, index: rows.length, column: 0, a: 0, along: 0,
      gap: GAPS.row };
    rows.push(row);
    return row;
  };
  const steps = boxes.filter((b) => b.lane < THINGS).map((b, i) => ({ b, i }))
    .sort((x, y) => x.b.group - y.b.group || x.i - y.i);
  for (const { b } of steps) {
    let row = rows[rows.length - 1];
    if (!row || row.group !== b.group || row.cells[row.cells.length - 1].lane >= b.lane) row = add(
      b.group);
    row.cells.push(b);
    at.set(b.id, { box: b, column: 0, row: rows.length - 1, a: 0, c: 0 });
  }
  for (const b of boxes) {
    if (b.lane !== THINGS) continue;
    const step = at.get(beside.get(b.id) || "");
    if (!step && rows.length === 0) add(b.group);
    const r = step ? step.row : rows.length - 1;
    rows[r].things.push(b);
    at.set(b.id, { box: b, column: 0, row: r, a: 0, c: 0 });
  }
  // Where they are many, bands stand beside each other, each a column, so that all of it is about
  // as wide as high.
  const long = rows.length > LONG_ROWS, most = Math.max(LONG_ROWS, 2.6 * Math.sqrt(rows.length));
  /** @type {Band[]} */ const bands = [];
  for (const [i, row] of rows.entries()) {
    const turned = i === 0 || row.group !== rows[i - 1].group;
    if (turned || (long && bands[bands.length - 1].rows.length >= most)) bands.push({
      group: row.group, more: !turned, rows: [], a: 0, c: 0, along: 0, across: 0 });
    bands[bands.length - 1].rows.push(row);
    if (long) row.column = bands.length - 1;
  }
  for (const p of at.values()) p.column = rows[p.row].column;
  return { rows, at, bands, lanes: new Map(), heads, along: 0, across: 0 };
}

/** placeBoard gives every box its place. @param {Board} b @param {Map<string, number>} lines how
 * many lines run beside each other before a lane, by laneKey, and behind a row, by gapKey
 * @param {number} slack how far entities may reach beyond the row of their step */
function placeBoard(b, lines, slack) {
  const beside = b.rows.length > LONG_ROWS;
  let a = 0, c = 0, most = 0;
  for (const [i, band] of b.bands.entries()) {
    if (beside) a = 0;
    Object.assign(band, { a, c });
    a += b.bands.length > 1 ? GAPS.title : 0;
    // Bands under each other share their lanes, so that kinds stand under each other.
    const across = beside || i === 0 ? placeLanes(b, beside ? band.rows : b.rows, c, lines)
      : b.bands[0].across;
    const end = placeRows(b, band.rows, a, lines, slack) + 10;
    Object.assign(band, { along: end - band.a, across });
    most = Math.max(most, end);
    if (beside) c += across + GAPS.band;
    else a = end + 12;
  }
  b.along = most;
  b.across = b.bands.reduce((n, band) => Math.max(n, band.c + band.across), 0);
  if (beside) for (const band of b.bands) band.along = most;
}

/** laneKey names what lies before a lane of a column. @param {number} column
 * @param {number} lane */
const laneKey = (column, lane) => "lane " + column + " " + lane;

/** gapKey names what lies behind a row. @param {number} row */
const gapKey = (row) => "gap " + row;

/** @param {Board} b @param {BoardRow[]} rows @param {number} from
 * @param {Map<string, number>} lines */
function placeLanes(b, rows, from, lines) {
  const column = rows[0].column;
  let c = from;
  const size = [0, 0, 0, 0, 0];
  for (const r of rows) {
    for (const x of r.cells) size[x.lane] = Math.max(size[x.lane], x.across);
    for (const x of r.things) size[THINGS] = Math.max(size[THINGS], x.across);
  }
  for (const [lane, across] of size.entries()) {
    const n = lines.get(laneKey(column, lane)) || 0;
    if (across > 0) c += (c === from && n === 0 ? 12 : GAPS.lane + b.heads[lane]) + GAPS.line * n;
    b.lanes.set(laneKey(column, lane), c);
    c += across;
  }
  return c - from + 12;
}

/** @param {Board} b @param {BoardRow[]} rows @param {number} from
 * @param {Map<string, number>} lines @param {number} slack */
function placeRows(b, rows, from, lines, slack) {
  const column = rows[0].column;
  let a = from, free = from, end = from;
  for (const r of rows) {
    if (r.things.length > 0) a = Math.max(a, free - slack);
    r.a = a;
    r.along = Math.max(0, ...r.cells.map((x) => x.along));
    for (const x of r.cells) Object.assign(/** @type {Placed} */ (b.at.get(x.id)),
      { a: a + (r.along - x.along) / 2, c: b.lanes.get(laneKey(column, x.lane)) });
    for (const [k, x] of r.things.entries()) {
      const start = Math.max(free, k === 0 ? a + (r.along - x.along) / 2 : free);
      Object.assign(/** @type {Placed} */ (b.at.get(x.id)),
        { a: start, c: b.lanes.get(laneKey(column, THINGS)) });
      free = start + x.along + GAPS.thing;
    }
    end = Math.max(a + r.along, free - GAPS.thing);
    r.gap = GAPS.row + GAPS.line * Math.max(0, (lines.get(gapKey(r.index)) || 0) - 1);
    a += r.along + r.gap;
  }
  return end;
}

// Where the lines of the graph run: between lanes and between rows, where nothing stands. Lines of
// one kind out of one step share their way, and part where they must.

/** The radius of a step. */
const NODE_R = 14;

/** No more lines than these run beside each other; more run on each other. */
const MOST_LINES = 7;

/** planRoutes chooses the way of each link. @param {Board} b @param {Link[]} links */
function planRoutes(b, links) {
  /** The row of the step before in the same lane of the same column. @type {Map<string, number>} */
  const before = new Map();
  /** @type {Map<string, number>} */ const last = new Map();
  for (const r of b.rows) {
    for (const x of r.cells) {
      const key = laneKey(r.column, x.lane);
      before.set(x.id, last.has(key) ? /** @type {number} */ (last.get(key)) : -1);
      last.set(key, r.index);
    }
  }
  return links.map((l) => {
    let from = /** @type {Placed} */ (b.at.get(l.from)),
      to = /** @type {Placed} */ (b.at.get(l.to));
    const back = to.row < from.row && to.box.lane !== THINGS
      || (to.row === from.row && to.box.lane < from.box.lane);
    if (back) [from, to] = [to, from];
    const la = from.box.lane, lb = to.box.lane;
    const free = !b.rows[from.row].cells.some((x) => x.lane > la && x.lane < lb);
    /** @type {Way} */ let way = "loop";
    if (from.column !== to.column) way = "far";
    else if (lb > la) way = from.row === to.row && free && lb !== THINGS ? "straight" : "side";
    else if (la === lb && before.get(to.box.id) === from.row) way = "drop";
    else if (to.row === from.row + 1) way = "turn";
    return { way, back, free, from, to, share: (back ? "to " + l.to : l.from) + " " + l.kind };
  });
}

/** assignTracks puts lines that would lie on each other beside each other.
 * @param {Route[]} routes @param {Link[]} links
 * @returns {{counts: Map<string, number>, track: (key: string, share: string) => number}} */
function assignTracks(routes, links) {
  /** @type {Map<string, Map<string, [number, number]>>} */ const uses = new Map();
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
      use(laneKey(r.to.column, lb), r.share, Math.min(ra, rb),
        Math.max(ra, rb) + (lb === THINGS ? 2 : 0));
      if (!r.free) use(gapKey(ra), r.share, la, lb - 0.5);
    } else if (r.way === "turn") use(gapKey(ra), r.share, Math.min(la, lb), Math.max(la, lb));
    else if (r.way === "loop") {
      use(laneKey(r.to.column, lb), r.share, ra, rb);
      use(gapKey(ra), r.share, lb - 0.5, la);
      use(gapKey(rb - 1), r.share, lb - 0.5, lb);
    }
  });
  /** @type {Map<string, number>} */ const counts = new Map(), tracks = new Map();
  for (const [key, of] of uses) {
    /** @type {number[]} */ const ends = [];
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

/** routePoints are the corners of a line, both ends among them. A line across columns has its
 * ends only. @param {Board} b @param {Route} r
 * @param {(key: string, share: string) => number} track */
function routePoints(b, r, track) {
  const A = ports(r.from, r.back ? 5 : 0), B = ports(r.to, r.back ? 5 : 0);
  const lb = r.to.box.lane, key = laneKey(r.to.column, lb);
  /** @param {number} row */
  const gap = (row) => b.rows[row].a + b.rows[row].along + 10 + GAPS.line * track(gapKey(row),
    r.share);
  const c = (b.lanes.get(key) || 0) - b.heads[lb] - GAPS.line * track(key, r.share);
  /** @type {Place[]} */ let p;
  switch (r.way) {
    case "far":
    case "straight":
      p = [A.out, B.in];
      break;
    case "drop":
      p = [A.end, B.begin];
      break;
    case "side":
      p = r.free ? [A.out, { a: A.out.a, c }] : [A.end, { a: gap(r.from.row), c: A.end.c },
        { a: gap(r.from.row), c }];
      p.push({ a: B.in.a, c }, B.in);
      break;
    case "turn":
      p = [A.end, { a: gap(r.from.row), c: A.end.c }, { a: gap(r.from.row), c: B.begin.c },
        B.begin];
      break;
    case "loop":
      p = [A.end, { a: gap(r.from.row), c: A.end.c }, { a: gap(r.from.row), c },
        { a: gap(r.to.row - 1), c }, { a: gap(r.to.row - 1), c: B.begin.c }, B.begin];
      break;
  }
  return r.back ? p.reverse() : p;
}

/** centreOf is the middle of what an edge ends at. @param {Placed} p */
function centreOf(p) {
  return { a: p.a + p.box.along / 2, c: p.box.lane === THINGS ? p.c + p.box.across / 2 : p.c
    + NODE_R + 3 };
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

/** pointText is a point in a path. @param {number} x @param {number} y */
function pointText(x, y) {
  return x.toFixed(1) + " " + y.toFixed(1);
}

/** corners is a path through points with round corners. @param {Point[]} p */
function corners(p) {
  let d = "M" + pointText(p[0].x, p[0].y);
  for (let i = 1; i < p.length - 1; i++) {
    const a = p[i - 1], b = p[i], c = p[i + 1];
    const la = Math.hypot(b.x - a.x, b.y - a.y), lc = Math.hypot(c.x - b.x, c.y - b.y);
    const r = Math.min(8, la / 2, lc / 2);
    if (r < 0.5) continue;
    d += "L" + pointText(b.x + ((a.x - b.x) * r) / la, b.y + ((a.y - b.y) * r) / la) + "Q"
      + pointText(b.x, b.y) + " "
      + pointText(b.x + ((c.x - b.x) * r) / lc, b.y + ((c.y - b.y) * r) / lc);
  }
  const end = p[p.length - 1];
  return d + "L" + pointText(end.x, end.y);
}
