// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The list of sessions: searched, filtered, and loaded a page at a time.

class SessionList {
  /** @param {HTMLElement} root @param {App} app */
  constructor(root, app) {
    this.app = app;
    /** @type {Summary[]} */ this.items = [];
    this.next = "";
    this.loads = 0;
    this.busy = false;
    this.error = "";
    /** @type {ListQuery} */ this.query = { app: "", user: "", q: "", status: [], limit: 50 };
    const search = searchBox({ id: "cg-search", placeholder: "Search sessions",
      "aria-label": "Search sessions by id, user, app, agent or title" }, app.page.live ? 200 : 60,
      (input) => this.narrow({ q: input.value }), h("kbd", { "aria-hidden": "true" }, "/"));
    this.search = search.input;
    this.search.addEventListener("keydown", (ev) => {
      if (ev.key === "Enter" && this.items[0]) app.open(this.items[0].session);
    });
    this.filters = h("div", "filters");
    this.listEl = h("ul", "sessions");
    this.foot = h("div", "nav-foot");
    this.scroller = h("div", "nav-scroll", this.listEl, this.foot);
    this.more = h("button", { class: "btn more", onclick: () => this.loadMore() }, "Show more");
    new IntersectionObserver((es) => {
      if (es.some((e) => e.isIntersecting)) this.loadMore();
    }, { root: this.scroller, rootMargin: "200px" }).observe(this.more);
    replace(root, h("div", "nav-head", search.box, this.filters), this.scroller);
    this.drawFilters();
  }

  /** narrow asks for the sessions of another query. @param {Partial<ListQuery>} change */
  narrow(change) {
    Object.assign(this.query, change);
    this.load();
  }

  /** drawFilters offers the statuses, applications and users that there are to choose from. */
  drawFilters() {
    const { live, list } = this.app.page, counts = groupBy(list, (s) => s.status);
    const all = /** @type {Status[]} */ (Object.keys(STATUSES));
    const statuses = all.filter((s) => (live ? s !== "none" : counts.has(s)));
    const chips = (statuses.length > 1 ? statuses : []).map((s) => {
      const info = statusInfo(s), n = counts.get(s)?.length;
      return filterChip(info.icon, [info.label, !live && h("span", "n", String(n))], info.tone,
        (on) => this.narrow({ status: toggled(this.query.status, s, on) }));
    });
    const names = /** @type {["app", "user"]} */ (["app", "user"]).map((field) => {
      const label = field === "app" ? "App" : "User";
      if (live) {
        const input = h("input", { type: "text", placeholder: label, autocomplete: "off",
          "aria-label": label + ", in full", spellcheck: "false",
          onchange: () => this.narrow({ [field]: input.value.trim() }) });
        return input;
      }
      const values = [...new Set(list.map((s) => s.session[field]))].sort();
      const offered = values.slice(0, 500).map((v) => /** @type {[string, string]} */ ([v, v]));
      return values.length > 1 && selectBox(label, [["", "Every " + field], ...offered],
        (v) => this.narrow({ [field]: v }));
    });
    const group = { class: "chips", role: "group", "aria-label": "Filter by status" };
    const rows = [chips.length > 0 && h("div", group, chips),
      names.some(Boolean) && h("div", "names", names)];
    replace(this.filters, live ? details("filter-box", "Filter", rows) : rows);
  }

  filtered() {
    const q = this.query;
    return !!(q.q.trim() || q.app || q.user || q.status.length);
  }

  /** load reads the list from its start; again keeps as many as were there.
   * @param {boolean} [again] @returns {Promise<Summary|null>} the first */
  async load(again) {
    const turn = ++this.loads;
    try {
      const page = await this.app.data.list({
        ...this.query, limit: again ? Math.min(500, Math.max(50, this.items.length))
        : this.query.limit });
      if (turn !== this.loads) return this.items[0] || null;
      this.items = page.sessions;
      this.next = page.next;
      this.error = "";
    } catch (err) {
      if (turn !== this.loads) return null;
      this.error = said(err);
    }
    this.render();
    if (!again && this.filtered()) announce(this.items.length === 0 ? "No session found"
      : plural(this.items.length, "session") + (this.next ? " and more" : "") + " found");
    return this.items[0] || null;
  }

