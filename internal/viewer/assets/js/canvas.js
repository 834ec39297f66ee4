// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// A drawing that can be moved and zoomed, with a small map of all of it.

/** Below this scale a drawing opens at its beginning instead of as a whole: texts of 12 pixels
 * stay readable. */
const READABLE = 0.92;

/** What is revealed stands so far from the sides, and from the tools below. */
const CLEAR = { side: 26, foot: 56 };

/** Canvas is an SVG with a world inside that is panned and zoomed. */
class Canvas {
  /** @param {string} label what the drawing is, for screen readers @param {number} [whole] the
   * scale down to which it opens as a whole */
  constructor(label, whole) {
    this.whole = whole || READABLE;
    this.world = svg("g", { class: "cv-world" });
    this.svg = svg("svg", { class: "cv-svg", role: "graphics-document",
      "aria-roledescription": "graph", "aria-label": label }, this.world);
    this.percent = h("button", { class: "cv-percent", title: "Actual size (0)",
      onclick: () => this.reset() }, "100%");
    /** @param {string} text @param {string} title @param {() => void} onclick */
    const tool = (text, title, onclick) => h("button", { title, "aria-label": title, onclick },
      text);
    const tools = h("div", { class: "cv-tools no-print", role: "group", "aria-label": "Zoom" },
      tool("−", "Zoom out (-)", () => this.zoomBy(1 / 1.25)), this.percent,
      tool("+", "Zoom in (+)", () => this.zoomBy(1.25)),
      tool("Fit", "Fit to the window (f)", () => this.fit()));
    this.map = new Minimap(this);
    const help = ": arrow keys follow the edges, Enter selects, plus and minus zoom, f fits";
    this.root = h("div", { class: "cv", role: "application", "aria-label": label + help }, this.svg,
      tools, this.map.root);
    this.view = { k: 1, x: 0, y: 0 };
    this.size = { w: 0, h: 0 };
    /** The part of the window that the details do not cover; it begins at the upper left. */
    this.free = { w: 0, h: 0 };
    /** What is selected, which nothing may cover. @type {Rect|null} */
    this.held = null;
    /** Told when the window shows something else; on paper all of it.
     * @type {(all: boolean) => void} */
    this.onview = () => {};
    /** @type {Rect} */ this.bounds = { x: 0, y: 0, w: 1, h: 1 };
    this.opened = false;
    this.moved = false;
    this.stale = true;
    this.watch = new ResizeObserver(() => {
      this.stale = true;
      this.resize();
    });
    this.watch.observe(this.root);
    // The details come and go, beside the drawing or over it.
    this.pane = byId("cg-detail");
    this.watch.observe(this.pane);
    this.pointers();
    // On paper there is no moving: all of it is shown.
    this.off = onPrint(() => {
      const b = this.bounds;
      this.svg.setAttribute("viewBox", [b.x, b.y, b.w, b.h].join(" "));
      this.world.removeAttribute("transform");
      this.onview(true);
    }, () => {
      this.svg.removeAttribute("viewBox");
      this.apply();
    });
  }

  /** show takes over what was drawn into the world. @param {Rect} bounds
   * @param {MapMark[]} marks @param {boolean} keep keeps the view as it is */
  show(bounds, marks, keep) {
    this.bounds = bounds;
    this.map.show(bounds, marks);
    if (keep && this.opened) this.apply();
    else {
      this.opened = false;
      this.resize();
    }
  }

