// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Where the data comes from: the JSON in the page, or the server that the page came from.

/**
 * inflated is what the page holds: two lines, compressed. In the second, JSON, "~n" stands for the text at
 * place n of the list in the first.
 * @param {string} text @returns {Promise<any>}
 */
async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const lines = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const end = lines.indexOf("\n");
  const texts = JSON.parse(lines.slice(0, end)).map((/** @type {string} */ t) => JSON.stringify(t));
  return JSON.parse(lines.slice(end).replace(/(?<!\\)"~(\d+)"/g, (_, n) => texts[n]));
}

/**
 * readPage reads what the page holds. A page of a later format is not guessed at.
 * @returns {Promise<PageData>}
 */
async function readPage() {
  const el = document.getElementById("cg-data");
  if (!el) throw new Error("This page holds no data. Write it again with “contextgraph view”.");
  if (!("DecompressionStream" in window)) throw new Error("The data of this page is compressed, and this browser cannot decompress it. Use Chrome or Edge 80, Firefox 113, Safari 16.4, or a later one, or read the sessions with “contextgraph trace”.");
  /** @type {PageData} */
  let d;
  try {
    d = await inflated(el.textContent || "");
  } catch (err) {
    throw new Error("The data of this page cannot be read (" + err + "). The file may be cut off: copy it again, or write it again with “contextgraph view”.");
  }
  if (d.format !== 3) throw new Error("The data of this page has the format " + d.format + "; this page reads format 3. Write it again with “contextgraph view”.");
  Object.assign(WORDS, d.words);
  d.list = d.list || [];
  d.sessions = d.sessions || [];
  d.queries = d.queries || [];
  d.code = d.code || {};
  return d;
}

/** lists puts an empty list where Go wrote null, so that no view has to ask. @template T @param {T} o @param {(keyof T)[]} names */
function lists(o, ...names) {
  for (const n of names) o[n] = o[n] || /** @type {any} */ ([]);
}

/** wholeSession has every list. @param {Session} s */
function wholeSession(s) {
  wholeSummary(s);
  lists(s, "problems", "spans", "edges", "entities", "approvals", "rows", "critical_path");
  s.thoughts = s.thoughts || { nodes: [], edges: [] };
  lists(s.thoughts, "nodes", "edges");
  s.gists = s.rows.map((_, i) => s.gists?.[i] || {});
  for (const t of s.thoughts.nodes) if (!t.detail && s.rows[t.row]) t.detail = calledText(s.rows[t.row]);
  for (const p of s.spans) lists(p, "rows");
  for (const e of s.entities) {
    typeLook(e.type); // which is the order of the colours
    e.attributes = e.attributes || {};
    lists(e, "sources", "evaluated");
  }
  for (const a of s.approvals) {
    lists(a, "warnings", "entities", "answers", "checks", "why", "costs", "consents", "progress", "findings", "can");
    for (const w of a.why) lists(w, "path");
    a.checks.forEach(wholeCheck);
  }
  return s;
}

/** calledText is the text of the call that a row begins, or of what came of it. @param {Row} r */
function calledText(r) {
  const name = { TOOL_STARTING: "args", TOOL_COMPLETED: "result" }[r.event_type];
  return name && r.content ? JSON.stringify(r.content[name]) : undefined;
}

/** keepPayloads gives a session that was read again the payloads that were there. @param {Session} s @param {Session} before */
function keepPayloads(s, before) {
  before.gists.forEach((g, i) => {
    const { event_id, content, content_parts, attributes } = before.rows[i];
    if (g.loaded && s.rows[i]?.event_id === event_id) fillRow(s, i, { content, content_parts, attributes });
  });
}

/** fillRow gives a row its payload. @param {Session} s @param {number} i @param {Partial<Row>} payload */
function fillRow(s, i, payload) {
  Object.assign(s.rows[i], payload);
  s.gists[i].loaded = true;
}

/** wholeCheck has every list. @param {Check} c */
function wholeCheck(c) {
  lists(c, "entities", "alerts", "warnings", "failures", "costs", "findings");
  return c;
}

/** wholeItem has every list. @param {InboxItem} i */
function wholeItem(i) {
  lists(i, "findings", "can", "consents", "warnings");
  return i;
}

/**
 * @template {{agents: string[], models: string[], tokens: Tokens}} T
 * @param {T} s
 */
function wholeSummary(s) {
  lists(s, "agents", "models");
  s.tokens = s.tokens || { prompt: 0, completion: 0, total: 0 };
  return s;
}

/** StaticData answers from the page alone. */
class StaticData {
  /** @param {PageData} page */
  constructor(page) {
    this.page = page;
    this.events = new Emitter();
    page.list.forEach(wholeSummary);
    for (const s of page.sessions) for (const e of s.entities || []) typeLook(e.type); // which is the order of the colours
    this.sessions = new Map(page.sessions.map((s) => [sessionPath(s.session), s]));
    /** @type {Set<Session>} those that were opened */
    this.opened = new Set();
    this.haystacks = page.list.map((s) => [s.session.id, s.session.user, s.session.app, s.title, ...s.agents].join("\n").toLowerCase());
  }

  /** @param {ListQuery} q @returns {Promise<ListPage>} */
  async list(q) {
    const want = q.q.trim().toLowerCase();
    const found = this.page.list.filter((s, i) => (!q.app || s.session.app === q.app) && (!q.user || s.session.user === q.user) && (q.status.length === 0 || q.status.includes(s.status)) && (!want || this.haystacks[i].includes(want)));
    const from = Number(q.after || 0);
    return { sessions: found.slice(from, from + q.limit), next: from + q.limit < found.length ? String(from + q.limit) : "" };
  }

