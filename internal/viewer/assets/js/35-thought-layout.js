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
 * @typedef {{id: string, rect: Rect, bone: Bone|null, thought: Thought, hidden: number, face: Face}} ThoughtCard
 * @typedef {{from: string, to: string, kind: string, points: Point[]}} ThoughtLine
 * @typedef {{cards: ThoughtCard[], lines: ThoughtLine[], turns: {turn: number, rect: Rect}[], bounds: Rect}} ThoughtDrawing
 *
 * @typedef {object} Columns where a thought, a call and an observation stand across
 * @property {number} bone the width of a thought
 * @property {number} call
 * @property {number} seen
 * @property {number} callAt
 * @property {number} seenAt
 * @property {boolean} row whether a call and its observation stand beside each other
 * @property {boolean} under whether both stand under the thought
 */

/** Distances between cards: below a thought, below a call, from the side, across. */
const THOUGHT_GAP = { next: 30, trip: 16, inset: 18, across: 46 };

/** columnsOf uses a width. @param {number} width @returns {Columns} */
function columnsOf(width) {
  const w = Math.max(300, Math.min(1500, width)), gap = THOUGHT_GAP.across;
  if (w < 560) return { bone: w, call: w - 34, seen: w - 34, callAt: 34, seenAt: 34, row: false, under: true };
  if (w < 820) {
    const bone = Math.round((w - gap) * 0.44), trip = w - gap - bone;
    return { bone, call: trip, seen: trip, callAt: bone + gap, seenAt: bone + gap, row: false, under: false };
  }
  const rest = w - 2 * gap + 10, bone = Math.round(rest * 0.34), call = Math.round(rest * 0.23);
  return { bone, call, seen: rest - bone - call, callAt: bone + gap, seenAt: bone + call + 2 * gap - 10, row: true, under: false };
}

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
 * @param {Session} s @param {ThoughtShape} shape @param {Set<number>} foldedTurns @param {Set<string>} foldedTrips ids of thoughts
 * @param {number} width what there is room for
 * @returns {ThoughtDrawing}
 */
function placeThoughts(s, shape, foldedTurns, foldedTrips, width) {
  const list = foldTurns(bones(s.thoughts), foldedTurns);
  /** @type {ThoughtDrawing} */
  const d = { cards: [], lines: [], turns: [], bounds: { x: 0, y: 0, w: 1, h: 1 } };
  if (shape === "clustered") clusters(d, s, list, foldedTrips, width);
  else if (shape === "vertical") run(d, s, list, columnsOf(width), foldedTrips, { x: 0, y: 0 });
  else {
    // Lying, each thought has its calls under it.
    let x = 0;
    for (const b of list) x += run(d, s, [b], columnsOf(340), foldedTrips, { x, y: 0 }).w + 44;
  }
  connect(d, s.thoughts, list, foldedTrips, shape);
  const all = [...d.cards.map((c) => c.rect), ...d.turns.map((c) => c.rect)];
  if (all.length > 0) {
    const r = around(all.flatMap((q) => [{ x: q.x, y: q.y }, { x: q.x + q.w, y: q.y + q.h }]));
    d.bounds = { x: r.x - 10, y: r.y - 10, w: r.w + 36, h: r.h + 20 };
  }
  return d;
}

/**
 * run places a stretch of the backbone downwards and returns how far it reaches.
 * @param {ThoughtDrawing} d @param {Session} s @param {Bone[]} list @param {Columns} c @param {Set<string>} foldedTrips @param {Point} from
 * @returns {{w: number, h: number}}
 */
function run(d, s, list, c, foldedTrips, from) {
  let y = from.y, wide = c.bone;
  for (const b of list) {
    const folded = foldedTrips.has(b.id), turn = b.folded.length > 0;
    const face = turn ? textFace(plural(b.folded.length, "step") + ": " + b.thought.label, c.bone, 2) : faceOf(s, b.thought, c.bone);
    d.cards.push({ id: b.id, rect: { x: from.x, y, w: c.bone, h: face.h }, bone: b, thought: b.thought, hidden: folded ? b.trips.length : b.folded.length, face });
    let foot = y + face.h, at = c.under ? foot + THOUGHT_GAP.trip : y;
    for (const trip of folded ? [] : b.trips) {
      let low = at;
      for (const n of [trip.call, trip.seen]) {
        if (!n) continue;
        const call = n === trip.call, w = call ? c.call : c.seen, f = faceOf(s, n, w);
        const top = call || c.row || !trip.call ? at : low + THOUGHT_GAP.trip;
        d.cards.push({ id: n.id, rect: { x: from.x + (call ? c.callAt : c.seenAt), y: top, w, h: f.h }, bone: null, thought: n, hidden: 0, face: f });
        low = Math.max(low, top + f.h);
        wide = Math.max(wide, (call ? c.callAt : c.seenAt) + w);
      }
      foot = Math.max(foot, low);
      at = low + THOUGHT_GAP.trip;
    }
    y = foot + THOUGHT_GAP.next;
  }
  return { w: wide, h: y - THOUGHT_GAP.next - from.y };
}

