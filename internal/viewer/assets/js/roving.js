// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Moving through a drawing by keys: one tab stop, the arrows follow the edges.

/** Roving holds the focus within a drawing. */
class Roving {
  /** @param {Canvas} canvas @param {RovingKeys} on */
  constructor(canvas, on) {
    this.canvas = canvas;
    this.on = on;
    /** @type {Map<string, Stop>} */ this.stops = new Map();
    this.current = "";
    /** @type {string[]} */ this.siblings = [];
    this.vertical = false;
    canvas.root.addEventListener("keydown", (ev) => {
      const inside = ev.target instanceof Element && ev.target.closest("[data-stop]") !== null;
      if (!canvas.key(ev) && !(inside && this.move(ev))) return;
      ev.preventDefault();
      ev.stopPropagation();
    });
    canvas.svg.addEventListener("focusin", (ev) => {
      const el = ev.target instanceof Element ? ev.target.closest("[data-stop]") : null;
      const id = el?.getAttribute("data-stop");
      if (id && id !== this.current) this.mark(id);
    });
  }

  /** show takes the stops of a new drawing; the current one stays where it is still there.
   * @param {Map<string, Stop>} stops @param {boolean} vertical whether edges lead downwards
   * @param {boolean} had whether the drawing before had the focus */
  show(stops, vertical, had) {
    this.stops = stops;
    this.vertical = vertical;
    this.siblings = [];
    const first = stops.has(this.current) ? this.current : [...stops.keys()][0];
    this.current = "";
    if (first === undefined) return;
    this.mark(first);
    if (had) stops.get(first)?.el.focus({ preventScroll: true });
  }

  /** held says whether the focus is in the drawing; what replaces the drawing asks before. */
  held() {
    return this.canvas.svg.contains(document.activeElement);
  }

  /** @param {string} id */
  mark(id) {
    const now = this.stops.get(id);
    this.stops.get(this.current)?.el.setAttribute("tabindex", "-1");
    now?.el.setAttribute("tabindex", "0");
    if (now) this.current = id;
  }

  /** @param {string} id */
  focus(id) {
    const s = this.stops.get(id);
    if (!s) return;
    this.mark(id);
    s.el.focus({ preventScroll: true });
    this.canvas.reveal(s.rect);
  }

  /** @param {KeyboardEvent} ev @returns {boolean} */
  move(ev) {
    const s = this.stops.get(this.current);
    if (!s || ev.ctrlKey || ev.metaKey || ev.altKey) return false;
    if (this.on.key(this.current, ev)) return true;
    const ids = [...this.stops.keys()], [back, on, left, right] = this.vertical
      ? ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]
      : ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
    const keys = /** @type {Record<string, () => void>} */ ({
      Enter: () => this.on.activate(this.current),
      " ": () => this.on.activate(this.current),
      Home: () => this.go(ids[0], []),
      End: () => this.go(ids[ids.length - 1], []),
      Escape: this.on.leave,
      [back]: () => this.go(s.prev[0], s.prev),
      [on]: () => this.go(s.next[0], s.next),
      [left]: () => this.side(s, -1),
      [right]: () => this.side(s, 1),
    });
    keys[ev.key]?.();
    return ev.key in keys;
  }

  /** @param {string|undefined} id @param {string[]} siblings */
  go(id, siblings) {
    if (id === undefined) return;
    this.siblings = siblings;
    this.focus(id);
  }

  /** side goes to the next of the siblings, or to what lies beside. @param {Stop} s
   * @param {number} by */
  side(s, by) {
    const next = this.siblings[this.siblings.indexOf(this.current) + by];
    if (this.siblings.includes(this.current) && next !== undefined) {
      this.go(next, this.siblings);
      return;
    }
    const m = mid(s.rect);
    let best, least = Infinity;
    for (const [id, o] of this.stops) {
      const q = mid(o.rect), dx = q.x - m.x, dy = q.y - m.y;
      const across = (this.vertical ? dx : dy) * by;
      const cost = across + Math.abs(this.vertical ? dy : dx) * 2;
      if (across > 4 && cost < least) [best, least] = [id, cost];
    }
    this.go(best, []);
  }
}

/** @param {Rect} r @returns {Point} */
function mid(r) {
  return { x: r.x + r.w / 2, y: r.y + r.h / 2 };
}
