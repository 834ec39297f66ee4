// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The graph of why: what the agent did, what it saw of the business, and what led to what.

class GraphView {
  /** @param {HTMLElement} root @param {App} app */
  constructor(root, app) {
    this.app = app;
    /** @type {Session|null} */
    this.session = null;
    /** @type {Set<string>} */
    this.hidden = new Set();
    this.aggregated = false;
    /** @type {boolean|null} what someone chose */
    this.chosen = null;
    /** @type {"LR"|"TB"} */
    this.dir = remember("graph.dir") === "LR" ? "LR" : "TB";
    this.asTable = false;
    /** @type {string|null} the entity whose path alone is shown */
    this.only = null;
    /** @type {{title: string, items: {text: string, ref: Ref}[]}|null} */
    this.members = null;
    /** @type {GraphModel|null} */
    this.model = null;
    this.bar = h("div", { class: "gv-bar no-print", role: "toolbar", "aria-label": "Graph" });
    this.legend = h("div", { class: "gv-legend", role: "group", "aria-label": "Legend; press to hide or show" });
    this.canvas = new Canvas("Graph of why", 0.7);
    this.draw = new GraphDrawing(this.canvas);
    this.roving = new Roving(this.canvas, {
      activate: (id) => this.activate(id),
      key: (id, ev) => ev.key === "e" && this.toEdge(id),
      leave: () => (this.app.whyIndex === null ? this.app.select(null) : this.app.why(null)),
    });
    this.side = h("aside", { class: "gv-side", "aria-label": "Paths and members", hidden: true });
    this.table = h("div", { class: "gv-tablebox", hidden: true });
    this.body = h("div", { class: "gv-body" }, this.canvas.root, this.table, this.side);
    root.append(h("div", { class: "gv" }, this.bar, this.legend, this.body));
    this.canvas.svg.addEventListener("click", (ev) => {
      const el = ev.target instanceof Element ? ev.target.closest("[data-stop], [data-edge]") : null;
      const stop = el ? el.getAttribute("data-stop") : this.draw.under(ev);
      if (!stop && !el) return;
      if (stop) {
        this.activate(stop);
        this.roving.mark(stop);
      } else this.activateEdge(Number(el?.getAttribute("data-edge")));
    });
    this.off = app.on("why", () => this.why());
  }

  /** @param {Session} s */
  show(s) {
    const same = this.session !== null && sameSession(this.session.session, s.session);
    if (!same) {
      this.hidden.clear();
      this.chosen = null;
      this.only = null;
      this.members = null;
    }
    this.session = s;
    this.aggregated = this.chosen === null ? s.spans.length > AGGREGATE_ABOVE : this.chosen;
    this.render(same);
  }

  /** @param {boolean} [keep] keeps the view of the drawing */
  render(keep) {
    const s = this.session;
    if (!s) return;
    const model = graphModel(s, this.aggregated, this.hidden);
    this.model = model;
    this.renderBar(s);
    this.renderLegend(s);
    this.canvas.root.hidden = this.asTable;
    this.table.hidden = !this.asTable;
    if (!this.asTable) {
      const had = this.roving.held();
      const stops = this.draw.show(model, this.dir, !!keep);
      this.roving.show(stops, this.dir === "TB", had);
    }
    this.why();
    this.select(this.app.selected, true);
  }

  /** @param {Session} s */
  renderBar(s) {
    /** @param {string} label @param {boolean} on @param {() => void} fn @param {string} [title] */
    const choice = (label, on, fn, title) => h("button", { type: "button", "aria-pressed": String(on), title: title || label, onclick: fn }, label);
    /** @param {boolean} v */
    const aggregate = (v) => {
      this.chosen = this.aggregated = v;
      this.members = null;
      this.render();
    };
    /** @param {"LR"|"TB"} d */
    const turn = (d) => {
      this.dir = d;
      remember("graph.dir", d);
      this.render();
    };
    const pick = h("select", { id: "gv-why" }, h("option", { value: "" }, s.approvals.length === 0 ? "no approval was asked for" : "choose an approval"),
      s.approvals.map((a, i) => h("option", { value: String(i) }, (i + 1) + ". " + a.tool + " (" + statusInfo(a.status).label.toLowerCase() + ", " + plural(a.why.length, "entity", "entities") + ")")));
    pick.disabled = s.approvals.length === 0;
    pick.value = this.app.whyIndex === null ? "" : String(this.app.whyIndex);
    pick.addEventListener("change", () => this.app.why(pick.value === "" ? null : Number(pick.value)));
    replace(this.bar,
      h("div", { class: "seg", role: "group", "aria-label": "Detail" },
        choice("Expanded", !this.aggregated, () => aggregate(false), "Every span is a node"),
        choice("Aggregated", this.aggregated, () => aggregate(true), "Spans of one turn, agent and name are one node")),
      h("div", { class: "seg", role: "group", "aria-label": "Direction" },
        choice("↓", this.dir === "TB", () => turn("TB"), "Top to bottom"), choice("→", this.dir === "LR", () => turn("LR"), "Left to right")),
      h("label", { class: "gv-why", for: "gv-why" }, "Why"), pick,
      h("span", { class: "gv-count muted" }, this.model && plural(this.model.nodes.length, "node") + ", " + plural(this.model.edges.length, "edge")),
      choice("As table", this.asTable, () => {
        this.asTable = !this.asTable;
        this.render(true);
      }, "The same as two tables"));
    /** @type {NodeListOf<HTMLElement>} */ (this.bar.querySelectorAll(":scope > button")).forEach((b) => b.classList.add("btn", "small"));
  }