  async loadMore() {
    if (!this.next || this.busy) return;
    this.busy = true;
    const turn = this.loads;
    try {
      const page = await this.app.data.list({ ...this.query, after: this.next });
      if (turn === this.loads) {
        this.items.push(...page.sessions);
        this.next = page.next;
        append(this.listEl, page.sessions.map((s) => this.item(s)));
        this.mark();
      }
    } catch (err) {
      this.error = said(err);
    }
    this.busy = false;
    this.drawFoot();
  }

  render() {
    const focused = this.listEl.contains(document.activeElement)
      && /** @type {HTMLElement} */ (document.activeElement).dataset.key;
    replace(this.listEl, this.items.map((s) => this.item(s)));
    this.drawFoot();
    this.mark();
    const links = [...this.listEl.querySelectorAll("a")];
    if (focused) links.find((a) => a.dataset.key === focused)?.focus();
  }

  drawFoot() {
    const none = this.items.length === 0, filtered = this.filtered();
    const nothing = filtered
      ? empty("search", "No session matches", "Search for less, or take a filter away.")
      : empty("graph", "No sessions", this.app.page.live ? "They appear here as agents run."
        : "Write a page with sessions in it.");
    replace(this.foot,
      this.error && h("p", "note bad-text", icon("error"),
        "The list could not be read: " + this.error),
      none && !this.error && nothing,
      this.next && this.more,
      !none && !this.next
        && h("p", "muted", plural(this.items.length, "session") + (filtered ? " found" : "")));
  }

  /** @param {Summary} s */
  item(s) {
    const key = sessionPath(s.session), { app, user, id } = s.session, agents = s.agents.join(", ");
    /** @param {MouseEvent} ev */ const onclick = (ev) => {
      if (ev.metaKey || ev.ctrlKey || ev.shiftKey) return;
      ev.preventDefault();
      this.app.open(s.session);
    };
    return h("li", {}, h("a", { href: "#s=" + key, data: { key }, onclick },
      h("span", "s-title", s.title || id),
      h("span", "s-line", chip(s.status), h("span", "s-when", agoEl(s.start))),
      h("span", "s-line s-meta",
        h("span", { class: "s-id", title: app + " / " + user + " / " + id }, id),
          h("span", {}, user)),
      h("span", "s-line s-meta",
        h("span", { class: "s-agents", title: agents }, agents),
        h("span", {}, plural(s.turns, "turn")),
        h("span", { title: fmtInt(s.tokens.total) + " tokens" },
          fmtCompact(s.tokens.total) + " tok"),
        s.approvals > 0 && h("span", { class: "s-wait", title: "Waited for people" }, icon("clock"),
          h("span", "sr-only", "waited "), fmtDuration(s.waited_ms)),
        s.errors > 0 && h("span", { class: "bad-text", title: plural(s.errors, "error") },
          icon("error"), String(s.errors), h("span", "sr-only", " errors")))));
  }

  /** mark shows which session is open. */
  mark() {
    const key = this.app.key ? sessionPath(this.app.key) : "";
    for (const a of this.listEl.querySelectorAll("a")) {
      if (a.dataset.key === key) a.setAttribute("aria-current", "true");
      else a.removeAttribute("aria-current");
    }
  }

  /** @param {SessionKey} k */
  find(k) {
    return this.items.find((s) => sameSession(s.session, k)) || null;
  }

  focusSearch() {
    document.body.classList.remove("nav-closed");
    this.search.focus();
    this.search.select();
  }

  /** step opens the next session, or the one before. @param {number} by */
  async step(by) {
    const at = this.app.key ? this.items.findIndex((s) => sameSession(s.session, this.app.key))
      : -1;
    if (at + by >= this.items.length) await this.loadMore();
    const s = this.items[Math.max(0, at + by)];
    if (!s || at + by < 0) return;
    this.app.open(s.session);
    const links = this.listEl.querySelectorAll("a");
    links[at + by]?.focus();
    links[at + by]?.scrollIntoView({ block: "nearest" });
  }
}
