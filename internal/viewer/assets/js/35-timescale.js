// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// A time axis on which waiting takes little room, and the tree of spans beside it.

/**
 * @typedef {{t0: number, t1: number, idle: boolean, x0: number, x1: number}} Stretch
 *
 * @typedef {object} TimeRow a span, or a turn
 * @property {string} id
 * @property {Span|null} span
 * @property {number} turn
 * @property {number} depth
 * @property {TimeRow|null} parent
 * @property {number} size how many rows are within it
 * @property {number} errors how many of those failed
 * @property {number} t0
 * @property {number} t1
 */

/** An idle time is shown broken when it is longer than this share of the work of a turn. */
const IDLE_SHARE = 0.5;
const IDLE_PX = 46;

/**
 * stretches cuts the time of a session into work and idle times. Work is what a model, a tool or
 * a check did, and each begin and end of anything else: a request to a human is open for days in
 * which nothing happens.
 * @param {Span[]} spans @returns {Stretch[]}
 */
function stretches(spans) {
  /** @type {[number, number][]} */
  const busy = [];
  for (const s of spans) {
    const a = millis(s.start), b = Math.max(a, millis(s.end));
    if (Number.isNaN(a) || Number.isNaN(b)) continue;
    if (s.class === "model" || s.class === "check" || s.class === "tool") busy.push([a, b]);
    else busy.push([a, a], [b, b]);
  }
  busy.sort((x, y) => x[0] - y[0]);
  /** @type {[number, number][]} */
  const merged = [];
  for (const [a, b] of busy) {
    const last = merged[merged.length - 1];
    if (last && a <= last[1]) last[1] = Math.max(last[1], b);
    else merged.push([a, b]);
  }
  if (merged.length === 0) return [];
  // What counts as long is measured by the work of a turn.
  const work = merged.reduce((n, m) => n + m[1] - m[0], 0);
  const least = Math.max(1000, (work / new Set(spans.map((x) => x.turn)).size) * IDLE_SHARE);
  /** @type {Stretch[]} */
  const out = [];
  let from = merged[0][0];
  for (let i = 1; i < merged.length; i++) {
    const a = merged[i - 1][1], b = merged[i][0];
    if (b - a < least) continue;
    out.push({ t0: from, t1: a, idle: false, x0: 0, x1: 0 }, { t0: a, t1: b, idle: true, x0: 0, x1: 0 });
    from = b;
  }
  const end = merged[merged.length - 1][1];
  out.push({ t0: from, t1: Math.max(end, from + 1), idle: false, x0: 0, x1: 0 });
  return out;
}

/** Timescale says where a time stands. */
class Timescale {
  /** @param {Stretch[]} list */
  constructor(list) {
    this.list = list;
    this.width = 1;
  }

  /** @param {number} width */
  fit(width) {
    this.width = width;
    const idle = this.list.filter((s) => s.idle).length;
    const idlePx = idle === 0 ? 0 : Math.min(IDLE_PX, (width * 0.3) / idle);
    const work = this.list.reduce((n, s) => n + (s.idle ? 0 : s.t1 - s.t0), 0) || 1;
    // A short turn between two long ones keeps some room.
    const least = Math.min(26, (width * 0.25) / Math.max(1, this.list.length - idle));
    const rest = width - idlePx * idle - least * (this.list.length - idle);
    let x = 0;
    for (const s of this.list) {
      s.x0 = x;
      x += s.idle ? idlePx : least + (rest * (s.t1 - s.t0)) / work;
      s.x1 = x;
    }
  }

  /** @param {number} t */
  x(t) {
    let lo = 0, hi = this.list.length - 1;
    while (lo < hi) {
      const m = (lo + hi) >> 1;
      if (t <= this.list[m].t1) hi = m;
      else lo = m + 1;
    }
    const s = this.list[lo];
    if (!s) return 0;
    return s.x0 + (Math.max(0, Math.min(1, (t - s.t0) / (s.t1 - s.t0 || 1)))) * (s.x1 - s.x0);
  }

  /** ticks are round times within the work, far enough from each other. @returns {{x: number, text: string}[]} */
  ticks() {
    /** @type {{x: number, text: string}[]} */
    const out = [];
    const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 864e5];
    for (const s of this.list) {
      if (s.idle) continue;
      const px = (s.x1 - s.x0) / (s.t1 - s.t0);
      const step = steps.find((n) => n * px >= 84) || 864e5;
      for (let t = 0, last = -Infinity; t <= s.t1 - s.t0; t += step) {
        const x = s.x0 + t * px;
        if (t > 0 && s.x1 - x < 40) break;
        if (x - last < 60) continue;
        last = x;
        out.push({ x, text: t === 0 ? fmtClock(new Date(s.t0).toISOString()) : "+" + fmtDuration(t) });
      }
    }
    // Of two that would be drawn over each other the one with the day's time stays.
    /** @type {{x: number, text: string}[]} */
    const clear = [];
    for (const k of out) {
      const last = clear[clear.length - 1];
      if (!last || k.x - last.x > 62) clear.push(k);
      else if (last.text.startsWith("+") && !k.text.startsWith("+") && (clear.length < 2 || k.x - clear[clear.length - 2].x > 62)) clear[clear.length - 1] = k;
    }
    return clear;
  }
}

/** timeRows is the tree of spans with a line for each turn. @param {Session} s @returns {TimeRow[]} */
function timeRows(s) {
  const known = new Set(s.spans.map((x) => x.key));
  /** @param {Span} sp */
  const inner = (sp) => sp.parent !== undefined && known.has(sp.parent);
  const kids = groupBy(s.spans.filter(inner), (sp) => sp.parent);
  /** @type {TimeRow[]} */
  const out = [];
  /** add appends a row, and what is in it. @param {TimeRow} row @param {Span[]} within */
  const add = (row, within) => {
    const at = out.push(row);
    for (const sp of within) {
      const t0 = millis(sp.start);
      add({ id: sp.key, span: sp, turn: sp.turn, depth: row.depth + 1, parent: row, size: 0, errors: 0, t0, t1: Math.max(t0, millis(sp.end) || t0) }, kids.get(sp.key) || []);
    }
    row.size = out.length - at;
    row.errors = out.slice(at).filter((r) => r.span?.status === "ERROR").length;
  };
  for (const [turn, within] of [...groupBy(s.spans.filter((sp) => !inner(sp)), (sp) => sp.turn)].sort((a, b) => a[0] - b[0])) {
    /** @type {TimeRow} */
    const row = { id: "turn " + turn, span: null, turn, depth: 0, parent: null, size: 0, errors: 0, t0: Infinity, t1: -Infinity };
    const at = out.length + 1;
    add(row, within);
    for (const r of out.slice(at)) {
      row.t0 = Math.min(row.t0, r.t0);
      row.t1 = Math.max(row.t1, r.t1);
    }
  }
  return out;
}
