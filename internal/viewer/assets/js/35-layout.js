// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// Where the nodes of the graph stand. Steps stand in rows in the order of time, each in the lane
// of its kind: who acts, what the model decided, the tools, what guards them, and at the end the
// entities beside the steps that showed them. So the eye reads a session downwards, and the width
// is used. It takes time in proportion to the number of nodes.
//
// Along is the direction in which rows follow each other, across the one of the lanes: down and to
// the right, or to the right and down.

/**
 * @typedef {{id: string, along: number, across: number, group: number, lane: number}} Box
 * @typedef {{a: number, c: number}} Place a point, along and across
 * @typedef {{group: number, more: boolean, rows: BoardRow[], a: number, c: number, along: number, across: number}} Band rows of one turn; more where it began in another band
 * @typedef {{box: Box, column: number, row: number, a: number, c: number}} Placed where a box begins
 * @typedef {{cells: Box[], things: Box[], group: number, index: number, column: number, a: number, along: number, gap: number}} BoardRow
 * @typedef {{rows: BoardRow[], at: Map<string, Placed>, bands: Band[], lanes: Map<string, number>, heads: number[], along: number, across: number}} Board heads are the room before each lane for the heads of lines
 */

/** The lane of entities is behind the lanes of steps. */
const THINGS = 4;

/** More rows than these stand beside each other, in bands. */
const LONG_ROWS = 40;

/** The least distances: between rows, between lanes, between entities, for the title of a band, between lines side by side. */
const GAPS = { row: 20, lane: 8, thing: 9, title: 22, line: 4, band: 30 };

/**
 * boardRows deals boxes into rows. A row goes on while its steps lead to the right.
 * @param {Box[]} boxes in the order of time @param {Map<string, string>} beside the step that an entity stands beside
 * @param {number[]} heads
 * @returns {Board} with nothing placed yet
 */
function boardRows(boxes, beside, heads) {
  /** @type {BoardRow[]} */
  const rows = [];
  /** @type {Map<string, Placed>} */
  const at = new Map();
  /** @param {number} group @returns {BoardRow} */
  const add = (group) => {
    const row = { cells: [], things: [], group, index: rows.length, column: 0, a: 0, along: 0, gap: GAPS.row };
    rows.push(row);
    return row;
  };
  const steps = boxes.filter((b) => b.lane < THINGS).map((b, i) => ({ b, i })).sort((x, y) => x.b.group - y.b.group || x.i - y.i);
  for (const { b } of steps) {
    let row = rows[rows.length - 1];
    if (!row || row.group !== b.group || row.cells[row.cells.length - 1].lane >= b.lane) row = add(b.group);
    row.cells.push(b);
    at.set(b.id, { box: b, column: 0, row: rows.length - 1, a: 0, c: 0 });
  }
  for (const b of boxes) {
    if (b.lane !== THINGS) continue;
    const step = at.get(beside.get(b.id) || "");
    const r = step ? step.row : rows.length > 0 ? rows.length - 1 : (add(b.group), 0);
    rows[r].things.push(b);
    at.set(b.id, { box: b, column: 0, row: r, a: 0, c: 0 });
  }
  // Where they are many, bands stand beside each other, each a column, so that all of it is about as wide as high.
  const long = rows.length > LONG_ROWS, most = Math.max(LONG_ROWS, 2.6 * Math.sqrt(rows.length));
  /** @type {Band[]} */
  const bands = [];
  for (const [i, row] of rows.entries()) {
    const turned = i === 0 || row.group !== rows[i - 1].group;
    if (turned || (long && bands[bands.length - 1].rows.length >= most)) bands.push({ group: row.group, more: !turned, rows: [], a: 0, c: 0, along: 0, across: 0 });
    bands[bands.length - 1].rows.push(row);
    if (long) row.column = bands.length - 1;
  }
  for (const p of at.values()) p.column = rows[p.row].column;
  return { rows, at, bands, lanes: new Map(), heads, along: 0, across: 0 };
}

/**
 * placeBoard gives every box its place.
 * @param {Board} b @param {Map<string, number>} lines how many lines run beside each other before a lane, by laneKey, and behind a row, by gapKey
 * @param {number} slack how far entities may reach beyond the row of their step
 */
function placeBoard(b, lines, slack) {
  const beside = b.rows.length > LONG_ROWS;
  let a = 0, c = 0, most = 0;
  for (const [i, band] of b.bands.entries()) {
    if (beside) a = 0;
    Object.assign(band, { a, c });
    a += b.bands.length > 1 ? GAPS.title : 0;
    // Bands under each other share their lanes, so that kinds stand under each other.
    const across = beside || i === 0 ? placeLanes(b, beside ? band.rows : b.rows, c, lines) : b.bands[0].across;
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

/** laneKey names what lies before a lane of a column. @param {number} column @param {number} lane */
const laneKey = (column, lane) => "lane " + column + " " + lane;

/** gapKey names what lies behind a row. @param {number} row */
const gapKey = (row) => "gap " + row;

/** @param {Board} b @param {BoardRow[]} rows @param {number} from @param {Map<string, number>} lines */
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

/** @param {Board} b @param {BoardRow[]} rows @param {number} from @param {Map<string, number>} lines @param {number} slack */
function placeRows(b, rows, from, lines, slack) {
  const column = rows[0].column;
  let a = from, free = from, end = from;
  for (const r of rows) {
    if (r.things.length > 0) a = Math.max(a, free - slack);
    r.a = a;
    r.along = Math.max(0, ...r.cells.map((x) => x.along));
    for (const x of r.cells) Object.assign(/** @type {Placed} */ (b.at.get(x.id)), { a: a + (r.along - x.along) / 2, c: b.lanes.get(laneKey(column, x.lane)) });
    for (const [k, x] of r.things.entries()) {
      const start = Math.max(free, k === 0 ? a + (r.along - x.along) / 2 : free);
      Object.assign(/** @type {Placed} */ (b.at.get(x.id)), { a: start, c: b.lanes.get(laneKey(column, THINGS)) });
      free = start + x.along + GAPS.thing;
    }
    end = Math.max(a + r.along, free - GAPS.thing);
    r.gap = GAPS.row + GAPS.line * Math.max(0, (lines.get(gapKey(r.index)) || 0) - 1);
    a += r.along + r.gap;
  }
  return end;
}
