// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The shell: what is shown, where it stands in the address, and who is told of it.

/** views are all there are, in the order of their tabs. */
function views() {
  return [approvalsView, graphView, thoughtsView, timelineView, trajectoryView, queriesView,
    flowView, inboxView];
}

/** tabbed are the views that have a tab. */
function tabbed() {
  return views().filter((v) => !v.everywhere);
}

/** @param {string} id */
function byId(id) {
  const el = document.getElementById(id);
  if (!el) throw new Error("the page has no element " + id);
  return el;
}

/** remember keeps a choice of the reader, where the browser lets a page. @param {string} k
 * @param {string} [v] */
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
    /** @type {Session|null} */ this.session = null;
    /** @type {CodeStep[]} */ this.code = [];
    /** @type {SessionKey|null} */ this.key = null;
    /** @type {Ref|null} */ this.selected = null;
    /** @type {number|null} */ this.whyIndex = null;
    this.viewId = "graph";
    /** The view that the address names, "" where the session chooses. */
    this.chosen = "";
    /** The view that the session chose. */
    this.opened = "graph";
    /** The request that an address asks for, until its session is there. */
    this.request = "";
    this.desk = new Desk(this);
    /** @type {Map<string, Panel>} */ this.views = new Map();
    /** @type {Map<string, Span>} */ this.spanIndex = new Map();
    /** @type {Map<string, Entity>} */ this.entityIndex = new Map();
    this.loading = 0;
    this.fetches = 0;
    this.failure = "";
    /** The address that is shown. @type {string|null} */
    this.routed = null;
    /** @type {Panel|null} */ this.lastView = null;
    /** @type {SessionList|null} */ this.list = null;
    /** @type {DetailPane|null} */ this.detail = null;
    this.header = h("div", "session-head");
    this.headOpen = false;
    this.theme = remember("theme") || "auto";
    clockSettings.utc = remember("zone") !== "local";
  }

  /** on listens to "why", "session" and "view". @param {string} name
   * @param {(arg: any) => void} fn */
  on(name, fn) {
    return this.events.on(name, fn);
  }

  /** @param {string|undefined} key */
  span(key) {
    return this.spanIndex.get(key || "") || null;
  }

  /** @param {string|undefined} key */
  entity(key) {
    return this.entityIndex.get(key || "") || null;
  }

  /** spanOf is the key of the span of what ref names; "" for an entity or an edge.
   * @param {Ref|null} ref */
  spanOf(ref) {
    if (ref?.type === "span") return ref.key;
    const { rows, approvals } = this.session || { rows: [], approvals: [] };
    if (ref?.type === "row") return rows[Number(ref.key)]?.span || "";
    return (ref?.type === "approval" && approvals[Number(ref.key)]?.span) || "";
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
    document.querySelector("a.skip")?.addEventListener("click", (ev) => {
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
      const { id, title } = spec, labelledby = "tab-" + id;
      const tab = spec.everywhere ? null : h("button", { role: "tab", id: labelledby,
        "aria-controls": "panel-" + id, title: title + " (" + (i + 1) + ")",
        onclick: () => this.go(id) }, title);
      const panel = h("section", { id: "panel-" + id, class: "panel view-" + id, tabindex: "0",
        hidden: true, ...(tab ? { role: "tabpanel", "aria-labelledby": labelledby }
          : { role: "region", "aria-label": title }) });
      append(tabs, tab);
      panels.append(panel);
      this.views.set(id, { spec, panel, tab, view: null, shown: undefined });
    });
    panels.addEventListener("scroll", (ev) => {
      const el = /** @type {HTMLElement} */ (ev.target);
      if (el.parentElement === panels) foldHead(el);
    }, { capture: true, passive: true });
    tabs.addEventListener("keydown", (ev) => {
      const ids = tabbed().map((s) => s.id).filter((id) => !this.views.get(id)?.tab?.hidden);
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

  /** address is what stands behind the # for what is shown.
   * @param {{key?: SessionKey|null, view?: string, ref?: Ref|null, why?: number|null}} [change] */
  address(change) {
    const { key, view, ref, why } = { key: this.key, view: this.chosen, ref: this.selected,
      why: this.whyIndex, ...change };
    return "#" + [
      key && "s=" + sessionPath(key),
      view && "v=" + view,
      ref && ref.type + "=" + encodeURIComponent(ref.key),
      why !== null && "why=" + why,
    ].filter(Boolean).join("&");
  }

  /** navigate goes to an address; what it says is then shown by route. @param {string} address
   * @param {boolean} [inPlace] */
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
    const p = Object.fromEntries(location.hash.slice(1).split("&").map((x) => x.split(/=(.*)/s)));
    const types = /** @type {Ref["type"][]} */ (["span", "entity", "approval", "row", "edge"]);
    const type = types.find((t) => p[t] !== undefined);
    const ref = type ? { type, key: decoded(p[type]) } : null;
    if (p.v === "inbox" && this.desk.offersInbox()) {
      this.leave();
      return true;
    }
    const view = tabbed().some((v) => v.id === p.v) ? p.v : "";
    this.request = decoded(p.request || "");
    const why = /^\d+$/.test(p.why || "") ? Number(p.why) : null;
    const s = (p.s || "").split("/").map(decoded);
    const key = s.length === 3 ? { app: s[0], user: s[1], id: s[2] } : null;
    if (key && !(sameSession(key, this.key) && (this.session || this.loading))) {
      this.fetch(key, view, ref, why);
    } else this.apply(view, ref, why);
    return key !== null;
  }

  /** leave shows the inbox, and no session. */
  leave() {
    this.fetches++;
    this.loading = 0;
    this.key = this.selected = this.whyIndex = null;
    this.failure = this.chosen = "";
    this.viewId = "inbox";
    this.adopt(null);
    this.render(true);
    this.events.emit("session", null);
  }

  /** @param {string} view "" for the one that the session chose @param {Ref|null} ref
   * @param {number|null} why */
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

  /** fetch loads a session and shows it. @param {SessionKey} key @param {string} view
   * @param {Ref|null} ref @param {number|null} why */
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
    /** @type {Loaded|null} */ let got = null;
    try {
      got = await this.data.session(key);
      if (!got) {
        this.failure = "This page does not hold the session “" + key.id + "” of " + key.user
          + " in "
          + key.app + ". Write a page with it, with “contextgraph view”.";
      }
    } catch (err) {
      this.failure = "The session could not be read: " + said(err);
    }
    clearTimeout(slow);
    if (turn !== this.fetches) return;
    this.loading = 0;
    this.adopt(got);
    // A session in which somebody was asked opens on that, and stays there for the reader.
    this.opened = this.viewId;
    if (got) this.opened = got.session.approvals.length > 0 ? "approvals" : "graph";
    this.viewId = this.chosen || this.opened;
    this.findRequest();
    this.render(true);
    this.events.emit("session", this.session);
    this.events.emit("why", this.whyIndex);
    announce(got ? "Session " + clip(got.session.title || key.id, 80) + ", "
      + statusInfo(got.session.status).label : this.failure);
  }

  /** findRequest selects the request that the address asks for by its id. */
  findRequest() {
    const id = this.request, all = this.session?.approvals || [];
    const i = id ? all.findIndex((a) => a.confirmation_id === id || a.id === id) : -1;
    if (i < 0) return;
    this.request = "";
    this.selected = refTo("approval", i);
    history.replaceState(null, "", this.address());
    this.routed = location.hash;
  }

  /** @param {Loaded|null} got */
  adopt(got) {
    this.session = got && got.session;
    this.code = got ? got.code : [];
    this.spanIndex = new Map((got?.session.spans || []).map((s) => [s.key, s]));
    this.entityIndex = new Map((got?.session.entities || []).map((e) => [e.key, e]));
  }

  /** reload takes over what changed in the source, and leaves selection and view alone.
   * @param {boolean} [checked] a check was made, which is in no row */
  async reload(checked) {
    await this.list?.load(true);
    const key = this.key, s = this.session;
    if (!key || this.loading) return;
    const known = !checked && this.list?.find(key);
    if (s && known && known.end === s.end && known.events === s.events
        && known.status === s.status) {
      return;
    }
    try {
      const got = await this.data.session(key);
      if (!sameSession(key, this.key) || this.loading || !got) return;
      if (s) keepPayloads(got.session, s);
      this.adopt(got);
      this.failure = "";
      this.render(true);
      this.events.emit("session", this.session);
      const { status } = got.session;
      if (status !== s?.status) announce("The session is now: " + statusInfo(status).label);
    } catch (err) {
      announce("The session could not be read again: " + said(err));
    }
  }

  /** load brings the payloads of rows of the session. @param {number[]} rows */
  async load(rows) {
    if (this.session) await this.data.load(this.session, rows);
  }

  /** open shows another session in the same view. @param {SessionKey} key
   * @param {boolean} [inPlace] */
  open(key, inPlace) {
    this.navigate(this.address({ key, ref: null, why: null }), inPlace);
  }

  /** select opens the detail pane for ref and tells all views; null closes it.
   * @param {Ref|null} ref */
  select(ref) {
    if (JSON.stringify(ref) === JSON.stringify(this.selected)) return;
    this.navigate(this.address({ ref }));
  }

  /** go shows a view, with a selection if one is given. @param {string} view
   * @param {Ref|null} [ref] */
  go(view, ref) {
    this.navigate(this.address({ view, ref: ref === undefined ? this.selected : ref }));
  }

  /** why asks for the paths from an approval back to what it rests on; null ends that.
   * @param {number|null} index */
  why(index) {
    this.navigate(this.address({ why: index }), true);
  }

  /** render brings the page in line with the state. @param {boolean} [selection] the selection
   * may be another one */
  render(selection) {
    renderHeader(this.header, this);
    for (const [id, { spec, panel, tab }] of this.views) {
      const on = id === this.viewId;
      panel.hidden = !on;
      if (!tab) continue;
      tab.hidden = !on && !!spec.has && !(this.session && spec.has(this.session));
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      if (on) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    const all = this.session?.approvals || [], open = all.filter((a) => waits(a.status)).length;
    const tab = this.views.get("approvals")?.tab;
    const count = open > 0 ? h("span", "count waits", open + " open")
      : h("span", "count", String(all.length));
    if (tab) replace(tab, "Approvals", all.length > 0 && count);
    const v = sure(this.views.get(this.viewId));
    this.renderView(v, !!selection);
    document.body.dataset.view = this.viewId;
    foldHead(v.panel);
    this.detail?.show();
    this.list?.mark();
    this.drawTitle();
  }

  /** drawTitle says what is shown, and before that how many requests wait. */
  drawTitle() {
    const s = this.session, n = this.desk.answerable().length;
    const what = s ? clip(s.title || s.session.id, 60) : this.viewId === "inbox" && "Inbox";
    document.title = (n > 0 ? "(" + n + ") " : "") + (what ? what + " · " : "") + "contextgraph";
  }

  /** @param {Panel} v @param {boolean} selection */
  renderView(v, selection) {
    const { spec, panel } = v;
    if (!this.session && !spec.sessionless && !spec.everywhere) {
      v.view?.destroy();
      v.view = null;
      v.shown = undefined;
      replace(panel, this.nothing());
      return;
    }
    try {
      if (!v.view) {
        panel.replaceChildren();
        v.view = spec.mount(panel, this);
        v.shown = undefined;
      }
      const fresh = v.shown !== this.session, other = v !== this.lastView;
      v.shown = this.session;
      if (fresh) v.view.show(this.session);
      if (fresh || selection || other) v.view.select(this.selected);
      if (other) this.events.emit("view", spec.id);
      this.lastView = v;
    } catch (err) {
      // One view that fails must not take the approvals with it.
      v.view = null;
      v.shown = undefined;
      console.error(err);
      replace(panel, empty("error", "This view could not be drawn", said(err),
        " The other views still work."));
    }
  }

  /** nothing is what stands where a session would. */
  nothing() {
    if (this.loading) {
      return h("div", { class: "empty", role: "status" }, h("span", "spinner"),
        h("p", {}, "Reading the session…"));
    }
    if (this.failure) return empty("error", "No such session here", this.failure);
    if (this.page.live) {
      return empty("graph", "No session yet",
        "Run an agent that records into this journal. Its session appears here by itself.");
    }
    if (this.page.list.length > 0) {
      return empty("graph", "Choose a session", "Choose one on the left, or press j.");
    }
    return empty("graph", "This page holds no session",
      "Write one with sessions in it, with “contextgraph view”.");
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