  /** @param {Session} s */
  renderLegend(s) {
    /** @param {string} key @param {Child} mark @param {string} label @param {number} n @param {string} cls @param {string} [title] */
    const item = (key, mark, label, n, cls, title) => {
      const on = !this.hidden.has(key);
      return h("button", { type: "button", class: "gv-key " + cls, "aria-pressed": String(on), title: title || (on ? "Hide " : "Show ") + label, data: { key }, onclick: () => {
        if (on) this.hidden.add(key);
        else this.hidden.delete(key);
        this.render();
        /** @type {HTMLElement|null} */ (this.legend.querySelector('[data-key="' + CSS.escape(key) + '"]'))?.focus();
      } }, mark, label, h("span", { class: "gv-n" }, fmtInt(n)));
    };
    /** @param {Map<string, number>} m @param {string} k @param {number} [by] */
    const count = (m, k, by) => m.set(k, (m.get(k) || 0) + (by === undefined ? 1 : by));
    /** @type {Map<string, number>} */
    const classes = new Map(), types = new Map(), kinds = new Map();
    for (const sp of s.spans) count(classes, sp.class);
    for (const e of s.entities) {
      count(types, e.type);
      for (const x of e.evaluated) count(kinds, x.link);
    }
    for (const e of s.edges) count(kinds, e.kind);
    replace(this.legend,
      Object.keys(CLASSES).filter((c) => classes.has(c)).map((c) => item("class:" + c, h("span", { class: "gv-mark" }, icon(CLASSES[c].icon)), CLASSES[c].label, classes.get(c) || 0, kindClass(c))),
      [...types.keys()].map((t) => item("type:" + t, typeMark(t), t, types.get(t) || 0, typeClass(t))),
      Object.keys(EDGE_KINDS).filter((k) => kinds.has(k)).map((k) => item("edge:" + k,
        svg("svg", { class: "gv-line", width: 26, height: 10, "aria-hidden": "true" }, svg("path", { class: "ge ge-" + k, d: "M1 5H19" }), svg("path", { class: "ge-head ge-head-" + k, d: "M18 1.500 25 5 18 8.500Z" })),
        EDGE_KINDS[k].label, kinds.get(k) || 0, "", EDGE_KINDS[k].says)));
  }

  /** why highlights what the chosen approval rests on. */
  why() {
    const s = this.session, m = this.model;
    if (!s || !m) return;
    const i = this.app.whyIndex;
    const a = i === null ? null : s.approvals[i] || null;
    if (!a) this.only = null;
    const paths = a ? graphPaths(m, a.why.filter((w) => this.only === null || w.entity === this.only)) : null;
    // A request that rests on nothing is still shown.
    const asked = a && m.nodeOf.get(a.span);
    if (paths && asked && !paths.order.has(asked)) paths.order.set(asked, 1);
    // The list beside it takes room from the drawing, so it comes first.
    this.renderSide(a);
    this.draw.highlight(paths);
    const pick = this.bar.querySelector("select");
    if (pick) pick.value = i === null || !a ? "" : String(i);
    if (this.asTable) replace(this.table, graphTable(m, (n) => this.activate(n.id), (e) => this.activateEdge(m.edges.indexOf(e)), paths && paths.order));
  }