/** clusters places a box for each turn, in rows. @param {ThoughtDrawing} d @param {Session} s @param {Bone[]} list @param {Set<string>} foldedTrips @param {number} width */
function clusters(d, s, list, foldedTrips, width) {
  /** @type {Bone[][]} */
  const groups = [];
  for (const b of list) {
    const last = groups[groups.length - 1];
    if (last && last[0].turn === b.turn) last.push(b);
    else groups.push([b]);
  }
  const c = columnsOf(Math.min(700, width));
  const sized = groups.map((g) => ({ g, ...run({ cards: [], lines: [], turns: [], bounds: d.bounds }, s, g, c, foldedTrips, { x: 0, y: 0 }) }));
  const area = sized.reduce((n, b) => n + (b.w + 76) * (b.h + 100), 0);
  const limit = Math.max(Math.sqrt(area) * 1.5, ...sized.map((b) => b.w + 76));
  let x = 0, y = 0, deep = 0;
  for (const b of sized) {
    if (x > 0 && x + b.w + 48 > limit) {
      x = 0;
      y += deep + 44;
      deep = 0;
    }
    run(d, s, b.g, c, foldedTrips, { x: x + 16, y: y + 40 });
    d.turns.push({ turn: b.g[0].turn, rect: { x, y, w: b.w + 48, h: b.h + 60 } });
    x += b.w + 48 + 44;
    deep = Math.max(deep, b.h + 60);
  }
}

/** connect adds the lines between what is shown. @param {ThoughtDrawing} d @param {Thoughts} t @param {Bone[]} list @param {Set<string>} foldedTrips @param {ThoughtShape} shape */
function connect(d, t, list, foldedTrips, shape) {
  /** @type {Map<string, string>} */
  const shown = new Map();
  for (const b of list) {
    shown.set(b.thought.id, b.id);
    for (const f of b.folded) shown.set(f.id, b.id);
    if (foldedTrips.has(b.id)) for (const x of b.trips) for (const n of [x.call, x.seen]) if (n) shown.set(n.id, "");
  }
  const drawn = new Map(d.cards.map((c) => [c.id, c]));
  /** @type {Set<string>} */
  const had = new Set();
  for (const e of t.edges) {
    const from = shown.has(e.from) ? /** @type {string} */ (shown.get(e.from)) : e.from;
    const to = shown.has(e.to) ? /** @type {string} */ (shown.get(e.to)) : e.to;
    const a = drawn.get(from), b = drawn.get(to);
    if (!a || !b || a === b) continue;
    const key = edgeKey({ from, to, kind: e.kind });
    if (had.has(key)) continue;
    had.add(key);
    d.lines.push({ from, to, kind: e.kind, points: thoughtLine(a, b, e.kind, shape) });
  }
}

/**
 * thoughtLine are the corners of a line between two cards. Lines run down on the left of cards,
 * from card to card at the height of their titles, and back to a thought on the right.
 * @param {ThoughtCard} from @param {ThoughtCard} to @param {string} kind @param {ThoughtShape} shape @returns {Point[]}
 */
function thoughtLine(from, to, kind, shape) {
  const a = from.rect, b = to.rect, inset = THOUGHT_GAP.inset, right = a.x + a.w, foot = a.y + a.h;
  const level = { x: right, y: a.y + inset }, into = { x: b.x - 3, y: b.y + inset };
  if (Math.abs(a.y - b.y) < 1 && b.x > right) return [level, into];
  const other = to.bone !== null && (from.bone !== null || kind === "returns");
  if (other && (shape === "horizontal" ? b.x > a.x : b.x > right || b.y + b.h < a.y)) {
    // To the thought at the right, or in another box.
    const by = kind === "next" ? 24 : 16, at = { x: b.x - by, y: kind === "next" ? into.y : into.y + 16 };
    const start = from.bone && shape !== "horizontal" ? [{ x: a.x + inset, y: foot }, { x: a.x + inset, y: foot + by - 8 }, { x: at.x, y: foot + by - 8 }] : [level, { x: at.x, y: level.y }];
    return [...start, at, { x: into.x, y: at.y }];
  }
  if (b.x >= right) return [level, { x: (right + b.x) / 2, y: level.y }, { x: (right + b.x) / 2, y: into.y }, into];
  // What hangs under a thought is further in.
  if (from.bone && !to.bone) return [{ x: a.x + inset, y: foot }, { x: a.x + inset, y: into.y }, into];
  if (Math.abs(a.x - b.x) < 1) return [{ x: a.x + inset, y: foot }, { x: a.x + inset, y: b.y - 3 }];
  if (to.bone) {
    const turn = b.y - 12, x = b.x + Math.min(b.w - 40, 160);
    return [level, { x: right + 14, y: level.y }, { x: right + 14, y: turn }, { x, y: turn }, { x, y: b.y - 3 }];
  }
  return [{ x: a.x + inset, y: foot }, { x: a.x + inset, y: b.y - 8 }, { x: b.x + 60, y: b.y - 8 }, { x: b.x + 60, y: b.y - 3 }];
}
