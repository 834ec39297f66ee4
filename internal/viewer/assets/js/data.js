// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Where the data comes from: the JSON in the page, or the server that the page came from.

/** unshared reads JSON. Where it has two lines, the first one is a list of texts, and in the
 * second one "~n" stands for the text at place n. @param {string} text */
function unshared(text) {
  const end = text.indexOf("\n");
  if (end < 0) return JSON.parse(text);
  /** @type {string[]} */ const texts = JSON.parse(text.slice(0, end)).map(JSON.stringify);
  return JSON.parse(text.slice(end).replace(/(?<!\\)"~(\d+)"/g, (_, n) => texts[n]));
}

/** inflated is what the page holds. @param {string} text */
async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return unshared(await new Response(plain).text());
}

/** readPage reads what the page holds: JSON, compressed, in base 64. */
async function readPage() {
  const again = "write it again with “contextgraph view”.";
  const el = document.getElementById("cg-data");
  if (!el) throw new Error("This page holds no data: " + again);
  if (!("DecompressionStream" in window)) {
    throw new Error("The data of this page is compressed, and this browser cannot decompress it. "
      + "Use Chrome or Edge 93, Firefox 113, Safari 16.4, or a later one, "
      + "or read the sessions with “contextgraph trace”.");
  }
  /** @type {PageData} */ let d;
  try {
    d = await inflated(el.textContent || "");
  } catch (err) {
    throw new Error("The data of this page cannot be read (" + err + "). "
      + "The file may be cut off: copy it again, or " + again);
  }
  Object.assign(WORDS, d.words);
  lists(d, "list", "sessions", "queries");
  d.code = d.code || {};
  return d;
}

/** lists puts an empty list where Go wrote null, so that no view has to ask. @template T
 * @param {T} o @param {(keyof T)[]} names */
function lists(o, ...names) {
  for (const n of names) o[n] = o[n] || /** @type {any} */ ([]);
}

/** wholeSession has every list. @param {Session} s */
function wholeSession(s) {
  lists(s, "agents", "models", "problems", "spans", "edges", "entities", "approvals", "rows");
  lists(s, "critical_path", "left");
  lists(s.thoughts, "nodes", "edges");
  for (const p of s.spans) lists(p, "rows");
  for (const e of s.entities) {
    typeLook(e.type); // which is the order of the colours
    e.attributes = e.attributes || {};
    lists(e, "sources", "evaluated");
  }
  for (const a of s.approvals) {
    lists(a, "warnings", "entities", "answers", "checks", "why", "costs", "consents", "progress");
    lists(a, "findings", "can");
    for (const w of a.why) lists(w, "path");
    a.checks.forEach(wholeCheck);
  }
  s.gists = s.rows.map((_, i) => ({ ...s.gists?.[i], loaded: false }));
  markLeft(s);
  return filled(s);
}

/** markLeft marks what the session left. @param {Session} s */
function markLeft(s) {
  for (const l of s.left) for (const i of l.rows) s.rows[i].left = l;
  for (const p of s.spans) p.left = s.rows[p.rows[0]]?.left;
  for (const e of s.entities) {
    const rows = e.evaluated.map((x) => s.rows[x.row]);
    if (rows.every((r) => r?.left)) e.left = rows[0]?.left;
  }
}

/** filled adds what Go left out because it stands elsewhere in the session. @param {Session} s */
function filled(s) {
  for (const p of s.spans) {
    for (const r of p.rows.flatMap((i) => s.rows[i] || [])) {
      r.span ||= p.key;
      r.span_id ||= p.span_id;
    }
  }
  for (const t of s.thoughts.nodes) if (s.rows[t.row]) t.span ||= s.rows[t.row].span;
  for (const e of s.entities) for (const x of e.evaluated) x.span ||= s.rows[x.row]?.span || "";
  return withCalls(s);
}

/** withCalls gives thoughts the text of the call that their row begins, or of what came of it.
 * @param {Session} s */
