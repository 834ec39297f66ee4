// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// What of a large drawing has elements. The browser needs seconds for all of 2,000 steps with
// their lines; what is near the window takes no time, and from far away a dot is enough.

/**
 * @typedef {object} Piece
 * @property {Rect} rect
 * @property {SVGGElement} layer
 * @property {string} cls the class of what it looks like from far away
 * @property {string} d its path from far away
 * @property {boolean} [quiet] it is drawn only while it is pinned
 * @property {() => SVGElement} make
 */

/** With at most so many items all of them have elements. */
const WHOLE = 900;

/** Below this scale names cannot be read. */
const FAR = 0.4;

class Field {
  /** @param {Canvas} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    canvas.onview = (all) => this.update(all);
    /** @type {Piece[]} */ this.items = [];
    /** @type {Map<number, SVGElement>} */ this.made = new Map();
    /** @type {Set<number>} */ this.pins = new Set();
    this.whole = true;
    /** What has elements, null while dots stand for all. @type {Rect|null} */
    this.near = null;
    this.dots = svg("g", { class: "cv-dots", "aria-hidden": "true" });
  }

  /** show takes the items of a new drawing. @param {Piece[]} items */
  show(items) {
    this.items = items;
    this.made.clear();
    this.pins.clear();
    this.near = null;
    this.dots.replaceChildren();
    this.whole = items.length <= WHOLE;
    if (this.whole) items.forEach((it, i) => it.quiet || this.at(i));
  }

  /** at is the element of an item. @param {number} i */
  at(i) {
    let el = this.made.get(i);
    if (!el) {
      el = this.items[i].make();
      this.made.set(i, el);
      this.items[i].layer.append(el);
    }
    return el;
  }

  /** pin keeps the elements of some items, wherever the window is. @param {Set<number>} pins */
  pin(pins) {
    const was = this.pins;
    this.pins = pins;
    for (const i of was) if (!pins.has(i) && this.items[i].quiet) this.drop(i);
    for (const i of pins) this.at(i);
  }

  /** @param {number} i */
  drop(i) {
    const el = this.made.get(i);
    if (!el || this.pins.has(i) || el.contains(document.activeElement)) return;
    el.remove();
    this.made.delete(i);
  }

  /** update brings the elements in line with the window. @param {boolean} all on paper, all of
   * it is in the window */
  update(all) {
    if (this.whole) return;
    const { view, size } = this.canvas;
    if (all || view.k < FAR) {
      if (this.near) for (const i of [...this.made.keys()]) this.drop(i);
      this.near = null;
      if (this.dots.childElementCount > 0) return;
      for (const [cls, of] of groupBy(this.items.filter((it) => !it.quiet),
        (it) => it.cls)) this.dots.append(
        svg("path", { class: cls, d: of.map((it) => it.d).join("") }));
      return;
    }
    const w = size.w / view.k, hgt = size.h / view.k, x = -view.x / view.k, y = -view.y / view.k,
      n = this.near;
    if (n && x >= n.x && y >= n.y && x + w <= n.x + n.w && y + hgt <= n.y + n.h
      && n.w < w * 4) return;
    this.dots.replaceChildren();
    const near = { x: x - w / 2, y: y - hgt / 2, w: w * 2, h: hgt * 2 };
    this.near = near;
    this.items.forEach((it, i) => {
      if (!it.quiet && meet(it.rect, near)) this.at(i);
      else this.drop(i);
    });
  }

  /** under is the first item at a point of the world, -1 for none. @param {Point} p
   * @param {number} within how many of the items to look at */
  under(p, within) {
    return this.items.slice(0, within).findIndex(({ rect: r }) => p.x >= r.x && p.y >= r.y
      && p.x <= r.x + r.w && p.y <= r.y + r.h);
  }
}

/** meet says whether two boxes have a point in common. @param {Rect} a @param {Rect} b */
function meet(a, b) {
  return a.x <= b.x + b.w && b.x <= a.x + a.w && a.y <= b.y + b.h && b.y <= a.y + a.h;
}

/** @param {Rect} r */
function rectPath(r) {
  return "M" + r.x.toFixed(1) + " " + r.y.toFixed(1) + "h" + r.w.toFixed(1) + "v" + r.h.toFixed(1)
    + "h" + (-r.w).toFixed(1) + "Z";
}

/** around is the least box around points. @param {Point[]} p @returns {Rect} */
function around(p) {
  let x0 = Infinity, y0 = Infinity, x1 = -Infinity, y1 = -Infinity;
  for (const q of p) {
    x0 = Math.min(x0, q.x);
    y0 = Math.min(y0, q.y);
    x1 = Math.max(x1, q.x);
    y1 = Math.max(y1, q.y);
  }
  return { x: x0, y: y0, w: x1 - x0, h: y1 - y0 };
}
