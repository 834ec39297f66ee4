// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The shell: what is shown, where it stands in the address, and who is told of it.

/** views are all there are, in the order of their tabs. */
function views() {
  return [approvalsView, graphView, thoughtsView, timelineView, trajectoryView, queriesView, inboxView];
}

/** tabbed are the views that have a tab. */
function tabbed() {
  return views().filter((v) => !v.everywhere);
}

/** @param {string} id @returns {HTMLElement} */
function byId(id) {
  const el = document.getElementById(id);
  if (!el) throw new Error("the page has no element " + id);
  return el;
}

/** remember keeps a choice of the reader, where the browser lets a page. @param {string} k @param {string} [v] */
function remember(k, v) {
  try {
    if (v !== undefined) localStorage.setItem("contextgraph." + k, v);
    return localStorage.getItem("contextgraph." + k) || "";
  } catch {
    return "";
  }
}

class App {
  /** @param {PageData} page */
  constructor(page) {
    this.page = page;
    this.data = page.live ? new LiveData() : new StaticData(page);
    this.events = new Emitter();
    /** @type {Session|null} */
    this.session = null;
    /** @type {CodeStep[]} */
    this.code = [];
    /** @type {SessionKey|null} */
    this.key = null;
    /** @type {Ref|null} */
    this.selected = null;
    /** @type {number|null} */
    this.whyIndex = null;
    this.viewId = "graph";
    /** the view that the address names, "" where the session chooses */
    this.chosen = "";
    /** the view that the session chose */
    this.opened = "graph";
    /** the request that an address asks for, until its session is there */
    this.request = "";
    this.desk = new Desk(this);
    /** @type {Map<string, {spec: ViewSpec, panel: HTMLElement, tab: HTMLElement|null, view: View|null, shown: Session|null|undefined}>} */
    this.views = new Map();
    /** @type {Map<string, Span>} */
    this.spanIndex = new Map();
    /** @type {Map<string, Entity>} */
    this.entityIndex = new Map();
    this.loading = 0;
    this.fetches = 0;
    this.failure = "";
    /** @type {string|null} the address that is shown */
    this.routed = null;
    /** @type {object|null} */
    this.lastView = null;
    /** @type {SessionList|null} */
    this.list = null;
    /** @type {DetailPane|null} */
    this.detail = null;
    this.header = h("div", "session-head");
    this.headOpen = false;
    this.theme = remember("theme") || "auto";
    clockSettings.utc = remember("zone") !== "local";
  }

  /** on listens to "why", "session" and "view". @param {string} name @param {(arg: any) => void} fn */
  on(name, fn) {
    return this.events.on(name, fn);
  }

  /** @param {string|undefined} key */
  span(key) {
    return (key && this.spanIndex.get(key)) || null;
  }

  /** @param {string|undefined} key */
  entity(key) {
    return (key && this.entityIndex.get(key)) || null;
  }

  /** spanOf is the key of the span of what ref names; "" for an entity or an edge. @param {Ref|null} ref */
  spanOf(ref) {
    if (!ref || !this.session) return "";
    if (ref.type === "span") return ref.key;
    const { rows, approvals } = this.session;
    const lists = /** @type {Record<string, {span: string}[]>} */ ({ row: rows, approval: approvals });
    return lists[ref.type]?.[Number(ref.key)]?.span || "";
  }

  /** start builds the shell and shows what the address asks for. */
  start() {
    this.applyTheme();
    this.desk.takeToken();
    buildTop(this);
    this.list = new SessionList(byId("cg-nav"), this);
    this.buildMain();
    this.detail = new DetailPane(byId("cg-detail"), this);
    window.addEventListener("hashchange", () => this.route());
    document.addEventListener("keydown", (ev) => shortcuts(this, ev));
    this.data.events.on("changed", () => {
      this.reload();
      this.desk.loadInbox();
    });
    window.setInterval(tick, 1000);
    /** @type {HTMLAnchorElement|null} */ (document.querySelector("a.skip"))?.addEventListener("click", (ev) => {
      ev.preventDefault();
      byId("cg-main").focus();
    });
    Promise.all([this.list.load(), this.desk.loadInbox()]).then(([first]) => {
      const bare = !location.hash;
      if (this.route()) return;
      if (bare && this.desk.answerable().length > 0) this.navigate("#v=inbox", true);
      else if (first) this.open(first.session, true);
      else this.render();
    });
  }