function withCalls(s) {
  for (const t of s.thoughts.nodes) {
    const r = s.rows[t.row];
    const name = r && { TOOL_STARTING: "args", TOOL_COMPLETED: "result" }[r.event_type];
    if (name && r.content && !t.detail) t.detail = JSON.stringify(r.content[name]);
  }
  return s;
}

/** keepPayloads gives a session that was read again the payloads that were there.
 * @param {Session} s @param {Session} before */
function keepPayloads(s, before) {
  before.gists.forEach((g, i) => {
    const { event_id, content, content_parts, attributes } = before.rows[i];
    if (!g.loaded || s.rows[i]?.event_id !== event_id) return;
    Object.assign(s.rows[i], { content, content_parts, attributes });
    s.gists[i].loaded = true;
  });
  withCalls(s);
}

/** @param {Check} c */
function wholeCheck(c) {
  lists(c, "alerts", "warnings", "failures", "entities", "costs", "findings");
  return c;
}

/** @param {InboxItem} i */
function wholeItem(i) {
  lists(i, "findings", "can", "consents", "warnings");
  return i;
}

/** StaticData answers from the page alone. */
class StaticData {
  /** @param {PageData} page */
  constructor(page) {
    this.page = page;
    this.events = new Emitter();
    for (const s of page.list) lists(s, "agents", "models");
    // Their order is that of the colours.
    for (const s of page.sessions) for (const e of s.entities || []) typeLook(e.type);
    this.sessions = new Map(page.sessions.map((s) => [sessionPath(s.session), s]));
    /** @type {Set<Session>} */ this.opened = new Set();
  }

  /** @param {ListQuery} q */
  async list(q) {
    const want = q.q.trim().toLowerCase();
    const found = this.page.list.filter((s) => {
      const { app, user, id } = s.session;
      if ((q.app && app !== q.app) || (q.user && user !== q.user)) return false;
      if (q.status.length > 0 && !q.status.includes(s.status)) return false;
      return [id, user, app, s.title, ...s.agents].join("\n").toLowerCase().includes(want);
    });
    const from = Number(q.after || 0), to = from + q.limit;
    return { sessions: found.slice(from, to), next: to < found.length ? String(to) : "" };
  }

  /** @param {SessionKey} k */
  async session(k) {
    const s = this.sessions.get(sessionPath(k));
    if (!s) return null;
    if (!this.opened.has(s)) {
      this.opened.add(wholeSession(s));
      for (const g of s.gists) g.loaded = true;
    }
    return { session: s, code: this.page.code[k.app + "/" + k.user + "/" + k.id] || [] };
  }

  /** load has nothing to do: the file has all payloads. @param {Session} _s
   * @param {number[]} _rows */
  async load(_s, _rows) {}

  /** inbox has the requests that waited when the file was written. */
  async inbox() {
    return (this.page.inbox || []).map(wholeItem);
  }

  /** No button calls it in a file. @param {any[]} _ @returns {Promise<never>} */
  async check(..._) {
    throw new Error("This page is a file and can only be read.");
  }

  /** @param {Decision} _ */
  decide(_) {
    return this.check();
  }
}

