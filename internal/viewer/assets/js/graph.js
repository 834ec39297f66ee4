// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The graph of why: what the agent did, what it saw of the business, and what led to what.

class GraphView {
  /** @param {HTMLElement} root @param {App} app */
  constructor(root, app) {
    this.app = app;
    /** @type {Session|null} */ this.session = null;
    /** @type {Set<string>} */ this.hidden = new Set();
    this.aggregated = false;
    /** @type {boolean|null} */ this.chosen = null;
    this.asTable = false;
    this.down = remember("graph.dir") !== "LR";
    /** The entity whose path alone is shown. @type {string|null} */
    this.only = null;
    /** @type {{title: string, items: {text: string, ref: Ref}[]}|null} */ this.members = null;
    /** @type {GraphModel|null} */ this.model = null;
    this.bar = barOf("Graph");
    this.legend = h("div", { class: "gv-legend", role: "group",
      "aria-label": "Legend; press to hide or show" });
    this.canvas = new Canvas("Graph of why", 0.7);
    this.draw = new GraphDrawing(this.canvas);
    this.roving = new Roving(this.canvas, {
      activate: (id) => this.activate(id),
      key: (id, ev) => ev.key === "e" && this.toEdge(id),
      leave: () => (app.whyIndex === null ? app.select(null) : app.why(null)),
    });
    this.side = h("aside", { class: "gv-side", "aria-label": "Paths and members", hidden: true });
    this.table = h("div", { class: "gv-tablebox", hidden: true });
    root.append(h("div", "gv", this.bar, this.legend,
      h("div", "gv-body", this.canvas.root, this.table, this.side)));
    this.canvas.svg.addEventListener("click", (ev) => {
      const el = ev.target instanceof Element ? ev.target.closest("[data-stop], [data-edge]")
        : null;
      const stop = el ? el.getAttribute("data-stop") : this.draw.under(ev);
      if (stop) {
        this.activate(stop);
        this.roving.mark(stop);
      } else if (el) this.activateEdge(Number(el.getAttribute("data-edge")));
    });
    this.off = app.on("why", () => this.why());
  }

  /** @param {Session} s */
  show(s) {
    const same = sameSession(this.session?.session, s.session);
    if (!same) {
      this.hidden.clear();
      this.chosen = this.only = this.members = null;
    }
    this.session = s;
    this.aggregated = this.chosen ?? s.spans.length > AGGREGATE_ABOVE;
    this.render(same);
  }

  /** @param {boolean} [keep] keeps the view of the drawing */
  render(keep) {
    const s = sure(this.session), model = graphModel(s, this.aggregated, this.hidden);
    this.model = model;
    this.renderBar(s, model);
    this.renderLegend(s);
    this.canvas.root.hidden = this.asTable;
    this.table.hidden = !this.asTable;
    if (!this.asTable) {
      const had = this.roving.held();
      this.roving.show(this.draw.show(model, this.down, !!keep), this.down, had);
    }
    this.why();
    this.select(this.app.selected, true);
  }

  /** @param {Session} s @param {GraphModel} model */
  renderBar(s, model) {
    /** @param {string} label @param {boolean} on @param {() => void} onclick
     * @param {string} title @param {string} [cls] */
    const choice = (label, on, onclick, title, cls) =>
      h("button", { class: cls, "aria-pressed": String(on), title, onclick }, label);
    const aggregate = (/** @type {boolean} */ on) => {
      this.chosen = this.aggregated = on;
      this.members = null;
      this.render();
    };
    const turn = (/** @type {boolean} */ down) => {
      this.down = down;
      remember("graph.dir", down ? "TB" : "LR");
      this.render();
    };
    const none = s.approvals.length === 0;
    const pick = h("select", { id: "gv-why", disabled: none }, options([
      ["", none ? "no approval was asked for" : "choose an approval"],
      ...s.approvals.map((a, i) => /** @type {[string, string]} */ ([
        String(i), (i + 1) + ". " + a.tool
        + " (" + statusInfo(a.status).label.toLowerCase() + ", "
        + plural(a.why.length, "entity", "entities") + ")"]))]));
    pick.addEventListener("change",
      () => this.app.why(pick.value === "" ? null : Number(pick.value)));
    replace(this.bar,
      segments("Detail",
        choice("Expanded", !this.aggregated, () => aggregate(false), "Every span is a node"),
        choice("Aggregated", this.aggregated, () => aggregate(true),
          "Spans of one turn, agent and name are one node")),
      segments("Direction", choice("↓", this.down, () => turn(true), "Top to bottom"),
        choice("→", !this.down, () => turn(false), "Left to right")),
      h("label", { class: "gv-why", for: "gv-why" }, "Why"), pick,
      h("span", "gv-count muted",
        plural(model.nodes.length, "node") + ", " + plural(model.edges.length, "edge")),
      choice("As table", this.asTable, () => {
        this.asTable = !this.asTable;
        this.render(true);
      }, "The same as two tables", "btn small"));
  }

