// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// What stands on the card of a thought: its text in lines, the arguments of a call in short, what
// was observed as a table of a few rows.

/**
 * @typedef {{text: string, x: number, y: number, cls: string}} Word x and y count from the upper left of the card
 * @typedef {{h: number, words: Word[], rules: number[]}} Face rules are the heights of lines across
 * @typedef {{text: string}|{facts: [string, string][], head: string[], rows: string[][], more: string}} Shape
 */

/** Sizes on a card, in pixels. */
const CARD = { pad: 12, head: 26, line: 16, row: 17, text: 12.5, small: 12 };

/** What is shown of an observation at most. */
const MOST = { rows: 4, columns: 4, facts: 4, lines: 5 };

/** faceOf lays out what a card says. @param {Session} s @param {Thought} t @param {number} w @returns {Face} */
function faceOf(s, t, w) {
  if (t.kind === "TOOL_CALL") return callFace(t, w);
  if (t.kind === "OBSERVATION") return shapeFace(shapeOf(observed(s, t)), w);
  // What a thought called stands on the cards beside it.
  const text = (t.detail || "").replace(/^call \S+ \{.*$/gm, "").trim() || t.label;
  return textFace(text, w, MOST.lines);
}

/** textFace keeps the lines of a text apart. @param {string} text @param {number} w @param {number} most @returns {Face} */
function textFace(text, w, most) {
  /** @type {string[]} */
  const lines = [];
  const parts = text.slice(0, 4000).split("\n").filter((l) => l.trim());
  for (const [i, part] of parts.entries()) {
    if (lines.length === most) break;
    lines.push(...wrapText(readable(part), w - 2 * CARD.pad, CARD.text, most - lines.length));
    if (lines.length === most && i < parts.length - 1) lines[most - 1] = fitText(lines[most - 1].replace(/…$/, "") + " …", w - 2 * CARD.pad, CARD.text);
  }
  return { h: CARD.head + lines.length * CARD.line + 10, words: lines.map((l, i) => ({ text: l, x: CARD.pad, y: CARD.head + 12 + i * CARD.line, cls: "tn-text" })), rules: [] };
}

/** @param {Thought} t @param {number} w @returns {Face} */
function callFace(t, w) {
  const args = parsed(t.detail || "");
  const short = isRecord(args) ? namesAndValues(args) : t.detail || "";
  const name = wrapText(t.label, w - 2 * CARD.pad, CARD.text, 2, true), lines = short ? wrapText(short, w - 2 * CARD.pad, CARD.small, 3) : [];
  return {
    h: CARD.head + (name.length + lines.length) * CARD.line + 10, rules: [],
    words: [...name.map((text) => ({ text, cls: "tn-name" })), ...lines.map((text) => ({ text, cls: "tn-soft" }))].map((x, i) => ({ ...x, x: CARD.pad, y: CARD.head + 12 + i * CARD.line })),
  };
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

/** parsed is a text as the value that it writes, or as it is. @param {string} text @returns {any} */
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
  if (t.status === "ERROR" && row && row.error_message) return row.error_message;
  const content = row && row.event_type === "TOOL_COMPLETED" ? row.content : null;
  const v = content && typeof content === "object" && content.result !== undefined ? content.result : parsed(t.detail || "");
  // A tool that gives one value has it in a frame.
  const keys = v && typeof v === "object" && !Array.isArray(v) ? Object.keys(v) : [];
  return keys.length === 1 && ["result", "output", "error"].includes(keys[0]) ? v[keys[0]] : v;
}

/** brief is a value in a few words. @param {any} v @returns {string} */
function brief(v) {
  if (v === null || v === undefined || v === "") return "–";
  if (Array.isArray(v)) return v.length > 0 && v.length <= 3 && v.every((x) => x === null || typeof x !== "object") ? v.map(brief).join(", ") : plural(v.length, "item");
  if (typeof v === "object") return plural(Object.keys(v).length, "field");
  return clip(v, 80);
}

/** isRecord says whether a value has fields. @param {any} v */
function isRecord(v) {
  return !!v && typeof v === "object" && !Array.isArray(v);
}

/** shapeOf chooses the form for a value: the longest list of things in it becomes the table. @param {any} v @returns {Shape} */
function shapeOf(v) {
  if (v === null || v === undefined || v === "" || (typeof v === "object" && Object.keys(v).length === 0)) return { text: "Nothing came back." };
  if (typeof v !== "object") return { text: String(v) };
  if (Array.isArray(v) && !v.every(isRecord)) return { text: v.slice(0, 12).map(brief).join(", ") + (v.length > 12 ? " and " + plural(v.length - 12, "more item") : "") };
  const entries = Array.isArray(v) ? /** @type {[string, any][]} */ ([["", v]]) : Object.entries(v);
  const lists = entries.filter(([, x]) => Array.isArray(x) && x.length > 0 && x.every(isRecord)).sort((a, b) => b[1].length - a[1].length);
  const list = lists.length > 0 ? lists[0] : null;
  const rest = entries.filter(([, x]) => !list || x !== list[1]);
  const most = list ? 3 : MOST.facts + 1;
  const facts = rest.slice(0, most).map(([k, x]) => /** @type {[string, string]} */ ([words(k), brief(x)]));
  const more = rest.length > most ? [plural(rest.length - most, "more field")] : [];
  if (!list) return { facts, head: [], rows: [], more: more.map((x) => "+" + x).join() };
  const columns = tellingOf(list[1]);
  const left = list[1].length - MOST.rows;
  if (left > 0) more.unshift(plural(left, "more row"));
  return { facts, head: columns.map(words), rows: list[1].slice(0, MOST.rows).map((/** @type {any} */ x) => columns.map((c) => brief(x[c]))), more: more.length > 0 ? "+" + more.join(", ") : "" };
}

/** tellingOf are the fields that tell the things in a list apart, the name first. @param {any[]} list @returns {string[]} */
function tellingOf(list) {
  /** @type {Map<string, Set<string>>} */
  const values = new Map();
  /** @type {Set<string>} */
  const deep = new Set();
  for (const x of list.slice(0, 40)) {
    for (const [k, v] of Object.entries(x)) {
      if (v !== null && typeof v === "object") deep.add(k);
      values.set(k, (values.get(k) || new Set()).add(brief(v)));
    }
  }
  /** @param {string} k */
  const named = (k) => /^(name|title|label|id|key)$|name$|^placement$/i.test(k);
  const scored = [...values].map(([k, set], i) => ({ k, i, score: (named(k) ? 100 : 0) + (set.size > 1 || list.length === 1 ? 20 : 0) - (deep.has(k) ? 15 : 0) - i / 100 }));
  const best = scored.sort((a, b) => b.score - a.score).slice(0, MOST.columns);
  return best.sort((a, b) => Number(named(b.k)) - Number(named(a.k)) || a.i - b.i).map((x) => x.k);
}

/** shapeFace lays a form out. @param {Shape} shape @param {number} w @returns {Face} */
function shapeFace(shape, w) {
  if ("text" in shape) return textFace(shape.text, w, 4);
  const room = w - 2 * CARD.pad;
  /** @type {Face} */
  const face = { h: 0, words: [], rules: [] };
  let y = CARD.head;
  /** @param {string} text @param {number} x @param {string} cls */
  const put = (text, x, cls) => face.words.push({ text, x, y: y + 12, cls });
  const names = Math.min(room * 0.4, Math.max(0, ...shape.facts.map(([k]) => textWidth(k, CARD.small))) + 14);
  for (const [k, v] of shape.facts) {
    put(fitText(k, names - 8, CARD.small), CARD.pad, "tn-soft");
    put(fitText(v, room - names, CARD.small), CARD.pad + names, "tn-cell");
    y += CARD.row;
  }
  if (shape.rows.length > 0) {
    const widths = columnWidths([shape.head, ...shape.rows], room);
    const right = shape.head.map((_, c) => shape.rows.every((r) => /^[-+$€£]?[\d.,]+%?$|^–$/.test(r[c] || "–")));
    [shape.head, ...shape.rows].forEach((row, i) => {
      let x = CARD.pad;
      widths.forEach((cw, c) => {
        const text = fitText(row[c] || "–", cw - 12, CARD.small, i > 0 && c === 0);
        put(text, right[c] ? x + cw - 12 : x, (i === 0 ? "tn-soft" : c === 0 ? "tn-key" : "tn-cell") + (right[c] ? " tn-right" : ""));
        x += cw;
      });
      y += CARD.row;
      if (i === 0) face.rules.push(y);
      if (i === 0) y += 3;
    });
  }
  if (shape.more) {
    put(shape.more, CARD.pad, "tn-soft");
    y += CARD.row;
  }
  face.h = y + 9;
  return face;
}

/** columnWidths shares room between columns: what is short gets all that it needs. @param {string[][]} rows @param {number} room */
function columnWidths(rows, room) {
  const most = Math.max(1, Math.min(rows[0].length, Math.floor(room / 84)));
  const want = rows[0].slice(0, most).map((_, c) => Math.max(...rows.map((r) => textWidth(clip(r[c], 80), CARD.small, c === 0))) + 13);
  let over = want.reduce((s, x) => s + x, 0) - room;
  while (over > 0.5) {
    const widest = want.indexOf(Math.max(...want)), next = Math.max(62, ...want.filter((_, i) => i !== widest));
    const cut = Math.min(over, Math.max(4, want[widest] - next));
    want[widest] -= cut;
    over -= cut;
  }
  return want;
}
