// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Flow: a run on its graph. Lines that were taken are strong; a node says how often it has ended,
// and what it waits for.

/** What the states of a run are called. @type {Record<string, string>} */
const FLOW_STATES = { ended: "Ended", failed: "Failed", cancelled: "Cancelled",
  waits: "Waits for a person", open: "Under way, or cut off" };

/** The sizes of the drawing: a node, and the room between nodes. */
const FLOW = { high: 42, wide: 168, below: 58, beside: 46 };

/** flowWidths are those for the window. */
function flowWidths() {
  return window.innerWidth < 600 ? { wide: 116, beside: 12 } : FLOW;
}

class FlowView {
  /** @param {HTMLElement} root @param {App} app */
  constructor(root, app) {
    this.app = app;
    /** The run that is shown, counted from the last. */
    this.back = 0;
    /** @type {Session|null} */ this.session = null;
    /** @type {Map<string, Stop>} */ this.stops = new Map();
    this.bar = barOf("Flow");
    this.canvas = new Canvas("Run of a graph", 0.7);
    this.canvas.svg.prepend(svg("defs", {}, ["fl", "fl-taken"].map((id) =>
      arrowHead(id + "-head", 9, 7, "auto", svg("path", { class: id + "-head",
        d: "M0 0.500 8 4 0 7.500Z" })))));
    this.roving = new Roving(this.canvas, { activate: (id) => this.activate(id),
      key: () => false, leave: () => app.select(null) });
    root.append(h("div", "gv", this.bar, h("div", "gv-body", this.canvas.root)));
    this.canvas.svg.addEventListener("click", (ev) => {
      const el = ev.target instanceof Element ? ev.target.closest("[data-stop]") : null;
      if (el) this.activate(el.getAttribute("data-stop") || "");
    });
  }

  /** @param {Session} s */
  show(s) {
    const same = sameSession(this.session?.session, s.session);
    if (!same) this.back = 0;
    this.session = s;
    this.render(same);
  }

  /** @param {boolean} keep keeps the view of the drawing */
  render(keep) {
    const runs = this.session?.flows || [], f = runs[runs.length - 1 - this.back];
    const had = this.roving.held();
    if (!f) {
      replace(this.bar, h("span", "muted", "No run of a graph is recorded in this session."));
      this.canvas.world.replaceChildren();
      this.stops = new Map();
      return this.roving.show(this.stops, true, false);
    }
    const pick = h("select", { id: "fl-run", "aria-label": "Run" }, options(runs.map((_, i) =>
      /** @type {[string, string]} */ ([String(i), "Run " + (runs.length - i)]))));
    pick.value = String(this.back);
    pick.addEventListener("change", () => {
      this.back = Number(pick.value);
      this.render(false);
      byId("fl-run").focus();
    });
    const waits = f.nodes.flatMap((n) => (n.waits || []).map((q) => n.name + ": " + q));
    replace(this.bar, runs.length > 1 && pick, h("b", {}, f.name),
      h("span", { class: "fl-state", role: "status" }, [FLOW_STATES[f.state], f.error,
        ...waits].filter(Boolean).join(" · ")),
      h("span", "gv-count muted", plural(f.path.length, "step")));
    this.draw(f, keep);
    this.roving.show(this.stops, true, had);
    this.select(this.app.selected);
  }

  /** @param {Flow} f @param {boolean} keep */
  draw(f, keep) {
    const { wide } = flowWidths(), place = placeFlow(f), links = [...groupBy(f.edges, (e) =>
      JSON.stringify([e.from, e.to])).values()];
    /** @type {Map<string, Rect>} */ const rects = new Map([...place].map(([name, p]) =>
      [name, { x: p.x - wide / 2, y: p.y, w: wide, h: FLOW.high }]));
    const sides = { left: 0, right: 0 };
    const all = [...rects.values()], box = around(all.flatMap(cornersOf));
    const lines = svg("g", {}), labels = svg("g", {}), nodes = svg("g", { role: "group",
      "aria-label": plural(f.nodes.length, "node") });
    for (const of of links) {
      const a = rects.get(of[0].from), b = rects.get(of[0].to);
      if (!a || !b) continue;
      const taken = of.reduce((n, e) => n + e.taken, 0);
      const next = b.y - a.y === FLOW.high + FLOW.below;
      const way = next ? straight(a, b) : bow(a, b, box, b.y > a.y ? "right" : "left", sides);
      const names = of.filter((e) => e.name || e.taken > 1)
        .map((e) => [e.name, e.taken > 1 && "×" + e.taken].filter(Boolean).join(" "));
      const text = fitText(names.join(", "), way.room, 12);
      const says = [of[0].from + " to " + of[0].to, ...names, taken > 0 ? "taken" : "not taken"];
      lines.append(svg("path", { class: "fl-edge" + (taken > 0 ? " fl-taken" : ""), d: way.d,
        "marker-end": "url(#" + (taken > 0 ? "fl-taken" : "fl") + "-head)" },
      svg("title", {}, says.join(", "))));
      if (text) labels.append(svg("text", { class: "fl-label" + (taken > 0 ? " fl-strong" : ""),
        x: way.at.x, y: way.at.y, "text-anchor": way.anchor }, text));
    }
    this.stops = new Map();
    const ends = (/** @type {string} */ name, /** @type {"from"|"to"} */ k) =>
      f.edges.filter((e) => e[k] === name).map((e) => e[k === "from" ? "to" : "from"])
        .filter((o) => o !== "START");
    for (const [name, r] of rects) {
      const n = f.nodes.find((x) => x.name === name), el = flowNode(name, n, r);
      nodes.append(el);
      const [prev, next] = [ends(name, "to"), ends(name, "from")];
      if (n) this.stops.set(name, { el, rect: r, prev, next });
    }
    this.canvas.world.replaceChildren(lines, labels, nodes);
    const side = (/** @type {number} */ n) => (n > 0 ? 26 * n + 130 : 8);
    this.canvas.show({ x: box.x - side(sides.left), y: box.y - 12,
      w: box.w + side(sides.left) + side(sides.right), h: box.h + 24 },
    all.map((r) => ({ ...r, cls: "" })), keep);
    const at = rects.get(f.nodes.find((n) => n.at)?.name || f.path[f.path.length - 1]);
    if (at && !keep) this.canvas.reveal(at);
  }

