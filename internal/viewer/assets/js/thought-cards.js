// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// What stands on the card of a thought: its text in lines, the arguments of a call in short, what
// was observed as a table of a few rows.

/** Sizes on a card, in pixels. */
const CARD = { pad: 12, head: 26, line: 16, row: 17, text: 12.5, small: 12 };

/** What is shown of an observation at most. */
const MOST = { rows: 4, columns: 4, facts: 4, lines: 5 };

/** faceOf lays out what a card says. @param {Session} s @param {Thought} t @param {number} w
 * @returns {Face} */
function faceOf(s, t, w) {
  const room = w - 2 * CARD.pad, detail = t.detail || "";
  if (t.kind === "TOOL_CALL") {
    const args = parsed(detail), short = isRecord(args) ? namesAndValues(args) : detail;
    return linesFace([
      ...wrapText(t.label, room, CARD.text, 2, true).map((text) => ({ text, cls: "tn-name" })),
      ...wrapText(short, room, CARD.small, 3).map((text) => ({ text, cls: "tn-soft" })),
    ]);
  }
  if (t.kind === "OBSERVATION" && isKnown(s, t)) return shapeFace(shapeOf(observed(s, t)), w);
  // What a thought called stands on the cards beside it.
  return textFace(detail.replace(/^call \S+ \{.*$/gm, "").trim() || t.label, w, MOST.lines);
}

/** isKnown says whether the text of a call, or of what came of it, is there. @param {Session} s
 * @param {Thought} t */
function isKnown(s, t) {
  const inRow = ["TOOL_CALL", "OBSERVATION"].includes(t.kind) && !t.detail;
  return !inRow || s.gists[t.row]?.loaded !== false;
}

/** linesFace has a line for each text. @param {{text: string, cls: string}[]} lines
 * @returns {Face} */
function linesFace(lines) {
  const y = CARD.head + 12;
  return { h: CARD.head + lines.length * CARD.line + 10, rules: [],
    words: lines.map((l, i) => ({ ...l, x: CARD.pad, y: y + i * CARD.line })) };
}

/** textFace keeps the lines of a text apart. @param {string} text @param {number} w
 * @param {number} most @returns {Face} */
function textFace(text, w, most) {
  /** @type {string[]} */ const lines = [];
  const parts = text.slice(0, 4000).split("\n").filter((l) => l.trim()), room = w - 2 * CARD.pad;
  for (const [i, part] of parts.entries()) {
    if (lines.length === most) break;
    lines.push(...wrapText(readable(part), room, CARD.text, most - lines.length));
    if (lines.length < most || i === parts.length - 1) continue;
    lines[most - 1] = fitText(lines[most - 1].replace(/…$/, "") + " …", room, CARD.text);
  }
  return linesFace(lines.map((text) => ({ text, cls: "tn-text" })));
}

/** readable writes an object at the end of a line as names and values. @param {string} line */
function readable(line) {
  const at = line.indexOf("{");
  const v = at < 0 || !line.trimEnd().endsWith("}") ? null : parsed(line.slice(at));
  return isRecord(v) ? line.slice(0, at) + namesAndValues(v) : line;
}

/** namesAndValues is an object in a line. @param {Record<string, any>} v */
function namesAndValues(v) {
  return Object.entries(v).map(([k, x]) => words(k) + ": " + brief(x)).join(" · ");
}

/** parsed is a text as the value that it writes, or as it is. @param {string} text
 * @returns {any} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** observed is what came back. @param {Session} s @param {Thought} t @returns {any} */
function observed(s, t) {
  const row = s.rows[t.row];
  if (t.status === "ERROR" && row?.error_message) return row.error_message;
  const result = row?.event_type === "TOOL_COMPLETED" ? row.content?.result : undefined;
  const v = result ?? parsed(t.detail || "");
  // A tool that gives one value has it in a frame.
  const keys = isRecord(v) ? Object.keys(v) : [];
  const framed = keys.length === 1 && ["result", "output", "error"].includes(keys[0]);
  const value = framed ? v[keys[0]] : v;
  return isNothing(value) ? transferred(s, t) || value : value;
}

/** isNothing says whether a tool gave nothing. @param {any} v */
function isNothing(v) {
  return v === null || v === undefined || v === ""
    || (typeof v === "object" && Object.keys(v).length === 0);
}

/** transferred says where control went, "" for what came of another call. @param {Session} s
 * @param {Thought} t */
function transferred(s, t) {
  const call = s.thoughts.nodes.find((n) => n.kind === "TOOL_CALL" && n.span === t.span);
  const args = call && call.label === "transfer_to_agent" ? parsed(call.detail || "") : null;
  return isRecord(args) && args.agent_name ? "Control went to " + args.agent_name + "." : "";
}

/** brief is a value in a few words. @param {any} v @returns {string} */
function brief(v) {
  if (v === null || v === undefined || v === "") return "–";
  if (typeof v !== "object") return clip(v, 80);
  if (!Array.isArray(v)) return plural(Object.keys(v).length, "field");
  const few = v.length > 0 && v.length <= 3 && v.every((x) => x === null || typeof x !== "object");
  return few ? v.map(brief).join(", ") : plural(v.length, "item");
}

/** isRecord says whether a value has fields. @param {any} v */
function isRecord(v) {
  return !!v && typeof v === "object" && !Array.isArray(v);
}

/** shapeOf chooses the form for a value: the longest list of things in it becomes the table.
 * @param {any} v @returns {Shape} */
function shapeOf(v) {
  if (isNothing(v)) return { text: "Nothing came back." };
  if (typeof v !== "object") return { text: String(v) };
  if (Array.isArray(v) && !v.every(isRecord)) {
    const more = v.length > 12 ? " and " + plural(v.length - 12, "more item") : "";
    return { text: v.slice(0, 12).map(brief).join(", ") + more };
  }
  /** @type {[string, any][]} */ const entries = Array.isArray(v) ? [["", v]] : Object.entries(v);
  const lists = entries.map(([, x]) => x).filter((x) => Array.isArray(x) && x.every(isRecord));
  const list = lists.sort((a, b) => b.length - a.length)[0] || [];
  const rest = entries.filter(([, x]) => list.length === 0 || x !== list);
  const most = list.length > 0 ? 3 : MOST.facts + 1, columns = tellingOf(list);
  const more = [];
  if (list.length > MOST.rows) more.push(plural(list.length - MOST.rows, "more row"));
  if (rest.length > most) more.push(plural(rest.length - most, "more field"));
  return {
    facts: rest.slice(0, most).map(([k, x]) => [words(k), brief(x)]),
    head: columns.map(words),
    rows: list.slice(0, MOST.rows).map((/** @type {any} */ x) => columns.map((c) => brief(x[c]))),
    more: more.length > 0 ? "+" + more.join(", ") : "",
  };
}

/** tellingOf are the fields that tell the things in a list apart, the name first.
 * @param {any[]} list @returns {string[]} */
function tellingOf(list) {
  const fields = groupBy(list.slice(0, 40).flatMap((x) => Object.entries(x)), ([k]) => k);
  /** @param {string} k */
  const named = (k) => /^(name|title|label|id|key)$|name$|^placement$/i.test(k);
  const scored = [...fields].map(([k, all], i) => {
    const differs = list.length === 1 || new Set(all.map(([, v]) => brief(v))).size > 1;
    const deep = all.some(([, v]) => v !== null && typeof v === "object");
    return { k, i, score: (named(k) ? 100 : 0) + (differs ? 20 : 0) - (deep ? 15 : 0) - i / 100 };
  });
  const best = scored.sort((a, b) => b.score - a.score).slice(0, MOST.columns);
  return best.sort((a, b) => Number(named(b.k)) - Number(named(a.k)) || a.i - b.i).map((x) => x.k);
}

/** shapeFace lays a form out. @param {Shape} shape @param {number} w @returns {Face} */
function shapeFace(shape, w) {
  if ("text" in shape) return textFace(shape.text, w, 4);
  const room = w - 2 * CARD.pad, x0 = CARD.pad;
  /** @type {Face} */ const face = { h: 0, words: [], rules: [] };
  let y = CARD.head;
  /** @param {string} text @param {number} x @param {string} cls */
  const put = (text, x, cls) => face.words.push({ text, x, y: y + 12, cls });
  const widest = Math.max(0, ...shape.facts.map(([k]) => textWidth(k, CARD.small)));
  const names = Math.min(room * 0.4, widest + 14);
  for (const [k, v] of shape.facts) {
    put(fitText(k, names - 8, CARD.small), x0, "tn-soft");
    put(fitText(v, room - names, CARD.small), x0 + names, "tn-cell");
    y += CARD.row;
  }
  const table = shape.rows.length > 0 ? [shape.head, ...shape.rows] : [];
  const widths = table.length > 0 ? columnWidths(table, room) : [];
  const right = shape.head.map((_, c) =>
    shape.rows.every((r) => /^[-+$€£]?[\d.,]+%?$|^–$/.test(r[c] || "–")));
  table.forEach((row, i) => {
    let x = x0;
    widths.forEach((cw, c) => {
      const text = fitText(row[c] || "–", cw - 12, CARD.small, i > 0 && c === 0);
      const cls = i === 0 ? "tn-soft" : ["tn-key", "tn-cell"][Math.min(c, 1)];
      if (right[c]) put(text, x + cw - 12, cls + " tn-right");
      else put(text, x, cls);
      x += cw;
    });
    y += CARD.row;
    if (i > 0) return;
    face.rules.push(y);
    y += 3;
  });
  if (shape.more) {
    put(shape.more, x0, "tn-soft");
    y += CARD.row;
  }
  face.h = y + 9;
  return face;
}

/** columnWidths shares room between columns: what is short gets all that it needs.
 * @param {string[][]} rows @param {number} room */
function columnWidths(rows, room) {
  const most = Math.max(1, Math.min(rows[0].length, Math.floor(room / 84)));
  const want = rows[0].slice(0, most)
    .map((_, c) => Math.max(...rows.map((r) => textWidth(clip(r[c], 80), CARD.small, c === 0)))
    + 13);
  let over = want.reduce((s, x) => s + x, 0) - room;
  while (over > 0.5) {
    const widest = want.indexOf(Math.max(...want)),
      next = Math.max(62, ...want.filter((_, i) => i !== widest));
    const cut = Math.min(over, Math.max(4, want[widest] - next));
    want[widest] -= cut;
    over -= cut;
  }
  return want;
}

// Where thoughts stand: the backbone straight along one axis, each tool call and what it
// observed beside it, between the thought that asked and the next one.

/** Distances between cards: below a thought, below a call, from the side, across. */
const THOUGHT_GAP = { next: 30, trip: 16, inset: 18, across: 46 };

/** columnsOf uses a width. @param {number} width @returns {Columns} */
function columnsOf(width) {
  const w = Math.max(300, Math.min(1500, width)), gap = THOUGHT_GAP.across;
  if (w < 560) return { bone: w, call: w - 34, seen: w - 34, callAt: 34, seenAt: 34, row: false,
    under: true };
  if (w < 820) {
    const bone = Math.round((w - gap) * 0.44), trip = w - gap - bone;
    return { bone, call: trip, seen: trip, callAt: bone + gap, seenAt: bone + gap, row: false,
      under: false };
  }
  const rest = w - 2 * gap + 10, bone = Math.round(rest * 0.34), call = Math.round(rest * 0.23);
  return { bone, call, seen: rest - bone - call, callAt: bone + gap,
    seenAt: bone + call + 2 * gap - 10, row: true, under: false };
}

/** bones are the places on the backbone in the order of the record. @param {Thoughts} t
 * @returns {Bone[]} */
function bones(t) {
  const byId = new Map(t.nodes.map((n) => [n.id, n]));
  /** @type {Bone[]} */ const out = [];
  /** @type {Map<string, Bone>} */ const at = new Map();
  /** @type {Map<string, string>} */ const asked = new Map(), observed = new Map();
  for (const e of t.edges) {
    if (e.kind === "calls") asked.set(e.to, e.from);
    if (e.kind === "observes") observed.set(e.from, e.to);
  }
  // What follows an answer or an action, such as a check, has no call of its own to stand behind.
  const seenBy = new Set([...observed].filter(([call]) => byId.get(call)?.kind === "TOOL_CALL")
    .map(([, seen]) => seen));
  for (const n of t.nodes) {
    if (n.kind === "TOOL_CALL" || n.kind === "OBSERVATION") {
      if (n.kind === "OBSERVATION" && seenBy.has(n.id)) continue;
      const bone = at.get(asked.get(n.id) || "") || out[out.length - 1];
      if (bone) bone.trips.push(n.kind === "TOOL_CALL" ? {
        call: n, seen: byId.get(observed.get(n.id) || "") || null } : { call: null, seen: n });
      if (bone) continue;
    }
    const b = { id: n.id, thought: n, turn: n.turn, trips: [], folded: [] };
    out.push(b);
    at.set(n.id, b);
  }
  return out;
}

/** foldTurns makes one place of each collapsed turn. @param {Bone[]} all
 * @param {Set<number>} folded @returns {Bone[]} */
function foldTurns(all, folded) {
  /** @type {Bone[]} */ const out = [];
  for (const b of all) {
    const last = out.at(-1), { thought, turn } = b;
    if (!folded.has(turn)) {
      out.push(b);
      continue;
    }
    const these = [thought, ...b.trips.flatMap((t) => [t.call, t.seen])].flatMap((t) => t || []);
    if (last && last.folded.length > 0 && last.turn === turn) last.folded.push(...these);
    else out.push({ id: "turn\u0001" + turn + "\u0001" + out.length, thought, turn, trips: [],
      folded: these });
  }
  return out;
}

/** placeThoughts draws the shape. @param {Session} s @param {ThoughtShape} shape
 * @param {Set<number>} foldedTurns @param {Set<string>} foldedTrips ids of thoughts
 * @param {number} width what there is room for @returns {ThoughtDrawing} */
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
    const r = around(all.flatMap(cornersOf));
    d.bounds = { x: r.x - 10, y: r.y - 10, w: r.w + 36, h: r.h + 20 };
  }
  return d;
}