  /** measure takes the size of the window of the drawing; false while it is not shown. It is
   * asked for only when it may have changed: the browser lays out the whole drawing to answer. */
  measure() {
    if (!this.stale && this.size.w > 0) return true;
    const box = this.root.getBoundingClientRect(), pane = this.pane.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) return false;
    this.stale = false;
    this.size = { w: box.width, h: box.height };
    this.free = { ...this.size };
    const w = Math.min(box.right, pane.right) - Math.max(box.left, pane.left);
    const high = Math.min(box.bottom, pane.bottom) - Math.max(box.top, pane.top);
    if (w > 1 && high > 1) {
      if (w < box.width * 0.75) this.free.w -= w;
      else this.free.h -= high;
    }
    this.root.style.setProperty("--covered-x", this.size.w - this.free.w + "px");
    this.root.style.setProperty("--covered-y", this.size.h - this.free.h + "px");
    return true;
  }

  resize() {
    const was = this.free;
    if (!this.measure()) return;
    const other = was.w !== this.free.w || was.h !== this.free.h;
    if (!this.opened || (other && !this.moved && !this.held)) this.open();
    else this.apply();
    if (other && this.held) this.reveal(this.held);
  }

  /** place shows the world at a scale: in the middle, or from its beginning where that is asked
   * for and it is too large. @param {number} k @param {boolean} begin */
  place(k, begin) {
    const b = this.bounds, dx = this.free.w - b.w * k, dy = this.free.h - b.h * k;
    const x = begin && dx < 0 ? 5 : dx / 2, y = begin && dy < 0 ? 5 : dy / 2;
    this.view = { k, x: x - b.x * k, y: y - b.y * k };
    this.apply();
  }

  /** open shows all of it, or all of its width, or the beginning where neither could be read. */
  open() {
    if (this.size.w === 0) return;
    this.opened = true;
    this.moved = false;
    const across = Math.min(READABLE, (this.free.w - 10) / this.bounds.w);
    this.place([this.scaleFor(this.bounds, 10), across].find((k) => k >= this.whole) || READABLE,
      true);
  }

  /** alignLeft shows the left side of what was laid out for the width of the window. */
  alignLeft() {
    this.view.x = 12 - this.bounds.x * this.view.k;
    this.apply();
  }

  /** scaleFor is the scale at which a box fits. @param {Rect} r @param {number} pad */
  scaleFor(r, pad) {
    const fits = Math.min((this.free.w - pad) / r.w, (this.free.h - pad) / r.h);
    return Math.max(0.02, Math.min(1.15, fits));
  }

  fit() {
    this.place(this.scaleFor(this.bounds, 10), false);
  }

  reset() {
    this.zoomBy(1 / this.view.k);
  }

  /** @param {number} f @param {Point} [at] in the window of the drawing; its middle when there
   * is none */
  zoomBy(f, at) {
    const p = at || { x: this.free.w / 2, y: this.free.h / 2 };
    const k = Math.max(0.02, Math.min(4, this.view.k * f)), r = k / this.view.k;
    this.moveTo(p.x - (p.x - this.view.x) * r, p.y - (p.y - this.view.y) * r, k);
  }

  /** moveTo is a move by the reader. @param {number} x @param {number} y @param {number} [k] */
  moveTo(x, y, k) {
    this.view = { k: k || this.view.k, x, y };
    this.moved = true;
    this.apply();
  }

  /** @param {number} dx @param {number} dy */
  panBy(dx, dy) {
    this.moveTo(this.view.x + dx, this.view.y + dy);
  }

  /** centre moves the point of the world to the middle. @param {Point} p */
  centre(p) {
    const { k } = this.view;
    this.moveTo(this.free.w / 2 - p.x * k, this.free.h / 2 - p.y * k);
  }

  /** hold keeps a box in sight when the details open or the window changes; null lets go.
   * @param {Rect|null} r */
  hold(r) {
    this.held = r;
    this.apply();
  }

  /** reveal moves as little as it takes to see a box; of what is too large its beginning.
   * @param {Rect} r */
  reveal(r) {
    if (!this.measure()) return;
    if (this.view.k < FAR) this.view.k = READABLE;
    const { k } = this.view, { w, h: high } = this.free;
    const side = Math.min(CLEAR.side, w / 10), foot = Math.min(CLEAR.foot, high / 6);
    /** @param {number} from @param {number} to @param {number} end */
    const by = (from, to, end) => {
      return from < side || to > end ? Math.max(Math.min(0, end - to), side - from) : 0;
    };
    const x = r.x * k + this.view.x, y = r.y * k + this.view.y;
    this.panBy(by(x, x + r.w * k, w - side), by(y, y + r.h * k, high - foot));
  }

  /** frame shows a part, readable; of what is too large its end. @param {Rect} r */
  frame(r) {
    if (!this.measure()) return;
    this.opened = true;
    const k = Math.max(READABLE, Math.min(1.1, this.scaleFor(r, 40)));
    this.view.k = k;
    /** @param {number} from @param {number} size @param {number} room */
    const middle = (from, size, room) => from + size - Math.min(size * k, room - 40) / 2 / k;
    this.centre({ x: middle(r.x, r.w, this.free.w), y: middle(r.y, r.h, this.free.h) });
  }

  apply() {
    const v = this.view, b = this.bounds, keep = 60;
    v.x = Math.min(this.size.w - keep - b.x * v.k, Math.max(keep - (b.x + b.w) * v.k, v.x));
    v.y = Math.min(this.size.h - keep - b.y * v.k, Math.max(keep - (b.y + b.h) * v.k, v.y));
    const move = "translate(" + v.x.toFixed(1) + " " + v.y.toFixed(1) + ")";
    this.world.setAttribute("transform", move + " scale(" + v.k.toFixed(4) + ")");
    this.root.classList.toggle("cv-far", v.k < FAR);
    this.percent.textContent = Math.round(v.k * 100) + "%";
    this.map.frame();
    this.onview(false);
  }

  pointers() {
    /** @type {Map<number, Point>} */ const down = new Map();
    let dragged = 0;
    this.svg.addEventListener("wheel", (ev) => {
      ev.preventDefault();
      if (ev.shiftKey) return this.panBy(-(ev.deltaX || ev.deltaY), 0);
      const by = ev.deltaY * (ev.deltaMode === 1 ? 18 : 1);
      this.zoomBy(Math.exp(-Math.max(-120, Math.min(120, by)) * 0.0022), within(ev, this.svg));
    }, { passive: false });
    this.svg.addEventListener("pointerdown", (ev) => {
      if (ev.button !== 0) return;
      down.set(ev.pointerId, within(ev, this.svg));
      dragged = 0;
    });
    this.svg.addEventListener("pointermove", (ev) => {
      const was = down.get(ev.pointerId), now = within(ev, this.svg);
      if (!was) return;
      dragged += Math.abs(now.x - was.x) + Math.abs(now.y - was.y);
      if (dragged <= 4) return;
      if (!this.svg.hasPointerCapture(ev.pointerId)) this.svg.setPointerCapture(ev.pointerId);
      down.set(ev.pointerId, now);
      const other = [...down].find(([id]) => id !== ev.pointerId)?.[1];
      if (!other) return this.panBy(now.x - was.x, now.y - was.y);
      // Two fingers.
      const before = Math.hypot(was.x - other.x, was.y - other.y);
      const after = Math.hypot(now.x - other.x, now.y - other.y);
      if (before > 0) this.zoomBy(after / before,
        { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
    });
    for (const end of /** @type {const} */ (["pointerup", "pointercancel"])) {
      this.svg.addEventListener(end, (ev) => void down.delete(ev.pointerId));
    }
    // The end of a drag is no click on what happens to be under it.
    this.svg.addEventListener("click", (ev) => {
      if (dragged > 4) ev.stopPropagation();
      dragged = 0;
    }, true);
  }

  /** key handles the keys of the drawing as a whole. @param {KeyboardEvent} ev
   * @returns {boolean} whether it did */
  key(ev) {
    if (ev.ctrlKey || ev.metaKey || ev.altKey) return false;
    /** @type {Record<string, () => void>} */ const keys = {
      "+": () => this.zoomBy(1.25),
      "=": () => this.zoomBy(1.25),
      "-": () => this.zoomBy(1 / 1.25),
      "0": () => this.reset(),
      f: () => this.fit(),
    };
    /** @type {Record<string, [number, number]>} */
    const pans = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80],
      ArrowDown: [0, -80] };
    if (ev.shiftKey && pans[ev.key]) this.panBy(...pans[ev.key]);
    else if (Object.hasOwn(keys, ev.key)) keys[ev.key]();
    else return false;
    return true;
  }

  destroy() {
    this.watch.disconnect();
    this.off();
    this.root.remove();
  }
}