  /** @param {Session} s */
  renderLegend(s) {
    /** @param {string} key @param {Child} mark @param {string} label @param {string} cls
     * @param {string} [title] */
    const item = (key, mark, label, cls, title) => {
      const on = !this.hidden.has(key);
      return h("button", { class: "gv-key " + cls, "aria-pressed": String(on), data: { key },
        title: title || (on ? "Hide " : "Show ") + label, onclick: () => {
          if (!this.hidden.delete(key)) this.hidden.add(key);
          this.render();
          const again = this.legend.querySelector('[data-key="' + CSS.escape(key) + '"]');
          /** @type {HTMLElement|null} */ (again)?.focus();
        } }, mark, label, h("span", "gv-n", fmtInt(counts.get(key))));
    };
    const counts = new Map([...groupBy([
      ...s.spans.map((x) => "class:" + x.class),
      ...s.entities.flatMap((e) => ["type:" + e.type, ...e.evaluated.map((x) => "edge:" + x.link)]),
      ...s.edges.map((e) => "edge:" + e.kind),
    ], (key) => key)].map(([key, all]) => [key, all.length]));
    /** @param {string} k */
    const line = (k) => svg("svg", { class: "gv-line", width: 26, height: 10,
      "aria-hidden": "true" },
      svg("path", { class: "ge ge-" + k, d: "M1 5H19" }),
      svg("path", { class: "ge-head ge-head-" + k, d: "M18 1.500 25 5 18 8.500Z" }));
    replace(this.legend,
      Object.entries(CLASSES).filter(([c]) => counts.has("class:" + c)).map(([c, look]) =>
        item("class:" + c, h("span", "gv-mark", icon(look.icon)), look.label, kindClass(c))),
      [...counts.keys()].filter((key) => key.startsWith("type:")).map((key) =>
        item(key, typeMark(key.slice(5)), key.slice(5), typeClass(key.slice(5)))),
      Object.entries(EDGE_KINDS).filter(([k]) => counts.has("edge:" + k)).map(([k, says]) =>
        item("edge:" + k, line(k), k, "", says)));
  }

  /** asked is the approval whose paths are shown. */
  asked() {
    const i = this.app.whyIndex;
    return (i !== null && this.session?.approvals[i]) || null;
  }

  /** why highlights what the chosen approval rests on. */
  why() {
    const m = this.model, a = this.asked();
    if (!m) return;
    if (!a) this.only = null;
    const why = (a?.why || []).filter((w) => this.only === null || w.entity === this.only);
    const paths = a && graphPaths(m, why);
    // A request that rests on nothing is still shown.
    const asked = a && m.nodeOf.get(a.span);
    if (paths && asked && !paths.order.has(asked)) paths.order.set(asked, 1);
    // The list beside it takes room from the drawing, so it comes first.
    this.renderSide();
    if (!this.asTable) this.draw.highlight(paths);
    const pick = this.bar.querySelector("select");
    if (pick) pick.value = a ? String(this.app.whyIndex) : "";
    if (this.asTable) replace(this.table, graphTable(m, (n) => this.activate(n.id),
      (e) => this.activateEdge(m.edges.indexOf(e)), paths && paths.order));
  }

