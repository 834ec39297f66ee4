// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Moving through a drawing by keys: one tab stop, the arrows follow the edges.

/** Roving holds the focus within a drawing. */
class Roving {
  /**
   * @param {Canvas} canvas
   * @param {{activate: (id: string) => void, key?: (id: string, ev: KeyboardEvent) => boolean, leave?: () => void}} on
   */
  constructor(canvas, on) {
    this.canvas = canvas;
    this.on = on;
    /** @type {Map<string, Stop>} */
    this.stops = new Map();
    this.current = "";
    /** @type {string[]} */
    this.siblings = [];
    this.vertical = false;
    canvas.root.addEventListener("keydown", (ev) => this.key(ev));
    canvas.svg.addEventListener("focusin", (ev) => {
      const el = ev.target instanceof Element ? ev.target.closest("[data-stop]") : null;
      const id = el && el.getAttribute("data-stop");
      if (id && id !== this.current) this.mark(id);
    });
  }

  /**
   * show takes the stops of a new drawing; the current one stays where it is still there.
   * @param {Map<string, Stop>} stops @param {boolean} vertical whether edges lead downwards
   * @param {boolean} had whether the drawing before had the focus
   */
  show(stops, vertical, had) {
    this.stops = stops;
    this.vertical = vertical;
    this.siblings = [];
    const first = stops.has(this.current) ? this.current : [...stops.keys()][0];
    this.current = "";
    if (first !== undefined) this.mark(first);
    if (had && first !== undefined) stops.get(first)?.el.focus({ preventScroll: true });
  }

  /** held says whether the focus is in the drawing; what replaces the drawing asks before. */
  held() {
    return this.canvas.svg.contains(document.activeElement);
  }

  /** @param {string} id */
  mark(id) {
    const old = this.stops.get(this.current), now = this.stops.get(id);
    if (old) old.el.setAttribute("tabindex", "-1");
    if (!now) return;
    now.el.setAttribute("tabindex", "0");
    this.current = id;
  }

  /** @param {string} id */
  focus(id) {
    const s = this.stops.get(id);
    if (!s) return;
    this.mark(id);
    s.el.focus({ preventScroll: true });
    this.canvas.reveal(s.rect);
  }

  /** @param {KeyboardEvent} ev */
  key(ev) {
    const inside = ev.target instanceof Element && ev.target.closest("[data-stop]") !== null;
    if (this.canvas.key(ev) || (inside && this.move(ev))) {
      ev.preventDefault();
      ev.stopPropagation();
    }
  }

  /** @param {KeyboardEvent} ev @returns {boolean} */
  move(ev) {
    const s = this.stops.get(this.current);
    if (!s || ev.ctrlKey || ev.metaKey || ev.altKey) return false;
    if (this.on.key && this.on.key(this.current, ev)) return true;
    const ids = [...this.stops.keys()];
    switch (ev.key) {
      case "Enter":
      case " ":
        this.on.activate(this.current);
        return true;
      case "Home":
        return this.go(ids[0], []);
      case "End":
        return this.go(ids[ids.length - 1], []);
      case "Escape":
        if (this.on.leave) this.on.leave();
        return this.on.leave !== undefined;
    }
    const turn = { ArrowLeft: "ArrowUp", ArrowRight: "ArrowDown", ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight" };
    const key = this.vertical && Object.hasOwn(turn, ev.key) ? turn[/** @type {keyof typeof turn} */ (ev.key)] : ev.key;
    switch (key) {
      case "ArrowLeft":
        return this.go(s.prev[0], s.prev);
      case "ArrowRight":
        return this.go(s.next[0], s.next);
      case "ArrowUp":
        return this.side(s, -1);
      case "ArrowDown":
        return this.side(s, 1);
    }
    return false;
  }

  /** @param {string|undefined} id @param {string[]} siblings @returns {boolean} */
  go(id, siblings) {
    if (id === undefined) return true;
    this.siblings = siblings;
    this.focus(id);
    return true;
  }

  /** side goes to the next of the siblings, or to what lies beside. @param {Stop} s @param {number} by */
  side(s, by) {
    const i = this.siblings.indexOf(this.current);
    if (i >= 0 && this.siblings[i + by] !== undefined) return this.go(this.siblings[i + by], this.siblings);
    const m = mid(s.rect);
    let best = "", least = Infinity;
    for (const [id, o] of this.stops) {
      const q = mid(o.rect);
      const across = (this.vertical ? q.x - m.x : q.y - m.y) * by, along = this.vertical ? q.y - m.y : q.x - m.x;
      const cost = across + Math.abs(along) * 2;
      if (across > 4 && cost < least) {
        best = id;
        least = cost;
      }
    }
    return this.go(best || undefined, []);
  }
}

/** @param {Rect} r @returns {Point} */
function mid(r) {
  return { x: r.x + r.w / 2, y: r.y + r.h / 2 };
}
