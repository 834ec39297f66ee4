// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// Where thoughts stand: the backbone straight along one axis, each tool call and what it
// observed beside it, between the thought that asked and the next one.

/**
 * @typedef {{call: Thought|null, seen: Thought|null}} Excursion
 * @typedef {object} Bone a place on the backbone: a thought, or a turn that is collapsed
 * @property {string} id
 * @property {Thought} thought
 * @property {number} turn
 * @property {Excursion[]} trips
 * @property {Thought[]} folded what a collapsed turn stands for
 *
 * @typedef {"horizontal"|"vertical"|"clustered"} ThoughtShape
 * @typedef {{id: string, rect: Rect, bone: Bone|null, thought: Thought, hidden: number}} ThoughtCard
 * @typedef {{from: string, to: string, kind: string}} ThoughtLine
 * @typedef {{cards: ThoughtCard[], lines: ThoughtLine[], turns: {turn: number, rect: Rect}[], bounds: Rect}} ThoughtDrawing
 */

const BONE = { w: 210, h: 62 };
const TRIP = { w: 168, h: 50 };

/** bones are the places on the backbone in the order of the record. @param {Thoughts} t @returns {Bone[]} */
function bones(t) {
  const byId = new Map(t.nodes.map((n) => [n.id, n]));
  /** @type {Bone[]} */
  const out = [];
  /** @type {Map<string, Bone>} */
  const at = new Map();
  /** @type {Map<string, string>} */
  const asked = new Map(), observed = new Map();
  for (const e of t.edges) {
    if (e.kind === "calls") asked.set(e.to, e.from);
    if (e.kind === "observes") observed.set(e.from, e.to);
  }
  // What follows an answer or an action, such as a check, has no call of its own to stand behind.
  const seenBy = new Set([...observed].filter(([call]) => byId.get(call)?.kind === "TOOL_CALL").map(([, seen]) => seen));
  for (const n of t.nodes) {
    if (n.kind === "TOOL_CALL" || n.kind === "OBSERVATION") {
      if (n.kind === "OBSERVATION" && seenBy.has(n.id)) continue;
      const bone = at.get(asked.get(n.id) || "") || out[out.length - 1];
      if (bone) bone.trips.push(n.kind === "TOOL_CALL" ? { call: n, seen: byId.get(observed.get(n.id) || "") || null } : { call: null, seen: n });
      if (bone) continue;
    }
    const b = { id: n.id, thought: n, turn: n.turn, trips: [], folded: [] };
    out.push(b);
    at.set(n.id, b);
  }
  return out;
}

/** foldTurns makes one place of each collapsed turn. @param {Bone[]} all @param {Set<number>} folded @returns {Bone[]} */
function foldTurns(all, folded) {
  /** @type {Bone[]} */
  const out = [];
  for (const b of all) {
    if (!folded.has(b.turn)) {
      out.push(b);
      continue;
    }
    const last = out[out.length - 1];
    const these = [b.thought, ...b.trips.flatMap((t) => [t.call, t.seen])].flatMap((t) => t || []);
    if (last && last.folded.length > 0 && last.turn === b.turn) last.folded.push(...these);
    else out.push({ id: "turn\u0001" + b.turn + "\u0001" + out.length, thought: b.thought, turn: b.turn, trips: [], folded: these });
  }
  return out;
}

/**
 * placeThoughts draws the shape.
 * @param {Thoughts} t @param {ThoughtShape} shape @param {Set<number>} foldedTurns @param {Set<string>} foldedTrips ids of thoughts
 * @returns {ThoughtDrawing}
 */
function placeThoughts(t, shape, foldedTurns, foldedTrips) {
  const list = foldTurns(bones(t), foldedTurns);
  /** @type {ThoughtDrawing} */
  const d = { cards: [], lines: [], turns: [], bounds: { x: 0, y: 0, w: 1, h: 1 } };
  if (shape === "clustered") {
    /** @type {Bone[][]} */
    const groups = [];
    for (const b of list) {
      const last = groups[groups.length - 1];
      if (last && last[0].turn === b.turn) last.push(b);
      else groups.push([b]);
    }
    clusters(d, groups, foldedTrips);
  } else run(d, list, shape === "horizontal", foldedTrips, { x: 0, y: 0 });
  connect(d, t, list, foldedTrips);
  const all = [...d.cards.map((c) => c.rect), ...d.turns.map((c) => c.rect)];
  if (all.length > 0) {
    const x = Math.min(...all.map((r) => r.x)) - 16, y = Math.min(...all.map((r) => r.y)) - 16;
    d.bounds = { x, y, w: Math.max(...all.map((r) => r.x + r.w)) + 16 - x, h: Math.max(...all.map((r) => r.y + r.h)) + 16 - y };
  }
  return d;
}