/** LiveData asks the server, and hears from it when something changed. */
class LiveData {
  constructor() {
    this.events = new Emitter();
    /** The payloads that the next request asks for.
     * @type {{session: Session, rows: Set<number>, done: Promise<void>}|null} */
    this.wanted = null;
    const source = new EventSource("api/changes");
    let timer = 0;
    source.addEventListener("changed", () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => this.events.emit("changed"), 250);
    });
    source.addEventListener("open", () => this.events.emit("online", true));
    source.addEventListener("error", () => this.events.emit("online", false));
  }

  /** @param {string} path @param {Record<string, string|string[]>} params */
  async get(path, params) {
    const q = new URLSearchParams();
    for (const [k, v] of Object.entries(params)) for (const x of [v].flat()) if (x) q.append(k, x);
    return readAnswer(await fetch(path + "?" + q));
  }

  /** @param {ListQuery} q @returns {Promise<ListPage>} */
  async list(q) {
    const ask = { ...q, q: q.q.trim(), after: q.after || "", limit: String(q.limit) };
    const p = await this.get("api/sessions", ask);
    for (const s of p.sessions) lists(s, "agents", "models");
    return { sessions: p.sessions, next: p.next || "" };
  }

  /** @param {SessionKey} k */
  async session(k) {
    const p = await this.get("api/session", { ...k });
    return { session: wholeSession(p.session), code: p.code || [] };
  }

  /** load brings the payloads of rows that are not there yet. Rows that are asked for at once
   * come together. @param {Session} s @param {number[]} rows */
  load(s, rows) {
    const missing = rows.filter((i) => !s.gists[i].loaded);
    if (missing.length === 0) return Promise.resolve();
    if (this.wanted?.session !== s) {
      /** @type {Set<number>} */ const all = new Set();
      const done = Promise.resolve().then(() => {
        if (this.wanted?.rows === all) this.wanted = null;
        return this.fetchPayloads(s, [...all].sort((a, b) => a - b));
      });
      this.wanted = { session: s, rows: all, done };
    }
    for (const i of missing) this.wanted.rows.add(i);
    return this.wanted.done;
  }

  /** fetchPayloads asks for rows, and for the few between them, until all are there.
   * @param {Session} s @param {number[]} rows sorted */
  async fetchPayloads(s, rows) {
    for (let i = 0; i < rows.length; ) {
      let next = rows[i], to = next + 1;
      while (++i < rows.length && rows[i] - to < 20) to = rows[i] + 1;
      while (next < to) {
        const ask = { ...s.session, from: String(next), to: String(to) };
        const p = await this.get("api/payloads", ask);
        if (p.rows.length === 0) throw new Error("The session has fewer rows now. Open it again.");
        for (const r of p.rows) {
          const { event_id, content, content_parts, attributes } = r;
          if (s.rows[next]?.event_id !== event_id) {
            throw new Error("The session has changed. Open it again.");
          }
          Object.assign(s.rows[next], { content, content_parts, attributes });
          s.gists[next++].loaded = true;
        }
      }
    }
    withCalls(s);
  }

  async inbox() {
    const p = await this.get("api/inbox", {});
    return (p.items || []).map(wholeItem);
  }

  /** post sends JSON. @param {string} path @param {SessionKey} s @param {object} body
   * @param {string} [token] */
  async post(path, s, body, token) {
    /** @type {Record<string, string>} */ const headers = { "Content-Type": "application/json" };
    if (token) headers.Authorization = "Bearer " + token;
    const text = JSON.stringify({ app: s.app, user: s.user, session: s.id, ...body });
    return readAnswer(await fetch(path, { method: "POST", headers, body: text }));
  }

  /** check asks the world now. It changes nothing. @param {SessionKey} s @param {string} id */
  async check(s, id) {
    const f = await this.post("api/check", s, { approval_id: id });
    return { ...f, check: f.check && wholeCheck(f.check), needs_agent: f.needs_agent || {} };
  }

  /** decide sends an answer. It resolves when the answer was sent: what comes of it is in the
   * record. @param {Decision} d */
  async decide(d) {
    const { session, token, approval_id, confirmation_id, reply } = d;
    const sent = await this.post("api/decide", session, { approval_id, confirmation_id, ...reply },
      token);
    return sent.message || "The answer was sent.";
  }
}

/** readAnswer gives the JSON of an answer, or throws what the server said was wrong.
 * @param {Response} res */
async function readAnswer(res) {
  /** @type {any} */ let body = null;
  try {
    body = unshared(await res.text());
  } catch {
    // An answer that is no JSON has its status alone.
  }
  if (res.ok) return body || {};
  const text = body?.error || "the server answered " + res.status + " " + res.statusText;
  throw Object.assign(new Error(text), { status: res.status });
}