/** run places a stretch of the backbone downwards and returns how far it reaches.
 * @param {ThoughtDrawing} d @param {Session} s @param {Bone[]} list @param {Columns} c
 * @param {Set<string>} foldedTrips @param {Point} from @returns {{w: number, h: number}} */
function run(d, s, list, c, foldedTrips, from) {
  let y = from.y, wide = c.bone;
  for (const b of list) {
    const folded = foldedTrips.has(b.id), turn = b.folded.length > 0;
    const face = turn ? textFace(plural(b.folded.length, "step") + ": " + b.thought.label, c.bone,
      2) : faceOf(s, b.thought, c.bone);
    d.cards.push({ id: b.id, rect: { x: from.x, y, w: c.bone, h: face.h }, bone: b,
      thought: b.thought, hidden: folded ? b.trips.length : b.folded.length, face });
    let foot = y + face.h, at = c.under ? foot + THOUGHT_GAP.trip : y;
    for (const trip of folded ? [] : b.trips) {
      let low = at;
      for (const n of [trip.call, trip.seen]) {
        if (!n) continue;
        const call = n === trip.call, w = call ? c.call : c.seen, f = faceOf(s, n, w);
        const top = call || c.row || !trip.call ? at : low + THOUGHT_GAP.trip;
        d.cards.push({ id: n.id, rect: { x: from.x + (call ? c.callAt : c.seenAt), y: top, w,
          h: f.h }, bone: null, thought: n, hidden: 0, face: f });
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

/** clusters places a box for each turn, in rows. @param {ThoughtDrawing} d @param {Session} s
 * @param {Bone[]} list @param {Set<string>} foldedTrips @param {number} width */
function clusters(d, s, list, foldedTrips, width) {
  /** @type {Bone[][]} */ const groups = [];
  for (const b of list) {
    const last = groups[groups.length - 1];
    if (last && last[0].turn === b.turn) last.push(b);
    else groups.push([b]);
  }
  const c = columnsOf(Math.min(700, width));
  const sized = groups.map((g) =>
    ({ g, ...run({ cards: [], lines: [], turns: [], bounds: d.bounds }, s, g, c, foldedTrips,
    { x: 0, y: 0 }) }));
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

/** connect adds the lines between what is shown. @param {ThoughtDrawing} d @param {Thoughts} t
 * @param {Bone[]} list @param {Set<string>} foldedTrips @param {ThoughtShape} shape */
function connect(d, t, list, foldedTrips, shape) {
  /** @type {Map<string, string>} */ const shown = new Map();
  for (const b of list) {
    shown.set(b.thought.id, b.id);
    for (const f of b.folded) shown.set(f.id, b.id);
    if (foldedTrips.has(b.id)) for (const x of b.trips) for (const n of [x.call, x.seen]) if (
      n) shown.set(n.id, "");
  }
  const drawn = new Map(d.cards.map((c) => [c.id, c]));
  /** @type {Set<string>} */ const had = new Set();
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

/** thoughtLine are the corners of a line between two cards. Lines run down on the left of cards,
 * from card to card at the height of their titles, and back to a thought on the right.
 * @param {ThoughtCard} from @param {ThoughtCard} to @param {string} kind
 * @param {ThoughtShape} shape @returns {Point[]} */
function thoughtLine(from, to, kind, shape) {
  const a = from.rect, b = to.rect, inset = THOUGHT_GAP.inset, right = a.x + a.w, foot = a.y + a.h;
  const level = { x: right, y: a.y + inset }, into = { x: b.x - 3, y: b.y + inset };
  if (Math.abs(a.y - b.y) < 1 && b.x > right) return [level, into];
  const other = to.bone !== null && (from.bone !== null || kind === "returns");
  if (other && (shape === "horizontal" ? b.x > a.x : b.x > right || b.y + b.h < a.y)) {
    // To the thought at the right, or in another box.
    const by = kind === "next" ? 24 : 16,
      at = { x: b.x - by, y: kind === "next" ? into.y : into.y + 16 };
    const start = from.bone && shape !== "horizontal" ? [
      { x: a.x + inset, y: foot }, { x: a.x + inset, y: foot + by - 8 },
      { x: at.x, y: foot + by - 8 }] : [level, { x: at.x, y: level.y }];
    return [...start, at, { x: into.x, y: at.y }];
  }
  if (b.x >= right) return [level, { x: (right + b.x) / 2, y: level.y },
    { x: (right + b.x) / 2, y: into.y }, into];
  // What hangs under a thought is further in.
  if (from.bone && !to.bone) return [{ x: a.x + inset, y: foot }, { x: a.x + inset, y: into.y },
    into];
  if (Math.abs(a.x - b.x) < 1) return [{ x: a.x + inset, y: foot }, { x: a.x + inset, y: b.y - 3 }];
  if (to.bone) {
    const turn = b.y - 12, x = b.x + Math.min(b.w - 40, 160);
    return [level, { x: right + 14, y: level.y }, { x: right + 14, y: turn }, { x, y: turn },
      { x, y: b.y - 3 }];
  }
  return [{ x: a.x + inset, y: foot }, { x: a.x + inset, y: b.y - 8 }, { x: b.x + 60, y: b.y - 8 },
    { x: b.x + 60, y: b.y - 3 }];
}