/**
 * run places a stretch of the backbone and returns how far it reaches.
 * @param {ThoughtDrawing} d @param {Bone[]} list @param {boolean} flat @param {Set<string>} foldedTrips @param {Point} from
 * @returns {{w: number, h: number}}
 */
function run(d, list, flat, foldedTrips, from) {
  let at = 0, reach = 0, wide = flat ? BONE.h : BONE.w;
  list.forEach((b, i) => {
    const folded = foldedTrips.has(b.id);
    const trips = folded ? [] : b.trips;
    d.cards.push({ id: b.id, rect: flat ? { x: from.x + at, y: from.y, ...BONE } : { x: from.x, y: from.y + at, ...BONE }, bone: b, thought: b.thought, hidden: folded ? b.trips.length : b.folded.length });
    const end = i === list.length - 1;
    // The two cards of an excursion stand between the middles of the thought and the next one.
    const step = flat ? (trips.length > 0 ? TRIP.w * 2 + 104 : BONE.w + 46) : trips.length > 0 ? BONE.h + TRIP.h + 74 : BONE.h + 34;
    trips.forEach((x, k) => {
      [x.call, x.seen].forEach((n, j) => {
        if (!n) return;
        const rect = flat
          ? { x: from.x + at + BONE.w / 2 + 12 + j * (TRIP.w + 16), y: from.y + BONE.h + 34 + k * (TRIP.h + 14), ...TRIP }
          : { x: from.x + BONE.w + 44 + k * (TRIP.w + 22), y: from.y + at + BONE.h / 2 + 4 + j * (TRIP.h + 16), ...TRIP };
        d.cards.push({ id: n.id, rect, bone: null, thought: n, hidden: 0 });
        wide = Math.max(wide, flat ? rect.y + rect.h - from.y : rect.x + rect.w - from.x);
        reach = Math.max(reach, flat ? rect.x + rect.w - from.x : rect.y + rect.h - from.y);
      });
    });
    if (!end) at += step;
  });
  const long = Math.max(reach, at + (flat ? BONE.w : BONE.h));
  return flat ? { w: long, h: wide } : { w: wide, h: long };
}

/** clusters places a box for each turn, in rows. @param {ThoughtDrawing} d @param {Bone[][]} groups @param {Set<string>} foldedTrips */
function clusters(d, groups, foldedTrips) {
  /** @type {{g: Bone[], w: number, h: number}[]} */
  const sized = groups.map((g) => {
    /** @type {ThoughtDrawing} */
    const trial = { cards: [], lines: [], turns: [], bounds: d.bounds };
    return { g, ...run(trial, g, false, foldedTrips, { x: 0, y: 0 }) };
  });
  const area = sized.reduce((s, b) => s + (b.w + 70) * (b.h + 100), 0);
  const limit = Math.max(Math.sqrt(area) * 1.5, ...sized.map((b) => b.w + 70));
  let x = 0, y = 0, deep = 0;
  for (const b of sized) {
    if (x > 0 && x + b.w + 32 > limit) {
      x = 0;
      y += deep + 40;
      deep = 0;
    }
    run(d, b.g, false, foldedTrips, { x: x + 16, y: y + 40 });
    d.turns.push({ turn: b.g[0].turn, rect: { x, y, w: b.w + 32, h: b.h + 56 } });
    x += b.w + 32 + 44;
    deep = Math.max(deep, b.h + 56);
  }
}