  renderSide() {
    const a = this.asked(), mem = this.members;
    /** @param {string} text @param {() => void} fn */ const head = (text, fn) =>
      h("div", "gv-sidehead", h("h3", {}, text), iconButton("close", "Close", fn));
    /** @type {Child[]} */ const parts = [];
    if (a) {
      /** @param {Why} w */ const line = (w) => h("li", typeClass(w.type), h("button", {
        "aria-pressed": String(this.only === w.entity),
        onclick: () => this.choosePath(this.only === w.entity ? null : w.entity),
      }, typeMark(w.type),
        h("span", "gv-whyname", w.value, h("small", {}, w.type), w.note && h("small", {}, w.note)),
        h("span", "gv-hops", w.hops === 0 ? "at the request" : plural(w.hops, "hop"))));
      const says = a.why.length === 0 ? "The request rests on no entity that was recorded."
        : "The request rests on " + plural(a.why.length, "entity", "entities")
          + ". Numbers count the steps from the request, which is 1, back to each.";
      parts.push(head("Why " + a.tool, () => this.app.why(null)), h("p", "muted", says),
        this.only !== null && linkButton("Show all paths", () => this.choosePath(null)),
        h("ul", "gv-whylist", a.why.map(line)));
    }
    if (mem) {
      const list = h("ul", "gv-members");
      parts.push(head(mem.title, () => {
        this.members = null;
        this.renderSide();
      }), list);
      chunked(list, mem.items,
        (it) => h("li", {}, linkButton(it.text, () => this.app.select(it.ref))));
    }
    if (this.side.hidden !== (parts.length === 0)) this.canvas.stale = true;
    this.side.hidden = parts.length === 0;
    replace(this.side, parts);
  }

  /** @param {string|null} entity */
  choosePath(entity) {
    this.only = entity;
    this.why();
    const pressed = this.side.querySelector('[aria-pressed="true"], .gv-whylist button');
    /** @type {HTMLElement|null} */ (pressed)?.focus();
    if (!entity) return;
    this.draw.reveal(entity);
    this.app.select({ type: "entity", key: entity });
  }

  /** activate selects what a node stands for. @param {string} id */
  activate(id) {
    const n = this.model?.byId.get(id);
    if (!n) return;
    this.open(n.label, n.spans.map((sp) => {
      const error = sp.status === "ERROR" ? " · error" : "";
      return { text: fmtClock(sp.start) + " · " + fmtDuration(sp.duration_ms) + error,
        ref: { type: "span", key: sp.key } };
    }));
    this.draw.reveal(id);
    this.app.select(n.entity ? { type: "entity", key: n.id } : {
      type: "span", key: n.spans[0].key });
  }

  /** @param {number} i */
  activateEdge(i) {
    const e = this.model?.edges[i];
    if (!e) return;
    /** @param {string} key */
    const name = (key) => this.app.entity(key)?.value || this.app.span(key)?.name || key;
    this.open(e.kind, e.edges.map((x) => {
      return { text: name(x.from) + " → " + name(x.to), ref: { type: "edge", key: edgeKey(x) } };
    }));
    this.app.select({ type: "edge", key: edgeKey(e.edges[0]) });
  }

  /** open lists what a node or an edge stands for, if that is more than one.
   * @param {string} title @param {{text: string, ref: Ref}[]} items */
  open(title, items) {
    this.members = items.length > 1 ? { title: title + " × " + items.length, items } : null;
    this.renderSide();
  }

  /** toEdge selects the next edge of a node, for people without a pointer. @param {string} id */
  toEdge(id) {
    const m = sure(this.model), mine = m.edges.filter((e) => e.from === id || e.to === id);
    const next = mine[(mine.indexOf(m.edges[this.draw.edgeAt]) + 1) % mine.length];
    if (!next) return true;
    this.activateEdge(m.edges.indexOf(next));
    /** @param {string} key */ const name = (key) => graphNodeName(sure(m.byId.get(key)));
    announce(name(next.from) + " " + next.kind + " " + name(next.to));
    return true;
  }

  /** @param {Ref|null} ref @param {boolean} [quiet] does not move the drawing */
  select(ref, quiet) {
    const m = this.model;
    if (!m || this.asTable) return;
    const node = m.nodeOf.get(ref?.type === "entity" ? ref.key : this.app.spanOf(ref));
    const edge = ref?.type === "edge"
      ? m.edges.findIndex((e) => e.edges.some((x) => edgeKey(x) === ref.key)) : -1;
    this.draw.select(node || null, edge);
    if (!node) return;
    this.roving.mark(node);
    if (!quiet || !this.canvas.moved) this.draw.reveal(node);
  }

  destroy() {
    this.off();
    this.canvas.destroy();
  }
}

/** @type {ViewSpec} */
const graphView = {
  id: "graph", title: "Graph", mount: (root, app) => new GraphView(root, app),
};
