// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// A drawing that can be moved and zoomed, with a small map of all of it.

/** Below this scale a drawing opens at its beginning instead of as a whole: texts of 12 pixels stay readable. */
const READABLE = 0.92;

/** What is revealed stands so far from the sides, and from the tools below. */
const CLEAR = { side: 26, foot: 56 };

/** Canvas is an SVG with a world inside that is panned and zoomed. */
class Canvas {
  /** @param {string} label what the drawing is, for screen readers @param {number} [whole] the scale down to which it opens as a whole */
  constructor(label, whole) {
    this.whole = whole || READABLE;
    this.world = svg("g", { class: "cv-world" });
    this.svg = svg("svg", { class: "cv-svg", role: "graphics-document", "aria-roledescription": "graph", "aria-label": label }, this.world);
    this.percent = h("button", { type: "button", class: "cv-percent", title: "Actual size (0)", onclick: () => this.reset() }, "100%");
    /** @param {string} text @param {string} title @param {() => void} fn */
    const tool = (text, title, fn) => h("button", { type: "button", title, "aria-label": title, onclick: fn }, text);
    this.tools = h("div", { class: "cv-tools no-print", role: "group", "aria-label": "Zoom" },
      tool("−", "Zoom out (-)", () => this.zoomBy(1 / 1.25)), this.percent,
      tool("+", "Zoom in (+)", () => this.zoomBy(1.25)), tool("Fit", "Fit to the window (f)", () => this.fit()));
    this.map = new Minimap(this);
    this.root = h("div", { class: "cv", role: "application", "aria-label": label + ": arrow keys follow the edges, Enter selects, plus and minus zoom, f fits" }, this.svg, this.tools, this.map.root);
    this.view = { k: 1, x: 0, y: 0 };
    this.size = { w: 0, h: 0 };
    /** The part of the window that the details do not cover; it begins at the upper left. */
    this.free = { w: 0, h: 0 };
    /** What is selected, which nothing may cover. @type {Rect|null} */
    this.held = null;
    /** Told when the window shows something else; on paper all of it. @type {(all: boolean) => void} */
    this.onview = () => {};
    /** @type {Rect} */
    this.bounds = { x: 0, y: 0, w: 1, h: 1 };
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

  /**
   * show takes over what was drawn into the world.
   * @param {Rect} bounds @param {MapMark[]} marks @param {boolean} keep keeps the view as it is
   */
  show(bounds, marks, keep) {
    this.bounds = bounds;
    this.map.show(bounds, marks);
    if (keep && this.opened) this.apply();
    else {
      this.opened = false;
      this.resize();
    }
  }

  /**
   * measure takes the size of the window of the drawing; false while it is not shown. It is
   * asked for only when it may have changed: the browser lays out the whole drawing to answer.
   */
  measure() {
    if (!this.stale && this.size.w > 0) return true;
    const box = this.root.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) return false;
    this.stale = false;
    this.size = { w: box.width, h: box.height };
    this.free = { ...this.size };
    const pane = this.pane.getBoundingClientRect();
    const w = Math.min(box.right, pane.right) - Math.max(box.left, pane.left), hgt = Math.min(box.bottom, pane.bottom) - Math.max(box.top, pane.top);
    if (w > 1 && hgt > 1) {
      if (w < box.width * 0.75) this.free.w -= w;
      else this.free.h -= hgt;
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

  /** open shows all of it, or all of its width, or the beginning where neither could be read. */
  open() {
    if (this.size.w === 0) return;
    this.opened = true;
    this.moved = false;
    const fit = this.fitScale(), b = this.bounds, across = Math.min(READABLE, (this.free.w - 10) / b.w);
    const k = [fit, across].find((x) => x >= this.whole) || READABLE;
    const wide = b.w * k > this.free.w, high = b.h * k > this.free.h;
    this.view = { k, x: (wide ? 5 : (this.free.w - b.w * k) / 2) - b.x * k, y: (high ? 5 : (this.free.h - b.h * k) / 2) - b.y * k };
    this.apply();
  }

  /** alignLeft shows the left side of what was laid out for the width of the window. */
  alignLeft() {
    this.view.x = 12 - this.bounds.x * this.view.k;
    this.apply();
  }

  fitScale() {
    const pad = 10;
    return Math.max(0.02, Math.min(1.15, (this.free.w - pad) / this.bounds.w, (this.free.h - pad) / this.bounds.h));
  }

  fit() {
    const k = this.fitScale(), b = this.bounds;
    this.view = { k, x: (this.free.w - b.w * k) / 2 - b.x * k, y: (this.free.h - b.h * k) / 2 - b.y * k };
    this.apply();
  }

  reset() {
    this.zoomBy(1 / this.view.k);
  }

  /** @param {number} f @param {Point} [at] in the window of the drawing; its middle when there is none */
  zoomBy(f, at) {
    const p = at || { x: this.free.w / 2, y: this.free.h / 2 };
    const k = Math.max(0.02, Math.min(4, this.view.k * f));
    const r = k / this.view.k;
    this.view = { k, x: p.x - (p.x - this.view.x) * r, y: p.y - (p.y - this.view.y) * r };
    this.moved = true;
    this.apply();
  }

  /** @param {number} dx @param {number} dy */
  panBy(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.moved = true;
    this.apply();
  }

  /** centre moves the point of the world to the middle. @param {Point} p */
  centre(p) {
    this.view.x = this.free.w / 2 - p.x * this.view.k;
    this.view.y = this.free.h / 2 - p.y * this.view.k;
    this.moved = true;
    this.apply();
  }

  /** hold keeps a box in sight when the details open or the window changes; null lets go. @param {Rect|null} r */
  hold(r) {
    this.held = r;
    this.apply();
  }

  /** reveal moves as little as it takes to see a box; of what is too large its beginning. @param {Rect} r */
  reveal(r) {
    if (!this.measure()) return;
    if (this.view.k < FAR) this.view.k = READABLE;
    const { k } = this.view, side = Math.min(CLEAR.side, this.free.w / 10), foot = Math.min(CLEAR.foot, this.free.h / 6);
    /** @param {number} from @param {number} to @param {number} end */
    const by = (from, to, end) => Math.max(Math.min(0, end - to), side - from) * (from < side || to > end ? 1 : 0);
    const x = r.x * k + this.view.x, y = r.y * k + this.view.y;
    this.view.x += by(x, x + r.w * k, this.free.w - side);
    this.view.y += by(y, y + r.h * k, this.free.h - foot);
    this.moved = true;
    this.apply();
  }

  /** frame shows a part, readable; of what is too large its end. @param {Rect} r */
  frame(r) {
    if (!this.measure()) return;
    this.opened = true;
    const pad = 40;
    const k = Math.max(READABLE, Math.min(1.1, (this.free.w - pad) / r.w, (this.free.h - pad) / r.h));
    this.view.k = k;
    const x = r.w * k > this.free.w - pad ? r.x + r.w - (this.free.w - pad) / 2 / k : r.x + r.w / 2;
    const y = r.h * k > this.free.h - pad ? r.y + r.h - (this.free.h - pad) / 2 / k : r.y + r.h / 2;
    this.centre({ x, y });
  }

  apply() {
    const v = this.view, b = this.bounds, keep = 60;
    v.x = Math.min(this.size.w - keep - b.x * v.k, Math.max(keep - (b.x + b.w) * v.k, v.x));
    v.y = Math.min(this.size.h - keep - b.y * v.k, Math.max(keep - (b.y + b.h) * v.k, v.y));
    this.world.setAttribute("transform", "translate(" + v.x.toFixed(1) + " " + v.y.toFixed(1) + ") scale(" + v.k.toFixed(4) + ")");
    this.root.classList.toggle("cv-far", v.k < FAR);
    this.percent.textContent = Math.round(v.k * 100) + "%";
    this.map.frame();
    this.map.stepAside(this.held);
    this.onview(false);
  }

  pointers() {
    /** @type {Map<number, Point>} */
    const down = new Map();
    let dragged = 0;
    this.svg.addEventListener("wheel", (ev) => {
      ev.preventDefault();
      if (ev.shiftKey) return this.panBy(-(ev.deltaX || ev.deltaY), 0);
      const box = this.svg.getBoundingClientRect();
      const unit = ev.deltaMode === 1 ? 18 : 1;
      this.zoomBy(Math.exp(-Math.max(-120, Math.min(120, ev.deltaY * unit)) * 0.0022), { x: ev.clientX - box.left, y: ev.clientY - box.top });
    }, { passive: false });
    this.svg.addEventListener("pointerdown", (ev) => {
      if (ev.button !== 0) return;
      down.set(ev.pointerId, { x: ev.clientX, y: ev.clientY });
      dragged = 0;
    });
    this.svg.addEventListener("pointermove", (ev) => {
      const was = down.get(ev.pointerId);
      if (!was) return;
      const now = { x: ev.clientX, y: ev.clientY };
      dragged += Math.abs(now.x - was.x) + Math.abs(now.y - was.y);
      if (dragged > 4 && !this.svg.hasPointerCapture(ev.pointerId)) this.svg.setPointerCapture(ev.pointerId);
      if (down.size === 2) {
        const other = [...down.entries()].find(([id]) => id !== ev.pointerId);
        if (other) this.pinch(was, now, other[1]);
      } else if (dragged > 4) this.panBy(now.x - was.x, now.y - was.y);
      down.set(ev.pointerId, now);
    });
    /** @param {PointerEvent} ev */
    const up = (ev) => void down.delete(ev.pointerId);
    this.svg.addEventListener("pointerup", up);
    this.svg.addEventListener("pointercancel", up);
    // The end of a drag is no click on what happens to be under it.
    this.svg.addEventListener("click", (ev) => {
      if (dragged > 4) ev.stopPropagation();
      dragged = 0;
    }, true);
  }

  /** @param {Point} was @param {Point} now @param {Point} other */
  pinch(was, now, other) {
    const box = this.svg.getBoundingClientRect();
    const d0 = Math.hypot(was.x - other.x, was.y - other.y), d1 = Math.hypot(now.x - other.x, now.y - other.y);
    if (d0 > 0) this.zoomBy(d1 / d0, { x: (now.x + other.x) / 2 - box.left, y: (now.y + other.y) / 2 - box.top });
  }

  /** key handles the keys of the drawing as a whole. @param {KeyboardEvent} ev @returns {boolean} whether it did */
  key(ev) {
    if (ev.ctrlKey || ev.metaKey || ev.altKey) return false;
    /** @type {Record<string, () => void>} */
    const keys = {
      "+": () => this.zoomBy(1.25), "=": () => this.zoomBy(1.25), "-": () => this.zoomBy(1 / 1.25), "0": () => this.reset(), f: () => this.fit(),
    };
    /** @type {Record<string, [number, number]>} */
    const pans = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] };
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

/** Minimap shows all of a drawing and what of it is in the window. */
class Minimap {
  /** @param {Canvas} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.marks = svg("g", {});
    this.win = svg("rect", { class: "cv-map-win", rx: 2 });
    this.svg = svg("svg", { class: "cv-map-svg", "aria-hidden": "true", focusable: "false" }, this.marks, this.win);
    this.root = h("div", { class: "cv-map no-print", title: "Drag to move" }, this.svg);
    /** @type {Rect} */
    this.bounds = { x: 0, y: 0, w: 1, h: 1 };
    this.size = { w: 0, h: 0 };
    /** @param {PointerEvent} ev */
    const to = (ev) => {
      const box = this.svg.getBoundingClientRect();
      const b = this.bounds, k = this.scale();
      canvas.centre({ x: b.x + (ev.clientX - box.left) / k, y: b.y + (ev.clientY - box.top) / k });
    };
    this.svg.addEventListener("pointerdown", (ev) => {
      this.svg.setPointerCapture(ev.pointerId);
      to(ev);
    });
    this.svg.addEventListener("pointermove", (ev) => {
      if (this.svg.hasPointerCapture(ev.pointerId)) to(ev);
    });
  }

  scale() {
    return Math.min(170 / this.bounds.w, 110 / this.bounds.h);
  }

  /** @param {Rect} bounds @param {MapMark[]} marks */
  show(bounds, marks) {
    this.bounds = bounds;
    const k = this.scale();
    const w = Math.max(24, bounds.w * k), hgt = Math.max(16, bounds.h * k);
    this.svg.setAttribute("width", w.toFixed(0));
    this.svg.setAttribute("height", hgt.toFixed(0));
    this.svg.setAttribute("viewBox", [bounds.x, bounds.y, w / k, hgt / k].join(" "));
    this.win.setAttribute("stroke-width", String(1.5 / k));
    const least = 1.5 / k;
    this.marks.replaceChildren(...[...groupBy(marks, (m) => m.cls)].map(([cls, of]) => svg("path", { class: "cv-map-mark " + cls, d: of.map((m) => rectPath({ x: m.x, y: m.y, w: Math.max(least, m.w), h: Math.max(least, m.h) })).join("") })));
    this.size = { w: w + 12, h: hgt + 12 };
  }

  /** stepAside takes the map to the upper corner while it would cover a box. @param {Rect|null} r */
  stepAside(r) {
    const { view: v, free } = this.canvas;
    const x = free.w - 12 - this.size.w, y = free.h - 12 - this.size.h;
    this.root.classList.toggle("cv-map-up", r !== null && meet({ x: r.x * v.k + v.x, y: r.y * v.k + v.y, w: r.w * v.k, h: r.h * v.k }, { x: x - 8, y: y - 8, w: this.size.w + 20, h: this.size.h + 20 }));
  }

  frame() {
    const { view, free, bounds } = this.canvas;
    if (free.w === 0) return;
    const r = { x: -view.x / view.k, y: -view.y / view.k, w: free.w / view.k, h: free.h / view.k };
    const x0 = Math.max(bounds.x, r.x), y0 = Math.max(bounds.y, r.y);
    const x1 = Math.min(bounds.x + bounds.w, r.x + r.w), y1 = Math.min(bounds.y + bounds.h, r.y + r.h);
    this.root.hidden = free.w < 480 || x0 <= bounds.x + 1 && y0 <= bounds.y + 1 && x1 >= bounds.x + bounds.w - 1 && y1 >= bounds.y + bounds.h - 1;
    for (const [k, v] of Object.entries({ x: x0, y: y0, width: Math.max(0, x1 - x0), height: Math.max(0, y1 - y0) })) this.win.setAttribute(k, v.toFixed(1));
  }
}