/** connect adds the lines between what is shown. @param {ThoughtDrawing} d @param {Thoughts} t @param {Bone[]} list @param {Set<string>} foldedTrips */
function connect(d, t, list, foldedTrips) {
  /** @type {Map<string, string>} */
  const shown = new Map();
  for (const b of list) {
    shown.set(b.thought.id, b.id);
    for (const f of b.folded) shown.set(f.id, b.id);
    if (foldedTrips.has(b.id)) for (const x of b.trips) for (const n of [x.call, x.seen]) if (n) shown.set(n.id, "");
  }
  const drawn = new Set(d.cards.map((c) => c.id));
  /** @type {Set<string>} */
  const had = new Set();
  for (const e of t.edges) {
    const from = shown.has(e.from) ? /** @type {string} */ (shown.get(e.from)) : e.from;
    const to = shown.has(e.to) ? /** @type {string} */ (shown.get(e.to)) : e.to;
    if (!drawn.has(from) || !drawn.has(to) || from === to) continue;
    const key = edgeKey({ from, to, kind: e.kind });
    if (had.has(key)) continue;
    had.add(key);
    d.lines.push({ from, to, kind: e.kind });
  }
}

/**
 * thoughtLine is the path of a line between two cards: from the side that faces the other.
 * @param {Rect} a @param {Rect} b @param {string} kind @param {boolean} flat whether the backbone lies
 */
function thoughtLine(a, b, kind, flat) {
  const ma = mid(a), mb = mid(b);
  /** @param {number} x @param {number} y */
  const p = (x, y) => x.toFixed(1) + " " + y.toFixed(1);
  if (kind === "calls" || (kind === "observes" && a.h === BONE.h)) {
    // Out of the side of the backbone, round the corner, into the call.
    if (flat) {
      const x = Math.min(b.x - 8, a.x + a.w / 2), y = mb.y;
      return "M" + p(x - 10, a.y + a.h) + "V" + (y - 10) + "Q" + p(x - 10, y) + " " + p(x, y) + "H" + (b.x - 3);
    }
    const fork = a.y + a.h - 14;
    return "M" + p(a.x + a.w, fork) + "H" + (mb.x - 10) + (b.y - fork > 6 ? "Q" + p(mb.x, fork) + " " + p(mb.x, Math.min(b.y - 3, fork + 10)) + "V" + (b.y - 3) : "H" + (b.x - 3));
  }
  if (kind === "observes") return Math.abs(ma.x - mb.x) > 2 ? "M" + p(a.x + a.w, ma.y) + "H" + (b.x - 3) : "M" + p(ma.x, a.y + a.h) + "V" + (b.y - 3);
  const beside = !flat && b.x > a.x + a.w && Math.abs(ma.x - mb.x) > BONE.w;
  if (!flat && (beside || b.y + b.h < a.y)) {
    // Into another turn: under its own, up beside the other, in from the left.
    const foot = a.y + a.h + (kind === "next" ? 24 : 14), gap = b.x - (kind === "next" ? 42 : 30), into = kind === "next" ? mb.y : b.y + 14;
    const up = into < foot ? -1 : 1;
    return "M" + p(ma.x, a.y + a.h) + "V" + (foot - 8) + "Q" + p(ma.x, foot) + " " + p(ma.x + 8, foot) + "H" + (gap - 8) + "Q" + p(gap, foot) + " " + p(gap, foot + 8 * up) + "V" + (into - 8 * up) + "Q" + p(gap, into) + " " + p(gap + 8, into) + "H" + (b.x - 4);
  }
  if (kind === "returns") {
    if (flat) {
      const x = Math.max(b.x + 46, Math.min(b.x + b.w - 24, a.x + a.w + 14));
      const turn = Math.min(10, Math.abs(x - a.x - a.w));
      return "M" + p(a.x + a.w, ma.y) + "H" + (x - turn) + "Q" + p(x, ma.y) + " " + p(x, ma.y - 10) + "V" + (b.y + b.h + 3);
    }
    const into = b.y + 14;
    if (b.x + b.w < a.x) return "M" + p(ma.x, a.y + a.h) + (into - a.y - a.h > 10 ? "V" + (into - 10) + "Q" + p(ma.x, into) + " " + p(ma.x - 10, into) : "L" + p(ma.x - 6, into)) + "H" + (b.x + b.w + 3);
  }
  if (flat && Math.abs(ma.y - mb.y) < 2) return "M" + p(a.x + a.w, ma.y) + "H" + (b.x - 4);
  if (!flat && Math.abs(ma.x - mb.x) < 2 && b.y > a.y) return "M" + p(ma.x, a.y + a.h) + "V" + (b.y - 4);
  // Into a row below.
  const half = (a.y + a.h + b.y) / 2;
  return "M" + p(ma.x, a.y + a.h) + "C" + p(ma.x, half) + " " + p(mb.x, half) + " " + p(mb.x, b.y - 4);
}