/** within is where a pointer is in an element. @param {MouseEvent} ev @param {Element} el */
function within(ev, el) {
  const box = el.getBoundingClientRect();
  return { x: ev.clientX - box.left, y: ev.clientY - box.top };
}

/** Minimap shows all of a drawing and what of it is in the window. */
class Minimap {
  /** @param {Canvas} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.marks = svg("g", {});
    this.win = svg("rect", { class: "cv-map-win", rx: 2 });
    this.svg = svg("svg", { class: "cv-map-svg", "aria-hidden": "true", focusable: "false" },
      this.marks, this.win);
    this.root = h("div", { class: "cv-map no-print", title: "Drag to move" }, this.svg);
    this.size = { w: 0, h: 0 };
    this.scale = 1;
    /** @param {PointerEvent} ev */ const to = (ev) => {
      const b = canvas.bounds, p = within(ev, this.svg);
      canvas.centre({ x: b.x + p.x / this.scale, y: b.y + p.y / this.scale });
    };
    this.svg.addEventListener("pointerdown", (ev) => {
      this.svg.setPointerCapture(ev.pointerId);
      to(ev);
    });
    this.svg.addEventListener("pointermove", (ev) => {
      if (this.svg.hasPointerCapture(ev.pointerId)) to(ev);
    });
  }

  /** @param {Rect} b @param {MapMark[]} marks */
  show(b, marks) {
    const k = Math.min(170 / b.w, 110 / b.h), w = Math.max(24, b.w * k),
      high = Math.max(16, b.h * k);
    this.scale = k;
    this.size = { w: w + 12, h: high + 12 };
    this.svg.setAttribute("width", w.toFixed(0));
    this.svg.setAttribute("height", high.toFixed(0));
    this.svg.setAttribute("viewBox", [b.x, b.y, w / k, high / k].join(" "));
    this.win.setAttribute("stroke-width", String(1.5 / k));
    const least = 1.5 / k;
    /** @param {MapMark} m */
    const path = (m) => rectPath({ ...m, w: Math.max(least, m.w), h: Math.max(least, m.h) });
    replace(this.marks, [...groupBy(marks, (m) => m.cls)].map(([cls, of]) =>
      svg("path", { class: "cv-map-mark " + cls, d: of.map(path).join("") })));
  }

  /** frame shows the window, and steps aside while the map would cover what is held. */
  frame() {
    const { view: v, free, bounds: b, held } = this.canvas;
    if (free.w === 0) return;
    const x0 = Math.max(b.x, -v.x / v.k), x1 = Math.min(b.x + b.w, (free.w - v.x) / v.k);
    const y0 = Math.max(b.y, -v.y / v.k), y1 = Math.min(b.y + b.h, (free.h - v.y) / v.k);
    const all = x0 <= b.x + 1 && y0 <= b.y + 1 && x1 >= b.x + b.w - 1 && y1 >= b.y + b.h - 1;
    this.root.hidden = free.w < 480 || all;
    const win = { x: x0, y: y0, width: Math.max(0, x1 - x0), height: Math.max(0, y1 - y0) };
    for (const [name, n] of Object.entries(win)) this.win.setAttribute(name, n.toFixed(1));
    const { w, h: high } = this.size;
    const mine = { x: free.w - w - 20, y: free.h - high - 20, w: w + 20, h: high + 20 };
    const r = held && { x: held.x * v.k + v.x, y: held.y * v.k + v.y, w: held.w * v.k,
      h: held.h * v.k };
    this.root.classList.toggle("cv-map-up", r !== null && meet(r, mine));
  }
}
