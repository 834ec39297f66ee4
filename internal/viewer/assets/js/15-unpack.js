// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// The form in which the page gets its data, see package viewer: compressed text, and sessions packed
// into tables.

/** bytesOf reads base 85, in which v, w and x stand for the digits "<", ">" and "&", and z for four zeros. @param {string} text */
function bytesOf(text) {
  const out = new Uint8Array(text.length * 4);
  let n = 0, digits = 0, sum = 0;
  /** @param {number} d */
  const add = (d) => {
    sum = sum * 85 + d;
    if (++digits < 5) return;
    out[n++] = sum >>> 24;
    out[n++] = sum >>> 16;
    out[n++] = sum >>> 8;
    out[n++] = sum;
    digits = sum = 0;
  };
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 122) n += 4;
    else add((c < 118 ? c : [60, 62, 38][c - 118]) - 33);
  }
  const missing = (5 - digits) % 5;
  for (let i = 0; i < missing; i++) add(84);
  return out.subarray(0, n - missing);
}

/** inflated is what a compressed text says. @param {string} text @returns {Promise<any>} */
async function inflated(text) {
  return new Response(new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** instant is a time as Go writes it. @param {number} us microseconds since 1970 */
function instant(us) {
  const s = Math.floor(us / 1e6), part = us - s * 1e6;
  return new Date(s * 1000).toISOString().slice(0, 19) + (part > 0 ? ("." + String(part).padStart(6, "0")).replace(/0+$/, "") : "") + "Z";
}

/** columnOf reads a column of a table; null is where an object lacks the field. @param {string} sign @param {any} column @returns {any[]} */
function columnOf(sign, column) {
  if (sign === "#") {
    const digits = [...atob(column.all)].map((c) => c.charCodeAt(0).toString(16).padStart(2, "0")).join(""), each = 2 * column.bytes;
    return Array.from({ length: digits.length / each }, (_, i) => digits.slice(i * each, (i + 1) * each));
  }
  if (sign !== "+" && sign !== "@") return column;
  let sum = 0;
  return column.map((/** @type {number|null} */ d) => (d === null ? null : sign === "@" ? instant((sum += d)) : (sum += d)));
}

/** objectsOf makes a list of objects of a table. @param {Record<string, any>} table @returns {any[]} */
function objectsOf(table) {
  /** @type {any[]} */
  const out = [];
  for (const [name, column] of Object.entries(table)) {
    const sign = "+@#".includes(name[0]) ? name[0] : "", field = name.slice(sign.length);
    columnOf(sign, column).forEach((v, i) => {
      const o = (out[i] = out[i] || {});
      if (v !== null) o[field] = v;
    });
  }
  return out;
}

/** unpack makes a session of a packed one. @param {any} p @returns {Session} */
function unpack(p) {
  const spans = objectsOf(p.spans), rows = objectsOf(p.rows), known = objectsOf(p.gists);
  /** @type {Gist[]} */
  const gists = rows.map((_, i) => known[i] || {});
  /** @param {any} ref */
  const key = (ref) => (typeof ref === "number" ? spans[ref].key : ref);
  /** @param {any} o @param {string} field @param {any} v */
  const lacks = (o, field, v) => {
    if (o[field] === undefined) o[field] = v;
  };
  /** @type {number[][]} */
  const own = spans.map(() => []);
  rows.forEach((r, i) => {
    if (p.payloads) fillRow({ rows, gists }, i, p.payloads[i]);
    if (typeof r.span !== "number") return;
    const sp = spans[r.span];
    own[r.span].push(i);
    r.span = sp.key;
    lacks(r, "span_id", sp.span_id);
    lacks(r, "trace_id", sp.trace_id);
  });
  spans.forEach((sp, i) => {
    lacks(sp, "rows", own[i]);
    if (sp.parent !== undefined) sp.parent = key(sp.parent);
    lacks(sp, "start", rows[sp.rows[0]]?.timestamp);
    lacks(sp, "end", rows[sp.rows[sp.rows.length - 1]]?.timestamp);
  });
  const nodes = objectsOf(p.thoughts.nodes).map((t, i) => {
    const r = rows[t.row] || {}, calls = t.kind === "TOOL_CALL" || t.kind === "OBSERVATION";
    if (p.payloads && calls && r.content) lacks(t, "detail", JSON.stringify(r.event_type === "TOOL_STARTING" ? r.content.args : r.event_type === "TOOL_COMPLETED" ? r.content.result : undefined));
    lacks(t, "label", shortened(t.detail || ""));
    lacks(t, "at", r.timestamp);
    lacks(t, "span", r.span);
    return { ...t, id: "t" + (i + 1) };
  });
  const node = (/** @type {number} */ i) => nodes[i].id;
  return {
    ...p, spans, rows, gists, payloads: undefined,
    edges: objectsOf(p.edges).map((e) => ({ ...e, from: key(e.from), to: key(e.to) })),
    critical_path: objectsOf(p.critical_path).map((x) => key(x.key)),
    thoughts: { nodes, edges: objectsOf(p.thoughts.edges).map((e) => ({ ...e, from: node(e.from), to: node(e.to) })) },
    entities: p.entities.map((/** @type {any} */ e) => ({ ...e, evaluated: objectsOf(e.evaluated).map((x) => {
      const r = rows[x.row] || {};
      lacks(x, "seen_at", r.timestamp);
      lacks(x, "span", r.span);
      x.span = key(x.span);
      return x;
    }) })),
  };
}

/** fillRow gives a row its payload. @param {{rows: Row[], gists: Gist[]}} s @param {number} i @param {any[]} payload */
function fillRow(s, i, payload) {
  const names = /** @type {const} */ (["content", "content_parts", "attributes"]);
  payload.forEach((v, n) => {
    if (v !== null) s.rows[i][names[n]] = v;
  });
  s.gists[i].loaded = true;
}

/** keepPayloads gives a session that was read again the payloads that were there. @param {Session} s @param {Session} before */
function keepPayloads(s, before) {
  before.gists.forEach((g, i) => {
    const { event_id, content, content_parts, attributes } = before.rows[i];
    if (g.loaded && s.rows[i]?.event_id === event_id) fillRow(s, i, [content ?? null, content_parts ?? null, attributes ?? null]);
  });
}

/** shortened is the beginning of a text, as the label of a thought has it. @param {string} text */
function shortened(text) {
  const head = [...text.slice(0, 200)];
  return head.length <= 80 ? head.join("") : head.slice(0, 79).join("") + "…";
}