  /** @param {SessionKey} k @returns {Promise<Loaded|null>} */
  async session(k) {
    const s = this.sessions.get(sessionPath(k));
    if (s && !this.opened.has(s)) {
      this.opened.add(wholeSession(s));
      for (const g of s.gists) g.loaded = true;
    }
    return s ? { session: s, code: this.page.code[k.app + "/" + k.user + "/" + k.id] || [] } : null;
  }

  /** load has nothing to do: the file has all payloads. @param {Session} _s @param {number[]} _rows @returns {Promise<void>} */
  async load(_s, _rows) {}

  /** inbox has the requests that waited when the file was written. @returns {Promise<InboxItem[]>} */
  async inbox() {
    return (this.page.inbox || []).map(wholeItem);
  }

  /** @param {SessionKey} _s @param {string} _id @returns {Promise<Rechecked>} */
  async check(_s, _id) {
    throw new Error("This page is a file and asks nobody. Use “contextgraph check”, or “contextgraph serve”.");
  }

  /** @param {Decision} _d @returns {Promise<string>} */
  async decide(_d) {
    throw new Error("This page is a file and can only be read. Answer where the agent runs, or with “contextgraph serve”.");
  }
}

/** LiveData asks the server, and hears from it when something changed. */
class LiveData {
  /** @param {PageData} page */
  constructor(page) {
    this.page = page;
    this.events = new Emitter();
    /** @type {{session: Session, rows: Set<number>, done: Promise<void>}|null} the payloads that the next request asks for */
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
    for (const [k, v] of Object.entries(params)) for (const x of Array.isArray(v) ? v : [v]) if (x) q.append(k, x);
    const res = await fetch(path + "?" + q.toString(), { headers: { Accept: "application/json" } });
    return readAnswer(res);
  }

  /** @param {ListQuery} q @returns {Promise<ListPage>} */
  async list(q) {
    const p = await this.get("api/sessions", { app: q.app, user: q.user, q: q.q.trim(), status: q.status, after: q.after || "", limit: String(q.limit) });
    return { sessions: (p.sessions || []).map(wholeSummary), next: p.next || "" };
  }

  /** @param {SessionKey} k @returns {Promise<Loaded|null>} */
  async session(k) {
    const p = await this.get("api/session", { app: k.app, user: k.user, id: k.id });
    return { session: wholeSession(p.session), code: p.code || [] };
  }

  /** load brings the payloads of rows that are not there yet. Rows that are asked for at once come together. @param {Session} s @param {number[]} rows @returns {Promise<void>} */
  load(s, rows) {
    const missing = rows.filter((i) => !s.gists[i].loaded);
    if (missing.length === 0) return Promise.resolve();
    if (!this.wanted || this.wanted.session !== s) {
      /** @type {Set<number>} */
      const all = new Set();
      this.wanted = { session: s, rows: all, done: Promise.resolve().then(() => {
        if (this.wanted?.rows === all) this.wanted = null;
        return this.fetchPayloads(s, [...all].sort((a, b) => a - b));
      }) };
    }
    for (const i of missing) this.wanted.rows.add(i);
    return this.wanted.done;
  }

  /** fetchPayloads asks for rows, and for the few between them, until all are there. @param {Session} s @param {number[]} rows sorted */
  async fetchPayloads(s, rows) {
    for (let i = 0; i < rows.length; ) {
      let next = rows[i], to = next + 1;
      while (++i < rows.length && rows[i] - to < 20) to = rows[i] + 1;
      while (next < to) {
        const p = await this.get("api/payloads", { app: s.session.app, user: s.session.user, id: s.session.id, from: String(next), to: String(to) });
        for (const r of p.rows) {
          if (s.rows[next]?.event_id !== r.event_id) throw new Error("The session has changed. Open it again.");
          fillRow(s, next++, r);
        }
        if (p.rows.length === 0) throw new Error("The session has fewer rows now. Open it again.");
      }
    }
  }

  /** @returns {Promise<InboxItem[]>} */
  async inbox() {
    const p = await this.get("api/inbox", {});
    return (p.items || []).map(wholeItem);
  }

  /** post sends JSON. @param {string} path @param {object} body @param {Record<string, string>} [headers] */
  async post(path, body, headers) {
    return readAnswer(await fetch(path, { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) }));
  }

  /** check asks the world now. It changes nothing. @param {SessionKey} s @param {string} id @returns {Promise<Rechecked>} */
  async check(s, id) {
    const f = await this.post("api/check", { app: s.app, user: s.user, session: s.id, approval_id: id });
    return { ...f, check: f.check ? wholeCheck(f.check) : null, needs_agent: f.needs_agent || {} };
  }

  /** decide sends an answer. It resolves when the answer was sent: what comes of it is in the record. @param {Decision} d @returns {Promise<string>} */
  async decide(d) {
    const sent = await this.post("api/decide", { app: d.session.app, user: d.session.user, session: d.session.id, approval_id: d.approval_id, confirmation_id: d.confirmation_id, ...d.reply }, { Authorization: "Bearer " + d.token });
    return sent.message || "The answer was sent.";
  }
}

/** readAnswer gives the JSON of an answer, or throws what the server said was wrong. @param {Response} res @returns {Promise<any>} */
async function readAnswer(res) {
  /** @type {any} */
  let body = null;
  try {
    body = await res.json();
  } catch {
    // An answer that is no JSON has its status alone.
  }
  if (!res.ok) throw Object.assign(new Error((body && body.error) || "the server answered " + res.status + " " + res.statusText), { status: res.status });
  return body || {};
}

/** @param {PageData} page */
function makeData(page) {
  return page.live ? new LiveData(page) : new StaticData(page);
}