  buildMain() {
    const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Views" });
    const panels = h("div", "panels");
    views().forEach((spec, i) => {
      const tab = spec.everywhere ? null : h("button", { role: "tab", id: "tab-" + spec.id, "aria-controls": "panel-" + spec.id, title: spec.title + " (" + (i + 1) + ")", onclick: () => this.go(spec.id) }, spec.title);
      const panel = h("section", { role: tab ? "tabpanel" : "region", id: "panel-" + spec.id, class: "panel view-" + spec.id, "aria-labelledby": tab && tab.id, "aria-label": tab ? null : spec.title, tabindex: "0", hidden: true });
      if (tab) tabs.append(tab);
      panels.append(panel);
      this.views.set(spec.id, { spec, panel, tab, view: null, shown: undefined });
    });
    panels.addEventListener("scroll", (ev) => {
      const el = /** @type {HTMLElement} */ (ev.target);
      if (el.parentElement === panels) foldHead(el);
    }, { capture: true, passive: true });
    tabs.addEventListener("keydown", (ev) => {
      const ids = tabbed().map((s) => s.id);
      const at = ids.indexOf(this.viewId);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: ids.length - 1 }[ev.key];
      if (to === undefined) return;
      ev.preventDefault();
      const id = ids[(to + ids.length) % ids.length];
      this.go(id);
      this.views.get(id)?.tab?.focus();
    });
    replace(byId("cg-main"), this.header, h("div", "viewbar", tabs), panels);
    hintAtMore(tabs);
  }

  /** address is what stands behind the # for what is shown. @param {{key?: SessionKey|null, view?: string, ref?: Ref|null, why?: number|null}} [change] */
  address(change) {
    const c = { key: this.key, view: this.chosen, ref: this.selected, why: this.whyIndex, ...change };
    const parts = [];
    if (c.key) parts.push("s=" + sessionPath(c.key));
    if (c.view) parts.push("v=" + c.view);
    if (c.ref) parts.push(c.ref.type + "=" + encodeURIComponent(c.ref.key));
    if (c.why !== null && c.why !== undefined) parts.push("why=" + c.why);
    return "#" + parts.join("&");
  }

  /** navigate goes to an address; what it says is then shown by route. @param {string} address @param {boolean} [inPlace] */
  navigate(address, inPlace) {
    if (address === location.hash) return;
    if (inPlace) location.replace(address);
    else location.hash = address;
    this.route();
  }

  /** route shows what the address says; false when it names no session. */
  route() {
    this.desk.takeToken();
    if (location.hash === this.routed) return this.key !== null || this.viewId === "inbox";
    this.routed = location.hash;
    /** @type {Record<string, string>} */
    const p = {};
    for (const part of location.hash.replace(/^#/, "").split("&")) {
      const eq = part.indexOf("=");
      if (eq > 0) p[part.slice(0, eq)] = part.slice(eq + 1);
    }
    /** @type {Ref|null} */
    let ref = null;
    for (const type of /** @type {Ref["type"][]} */ (["span", "entity", "approval", "row", "edge"])) if (p[type] !== undefined) ref = { type, key: decoded(p[type]) };
    if (p.v === "inbox" && this.desk.offersInbox()) {
      this.leave();
      return true;
    }
    const view = tabbed().some((v) => v.id === p.v) ? p.v : "";
    this.request = decoded(p.request || "");
    const s = (p.s || "").split("/").map(decoded);
    const why = /^\d+$/.test(p.why || "") ? Number(p.why) : null;
    if (s.length !== 3) {
      this.apply(view, ref, why);
      return false;
    }
    const key = { app: s[0], user: s[1], id: s[2] };
    if (sameSession(key, this.key) && (this.session || this.loading)) this.apply(view, ref, why);
    else this.fetch(key, view, ref, why);
    return true;
  }

  /** leave shows the inbox, and no session. */
  leave() {
    this.fetches++;
    this.loading = 0;
    this.key = null;
    this.failure = "";
    this.selected = null;
    this.whyIndex = null;
    this.chosen = "";
    this.viewId = "inbox";
    this.adopt(null);
    this.render(true);
    this.events.emit("session", null);
  }

  /** @param {string} view "" for the one that the session chose @param {Ref|null} ref @param {number|null} why */
  apply(view, ref, why) {
    const other = JSON.stringify(ref) !== JSON.stringify(this.selected);
    const otherWhy = why !== this.whyIndex;
    this.chosen = view;
    this.viewId = view || this.opened;
    this.selected = ref;
    this.whyIndex = why;
    this.findRequest();
    this.render(other);
    if (otherWhy) this.events.emit("why", why);
  }

  /** fetch loads a session and shows it. @param {SessionKey} key @param {string} view @param {Ref|null} ref @param {number|null} why */
  async fetch(key, view, ref, why) {
    const turn = ++this.fetches;
    this.key = key;
    this.chosen = view;
    if (view || this.viewId === "inbox") this.viewId = view || "graph";
    this.selected = ref;
    this.whyIndex = why;
    this.session = null;
    this.failure = "";
    this.loading = turn;
    this.list?.mark();
    const slow = setTimeout(() => this.loading === turn && this.render(), 120);
    /** @type {Loaded|null} */
    let got = null;
    try {
      got = await this.data.session(key);
      if (!got) this.failure = "This page does not hold the session “" + key.id + "” of " + key.user + " in " + key.app + ". Write a page with it, with “contextgraph view”.";
    } catch (err) {
      this.failure = "The session could not be read: " + said(err);
    }
    clearTimeout(slow);
    if (turn !== this.fetches) return;
    this.loading = 0;
    this.adopt(got);
    // A session in which somebody was asked opens on that, and stays there for the reader.
    if (got) this.opened = got.session.approvals.length > 0 ? "approvals" : "graph";
    else this.opened = this.viewId;
    this.viewId = this.chosen || this.opened;
    this.findRequest();
    this.render(true);
    this.events.emit("session", this.session);
    this.events.emit("why", this.whyIndex);
    announce(got ? "Session " + clip(got.session.title || key.id, 80) + ", " + statusInfo(got.session.status).label : this.failure);
  }

  /** findRequest selects the request that the address asks for by its id. */
  findRequest() {
    const id = this.request;
    const i = id && this.session ? this.session.approvals.findIndex((a) => a.confirmation_id === id || a.id === id) : -1;
    if (i < 0) return;
    this.request = "";
    this.selected = refTo("approval", i);
    history.replaceState(null, "", this.address());
    this.routed = location.hash;
  }

  /** @param {Loaded|null} got */
  adopt(got) {
    this.session = got ? got.session : null;
    this.code = got ? got.code : [];
    this.spanIndex = new Map((this.session ? this.session.spans : []).map((s) => [s.key, s]));
    this.entityIndex = new Map((this.session ? this.session.entities : []).map((e) => [e.key, e]));
  }

  /** reload takes over what changed in the source, and leaves selection and view alone. @param {boolean} [checked] a check was made, which is in no row */
  async reload(checked) {
    await this.list?.load(true);
    const key = this.key;
    if (!key || this.loading) return;
    const known = this.list?.find(key);
    const s = this.session;
    if (s && known && !checked && known.end === s.end && known.events === s.events && known.status === s.status) return;
    try {
      const got = await this.data.session(key);
      if (!sameSession(key, this.key) || this.loading || !got) return;
      const before = s ? s.status : "";
      if (s) keepPayloads(got.session, s);
      this.adopt(got);
      this.failure = "";
      this.render(true);
      this.events.emit("session", this.session);
      if (got.session.status !== before) announce("The session is now: " + statusInfo(got.session.status).label);
    } catch (err) {
      announce("The session could not be read again: " + said(err));
    }
  }

  /** load brings the payloads of rows of the session. @param {number[]} rows @returns {Promise<void>} */
  async load(rows) {
    if (this.session) await this.data.load(this.session, rows);
  }

  /** open shows another session in the same view. @param {SessionKey} key @param {boolean} [inPlace] */
  open(key, inPlace) {
    this.navigate(this.address({ key, ref: null, why: null }), inPlace);
  }

  /** select opens the detail pane for ref and tells all views; null closes it. @param {Ref|null} ref */
  select(ref) {
    if (JSON.stringify(ref) === JSON.stringify(this.selected)) return;
    this.navigate(this.address({ ref }));
  }

  /** go shows a view, with a selection if one is given. @param {string} view @param {Ref|null} [ref] */
  go(view, ref) {
    this.navigate(this.address({ view, ref: ref === undefined ? this.selected : ref }));
  }

  /** why asks for the paths from an approval back to what it rests on; null ends that. @param {number|null} index */
  why(index) {
    this.navigate(this.address({ why: index }), true);
  }

  /** render brings the page in line with the state. @param {boolean} [selection] the selection may be another one */
  render(selection) {
    const s = this.session;
    renderHeader(this.header, this);
    for (const [id, v] of this.views) {
      const on = id === this.viewId;
      v.panel.hidden = !on;
      if (!v.tab) continue;
      v.tab.setAttribute("aria-selected", String(on));
      v.tab.tabIndex = on ? 0 : -1;
      if (on) v.tab.scrollIntoView({ block: "nearest", inline: "nearest" });
      const open = s ? s.approvals.filter((a) => waits(a.status)).length : 0;
      if (id === "approvals") replace(v.tab, v.spec.title, s && s.approvals.length > 0 && h("span", { class: open > 0 ? "count waits" : "count" }, open > 0 ? open + " open" : String(s.approvals.length)));
    }
    const v = this.views.get(this.viewId);
    if (v) this.renderView(v, !!selection);
    document.body.dataset.view = this.viewId;
    if (v) foldHead(v.panel);
    this.detail?.show();
    this.list?.mark();
    this.drawTitle();
  }

  /** drawTitle says what is shown, and before that how many requests wait. */
  drawTitle() {
    const s = this.session, n = this.desk.answerable().length;
    const parts = [s ? clip(s.title || s.session.id, 60) : this.viewId === "inbox" && "Inbox", "contextgraph"];
    document.title = (n > 0 ? "(" + n + ") " : "") + parts.filter(Boolean).join(" · ");
  }

  /** @param {{spec: ViewSpec, panel: HTMLElement, view: View|null, shown: Session|null|undefined}} v @param {boolean} selection */
  renderView(v, selection) {
    if (!this.session && !v.spec.sessionless && !v.spec.everywhere) {
      v.view?.destroy();
      v.view = null;
      v.shown = undefined;
      replace(v.panel, this.nothing());
      return;
    }
    try {
      if (!v.view) {
        v.panel.replaceChildren();
        v.view = v.spec.mount(v.panel, this);
        v.shown = undefined;
      }
      const fresh = v.shown !== this.session;
      if (fresh) {
        v.shown = this.session;
        v.view.show(this.session);
      }
      if (fresh || selection || v !== this.lastView) v.view.select(this.selected);
      if (v !== this.lastView) this.events.emit("view", v.spec.id);
      this.lastView = v;
    } catch (err) {
      // One view that fails must not take the approvals with it.
      v.view = null;
      v.shown = undefined;
      console.error(err);
      replace(v.panel, empty("error", "This view could not be drawn", said(err), " The other views still work."));
    }
  }

  /** nothing is what stands where a session would. */
  nothing() {
    if (this.loading) {
      return h("div", { class: "empty", role: "status" }, h("span", "spinner"), h("p", {}, "Reading the session…"));
    }
    if (this.failure) return empty("error", "No such session here", this.failure);
    if (this.page.live) return empty("graph", "No session yet", "Run an agent that records into this journal. Its session appears here by itself.");
    if (this.page.list.length === 0) return empty("graph", "This page holds no session", "Write one with sessions in it, with “contextgraph view”.");
    return empty("graph", "Choose a session", "Choose one on the left, or press j.");
  }

  /** refresh shows everything again, for a change of how times are shown. */
  refresh() {
    for (const v of this.views.values()) v.shown = undefined;
    this.list?.render();
    this.render(true);
    this.events.emit("session", this.session);
  }

  applyTheme() {
    if (this.theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.theme;
  }

  /** @param {string} theme */
  setTheme(theme) {
    this.theme = theme;
    remember("theme", theme);
    this.applyTheme();
  }
}

/** @param {string} s */
function decoded(s) {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}