  /** @param {Approval|null} a */
  renderSide(a) {
    /** @param {string} text @param {() => void} fn */
    const head = (text, fn) => h("div", { class: "gv-sidehead" }, h("h3", {}, text), h("button", { type: "button", class: "iconbtn small", "aria-label": "Close", title: "Close", onclick: fn }, icon("close")));
    /** @type {Child[]} */
    const parts = [];
    if (a) {
      const all = this.only !== null && h("button", { type: "button", class: "linkbtn", onclick: () => this.choosePath(null) }, "Show all paths");
      parts.push(head("Why " + a.tool, () => this.app.why(null)),
        h("p", { class: "muted" }, a.why.length === 0 ? "The request rests on no entity that was recorded." : "The request rests on " + plural(a.why.length, "entity", "entities") + ". Numbers count the steps from the request, which is 1, back to each."), all,
        h("ul", { class: "gv-whylist" }, a.why.map((w) => h("li", { class: typeClass(w.type) },
          h("button", { type: "button", "aria-pressed": String(this.only === w.entity), onclick: () => this.choosePath(this.only === w.entity ? null : w.entity) },
            typeMark(w.type), h("span", { class: "gv-whyname" }, w.value, h("small", {}, w.type), w.note && h("small", {}, w.note)), h("span", { class: "gv-hops" }, w.hops === 0 ? "at the request" : plural(w.hops, "hop")))))));
    }
    const mem = this.members;
    if (mem) {
      const list = h("ul", { class: "gv-members" });
      parts.push(head(mem.title, () => {
        this.members = null;
        this.renderSide(a);
      }), list);
      chunked(list, mem.items, (it) => h("li", {}, h("button", { type: "button", class: "linkbtn", onclick: () => this.app.select(it.ref) }, it.text)), 100);
    }
    if (this.side.hidden !== (parts.length === 0)) this.canvas.stale = true;
    this.side.hidden = parts.length === 0;
    replace(this.side, parts);
  }

  /** @param {string|null} entity */
  choosePath(entity) {
    this.only = entity;
    this.why();
    const pressed = /** @type {HTMLElement|null} */ (this.side.querySelector('[aria-pressed="true"], .gv-whylist button'));
    if (pressed) pressed.focus();
    if (entity) {
      this.draw.reveal(entity);
      this.app.select({ type: "entity", key: entity });
    }
  }

  /** activate selects what a node stands for. @param {string} id */
  activate(id) {
    const n = this.model && this.model.byId.get(id);
    if (!n || !this.session) return;
    this.members = n.spans.length > 1
      ? { title: n.label + " × " + n.spans.length, items: n.spans.map((sp) => ({ text: fmtClock(sp.start) + " · " + fmtDuration(sp.duration_ms) + (sp.status === "ERROR" ? " · error" : ""), ref: { type: "span", key: sp.key } })) }
      : null;
    this.renderSide(this.app.whyIndex === null ? null : this.session.approvals[this.app.whyIndex] || null);
    this.draw.reveal(id);
    this.app.select(n.entity ? { type: "entity", key: n.id } : { type: "span", key: n.spans[0].key });
  }

  /** @param {number} i */
  activateEdge(i) {
    const m = this.model, e = m && m.edges[i];
    if (!m || !e || !this.session) return;
    /** @param {string} key */
    const name = (key) => this.app.entity(key)?.value || this.app.span(key)?.name || key;
    this.members = e.edges.length > 1
      ? { title: e.kind + " × " + e.edges.length, items: e.edges.map((x) => ({ text: name(x.from) + " → " + name(x.to), ref: { type: "edge", key: edgeKey(x) } })) }
      : null;
    this.renderSide(this.app.whyIndex === null ? null : this.session.approvals[this.app.whyIndex] || null);
    this.app.select({ type: "edge", key: edgeKey(e.edges[0]) });
  }

  /** toEdge selects the next edge of a node, for people without a pointer. @param {string} id */
  toEdge(id) {
    const m = this.model;
    if (!m) return false;
    const mine = m.edges.map((e, i) => ({ e, i })).filter(({ e }) => e.from === id || e.to === id);
    if (mine.length === 0) return true;
    const at = mine.findIndex(({ i }) => i === this.draw.edgeAt);
    const next = mine[(at + 1) % mine.length];
    this.activateEdge(next.i);
    announce(graphNodeName(/** @type {GraphNode} */ (m.byId.get(next.e.from))) + " " + next.e.kind + " " + graphNodeName(/** @type {GraphNode} */ (m.byId.get(next.e.to))));
    return true;
  }

  /** @param {Ref|null} ref @param {boolean} [quiet] does not move the drawing */
  select(ref, quiet) {
    const m = this.model, s = this.session;
    if (!m || !s) return;
    /** @type {string|undefined} */
    let node;
    let edge = -1;
    if (ref && (ref.type === "span" || ref.type === "entity")) node = m.nodeOf.get(ref.key);
    else if (ref && ref.type === "row") node = m.nodeOf.get((s.rows[Number(ref.key)] || { span: "" }).span);
    else if (ref && ref.type === "approval") node = m.nodeOf.get((s.approvals[Number(ref.key)] || { span: "" }).span);
    else if (ref) edge = m.edges.findIndex((e) => e.edges.some((x) => edgeKey(x) === ref.key));
    this.draw.select(node || null, edge);
    if (node) {
      this.roving.mark(node);
      if (!quiet || !this.canvas.moved) this.draw.reveal(node);
    }
  }

  destroy() {
    this.off();
    this.canvas.destroy();
  }
}

/** @type {ViewSpec} */
const graphView = { id: "graph", title: "Graph", mount: (root, app) => new GraphView(root, app) };