  /** activate opens the last step of a node. @param {string} name */
  activate(name) {
    const runs = this.session?.flows || [], f = runs[runs.length - 1 - this.back];
    const key = f?.nodes.find((n) => n.name === name)?.span;
    this.roving.mark(name);
    if (key) this.app.select({ type: "span", key });
  }

  /** @param {Ref|null} ref */
  select(ref) {
    const span = this.app.spanOf(ref);
    const at = (this.session?.flows || []).at(-1 - this.back)?.nodes.find((n) =>
      span && n.span === span);
    for (const [name, s] of this.stops) s.el.classList.toggle("sel", name === at?.name);
    this.canvas.hold((at && this.stops.get(at.name)?.rect) || null);
  }

  destroy() {
    this.canvas.destroy();
  }
}

/** placeFlow puts each node below the first one that leads to it. @param {Flow} f
 * @returns {Map<string, Point>} the middle of the upper side */
function placeFlow(f) {
  let row = ["START"];
  /** @type {Map<string, Point>} */ const at = new Map();
  const { wide, beside } = flowWidths(), step = wide + beside;
  for (let y = 0; row.length > 0; y += FLOW.high + FLOW.below) {
    row.forEach((name, i) => at.set(name, { x: (i - (row.length - 1) / 2) * step, y }));
    row = [...new Set(f.edges.filter((e) => row.includes(e.from) && !at.has(e.to))
      .map((e) => e.to))];
  }
  return at;
}

/** straight leads from a node to one in the row below. @param {Rect} a @param {Rect} b */
function straight(a, b) {
  const p = { x: a.x + a.w / 2, y: a.y + a.h }, q = { x: b.x + b.w / 2, y: b.y - 2 };
  const y = (p.y + q.y) / 2, level = Math.abs(p.x - q.x) < 1;
  return { d: "M" + pointText(p.x, p.y) + "C" + pointText(p.x, y) + " " + pointText(q.x, y) + " "
    + pointText(q.x, q.y), at: { x: q.x + (level ? 8 : 0), y: q.y - 16 },
  anchor: level ? "start" : "middle", room: b.w };
}

/** bow leads around the nodes: back on the left, onward on the right. @param {Rect} a
 * @param {Rect} b @param {Rect} box around all nodes @param {"left"|"right"} side
 * @param {{left: number, right: number}} sides how many lines each side has */
function bow(a, b, box, side, sides) {
  const n = ++sides[side], right = side === "right", sign = right ? 1 : -1;
  const x = (right ? box.x + box.w : box.x) + sign * 26 * n;
  const from = right ? a.x + a.w : a.x, to = right ? b.x + b.w + 2 : b.x - 2;
  const p = a.y + a.h * 0.65, q = b.y + b.h * 0.35, turn = Math.sign(q - p) * 12;
  return { d: "M" + pointText(from, p) + "L" + pointText(x - sign * 12, p) + "Q" + pointText(x, p)
    + " " + pointText(x, p + turn) + "L" + pointText(x, q - turn) + "Q" + pointText(x, q) + " "
    + pointText(x - sign * 12, q) + "L" + pointText(to, q),
  at: { x: x + sign * 6, y: (p + q) / 2 + 4 + 15 * ((n % 3) - 1) }, anchor: right ? "start" : "end",
  room: 118 };
}

/** flowNode is a node with what became of it. @param {string} name @param {FlowNode|undefined} n
 * nothing for the start @param {Rect} r */
function flowNode(name, n, r) {
  const x = r.x + r.w / 2, asks = (n?.waits || []).join("; ");
  if (!n) {
    return svg("g", { class: "fl-node", "aria-hidden": "true" },
      svg("circle", { class: "fl-shape", cx: x, cy: r.y + r.h - 11, r: 10 }));
  }
  const sub = asks ? "waits: " + asks : n.at ? "under way, or cut off"
    : n.visits > 0 ? plural(n.visits, "visit") : "not reached";
  const cls = "fl-node" + (n.visits > 0 || n.at ? " fl-on" : "") + (n.at ? " fl-at" : "");
  return svg("g", { class: cls, "data-stop": name, role: "button", tabindex: "-1",
    "aria-label": name + ", " + sub },
  svg("title", {}, name + ": " + sub),
  svg("rect", { class: "fl-shape", ...boxAround(r, 0), rx: 8 }),
  svg("text", { class: "fl-name", x, y: r.y + 18 }, fitText(name, r.w - 16, 13, true)),
  svg("text", { class: "fl-sub", x, y: r.y + 34 }, fitText(sub, r.w - 16, 12)));
}

/** @type {ViewSpec} */
const flowView = {
  id: "flow", title: "Flow", has: (s) => (s.flows || []).length > 0,
  mount: (root, app) => new FlowView(root, app),
};
