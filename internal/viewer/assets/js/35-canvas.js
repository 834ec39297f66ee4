// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// A drawing that can be moved and zoomed, with a small map of all of it.

/**
 * @typedef {{x: number, y: number}} Point
 * @typedef {{x: number, y: number, w: number, h: number}} Rect
 * @typedef {{x: number, y: number, w: number, h: number, cls: string}} MapMark
 */

/** Below this scale a drawing opens at its beginning instead of as a whole. */
const READABLE = 0.62;

/** Canvas is an SVG with a world inside that is panned and zoomed. */
class Canvas {
  /** @param {string} label what the drawing is, for screen readers */
  constructor(label) {
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
    this.pointers();
    // On paper there is no moving: all of it is shown.
    this.off = onPrint(() => {
      const b = this.bounds;
      this.svg.setAttribute("viewBox", [b.x, b.y, b.w, b.h].join(" "));
      this.world.removeAttribute("transform");
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
    this.stale = false;
    const w = this.root.clientWidth, hgt = this.root.clientHeight;
    if (w > 0 && hgt > 0) this.size = { w, h: hgt };
    return w > 0 && hgt > 0;
  }

  resize() {
    const was = this.size;
    if (!this.measure()) return;
    const grew = was.w !== this.size.w || was.h !== this.size.h;
    if (!this.opened || (grew && !this.moved)) this.open();
    else this.apply();
  }

  /** open shows all of it, or the beginning where all of it could not be read. */
  open() {
    if (this.size.w === 0) return;
    this.opened = true;
    this.moved = false;
    const k = this.fitScale();
    if (k >= READABLE) return this.fit();
    const b = this.bounds;
    this.view.k = Math.max(READABLE, Math.min(0.85, Math.max((this.size.w - 48) / b.w, (this.size.h - 48) / b.h)));
    const s = this.view.k;
    this.view.x = b.w * s > this.size.w - 48 ? 24 - b.x * s : (this.size.w - b.w * s) / 2 - b.x * s;
    this.view.y = b.h * s > this.size.h - 48 ? 24 - b.y * s : (this.size.h - b.h * s) / 2 - b.y * s;
    this.apply();
  }

  fitScale() {
    const pad = 48;
    return Math.max(0.02, Math.min(1.25, (this.size.w - pad) / this.bounds.w, (this.size.h - pad) / this.bounds.h));
  }

  fit() {
    const k = this.fitScale(), b = this.bounds;
    this.view = { k, x: (this.size.w - b.w * k) / 2 - b.x * k, y: (this.size.h - b.h * k) / 2 - b.y * k };
    this.apply();
  }

  reset() {
    this.zoomBy(1 / this.view.k);
  }

  /** @param {number} f @param {Point} [at] in the window of the drawing; its middle when there is none */
  zoomBy(f, at) {
    const p = at || { x: this.size.w / 2, y: this.size.h / 2 };
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
    this.view.x = this.size.w / 2 - p.x * this.view.k;
    this.view.y = this.size.h / 2 - p.y * this.view.k;
    this.moved = true;
    this.apply();
  }

  /** reveal moves as little as it takes to see a box. @param {Rect} r */
  reveal(r) {
    if (!this.measure()) return;
    if (this.view.k < 0.35) this.view.k = 0.8;
    const { k } = this.view, pad = 40;
    const x0 = r.x * k + this.view.x, y0 = r.y * k + this.view.y;
    if (x0 < pad) this.view.x += pad - x0;
    else if (x0 + r.w * k > this.size.w - pad) this.view.x -= x0 + r.w * k - this.size.w + pad;
    if (y0 < pad) this.view.y += pad - y0;
    else if (y0 + r.h * k > this.size.h - pad) this.view.y -= y0 + r.h * k - this.size.h + pad;
    this.moved = true;
    this.apply();
  }

  /** frame shows a part, readable; of what is too large its end. @param {Rect} r */
  frame(r) {
    if (!this.measure()) return;
    this.opened = true;
    const pad = 70;
    const k = Math.max(0.5, Math.min(1.1, (this.size.w - pad) / r.w, (this.size.h - pad) / r.h));
    this.view.k = k;
    const x = r.w * k > this.size.w - pad ? r.x + r.w - (this.size.w - pad) / 2 / k : r.x + r.w / 2;
    const y = r.h * k > this.size.h - pad ? r.y + r.h - (this.size.h - pad) / 2 / k : r.y + r.h / 2;
    this.centre({ x, y });
  }

  apply() {
    const v = this.view, b = this.bounds, keep = 60;
    v.x = Math.min(this.size.w - keep - b.x * v.k, Math.max(keep - (b.x + b.w) * v.k, v.x));
    v.y = Math.min(this.size.h - keep - b.y * v.k, Math.max(keep - (b.y + b.h) * v.k, v.y));
    this.world.setAttribute("transform", "translate(" + v.x.toFixed(1) + " " + v.y.toFixed(1) + ") scale(" + v.k.toFixed(4) + ")");
    this.root.classList.toggle("cv-far", v.k < 0.4);
    this.percent.textContent = Math.round(v.k * 100) + "%";
    this.map.frame();
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
    this.marks.replaceChildren(...marks.map((m) => svg("rect", { class: "cv-map-mark " + m.cls, x: m.x, y: m.y, width: Math.max(least, m.w), height: Math.max(least, m.h) })));
  }

  frame() {
    const { view, size, bounds } = this.canvas;
    if (size.w === 0) return;
    const r = { x: -view.x / view.k, y: -view.y / view.k, w: size.w / view.k, h: size.h / view.k };
    const x0 = Math.max(bounds.x, r.x), y0 = Math.max(bounds.y, r.y);
    const x1 = Math.min(bounds.x + bounds.w, r.x + r.w), y1 = Math.min(bounds.y + bounds.h, r.y + r.h);
    this.root.hidden = x0 <= bounds.x + 1 && y0 <= bounds.y + 1 && x1 >= bounds.x + bounds.w - 1 && y1 >= bounds.y + bounds.h - 1;
    for (const [k, v] of Object.entries({ x: x0, y: y0, width: Math.max(0, x1 - x0), height: Math.max(0, y1 - y0) })) this.win.setAttribute(k, v.toFixed(1));
  }
}
