// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The list of the steps of a session, which Timeline and Trajectory share: which of its lines are
// kept, drawn, selected, and reached by keys. What a line looks like stands in the views.

/** On paper there is no scrolling: so many lines of a fixed height are made. */
const ON_PAPER = 400;

/** @template {Line} T */
class StepList {
  /** @param {App} app @param {Look<T>} look */
  constructor(app, look) {
    this.app = app;
    this.look = look;
    /** @type {Session|null} */ this.session = null;
    /** @type {T[]} */ this.lines = [];
    /** @type {T[]} the lines that are kept */ this.shown = [];
    /** @type {T|null} the line that the keys are at */ this.current = null;
    /** @type {Map<T, HTMLElement>} */ this.drawn = new Map();
    /** @type {ReturnType<typeof chunked>|null} */ this.chunks = null;
    look.root.addEventListener("keydown", (ev) => this.key(ev));
    this.off = () => {};
    if (!look.height) return;
    look.scroll.addEventListener("scroll", () => this.paint());
    this.off = onPrint(() => this.paint(ON_PAPER), () => this.paint());
  }

  /** has says whether s is the session that is shown, perhaps with fewer rows.
   * @param {Session} s */
  has(s) {
    return sameSession(this.session?.session, s.session);
  }

  /** show takes over the lines of a session. @param {Session} s @param {T[]} lines */
  show(s, lines) {
    const same = this.has(s), was = this.current, made = this.drawn.size;
    this.session = s;
    this.lines = lines;
    this.current = (same && was && lines.find((l) => l.id === was.id)) || null;
    if (same && !this.look.height) {
      keepPlace(this.look.scroll, () => {
        this.update();
        this.chunks?.until(made - 1);
      });
      return;
    }
    if (!same) this.look.scroll.scrollTo(0, 0);
    this.update();
  }

  /** update takes over which lines are kept. */
  update() {
    this.shown = this.lines.filter(this.look.keeps);
    if (!this.current || !this.shown.includes(this.current)) {
      // The keys go to the last line before the one that is gone: that within which it was closed.
      const kept = new Set(this.shown), at = this.current ? this.lines.indexOf(this.current) : -1;
      this.current = this.lines.slice(0, at + 1).filter((l) => kept.has(l)).pop() || this.shown[
        0] || null;
    }
    this.draw();
  }

  /** draw makes the lines again. */
  draw() {
    const { root, height, frame } = this.look;
    if (!this.session || !frame()) return;
    if (height) {
      root.style.height = this.shown.length * height + "px";
      this.paint();
      return;
    }
    this.grow(0);
    this.reach(this.shown.findIndex((l) => this.isSelected(l)));
  }

  /** paint makes the lines that can be seen. @param {number} [first] so many lines from the
   * first one instead */
  paint(first) {
    const { scroll, root, height, behind } = this.look;
    if (!height) return;
    const top = first ? 0 : scroll.scrollTop, room = first ? first * height : scroll.clientHeight;
    const from = Math.max(0, Math.floor(top / height) - 8),
      to = Math.min(this.shown.length, Math.ceil((top + room) / height) + 8);
    const focused = root.contains(document.activeElement);
    this.drawn.clear();
    /** @type {Child[]} */ const made = [];
    for (let i = from; i < to; i++) made.push(this.make(i));
    // The current line is there for the tab key, wherever the window is.
    const at = this.current ? this.shown.indexOf(this.current) : -1;
    if (at >= 0 && (at < from || at >= to)) made.push(this.make(at));
    replace(root, behind?.(), made);
    if (focused) this.focus();
  }

  /** grow makes the lines from a place on, some at a time. @param {number} from */
  grow(from) {
    const { root, above, none } = this.look;
    this.drawn.clear();
    replace(root, this.shown.length === 0 && none?.());
    this.chunks = chunked(root, this.shown, (l, i) => [above?.(l, this.shown[i - 1]), this.make(i)],
      80, from);
  }

  /** reach makes what there is up to a place. @param {number} i */
  reach(i) {
    if (i < 0) return;
    if (!this.chunks?.near(i)) this.grow(Math.max(0, i - 10));
    this.chunks?.until(i);
  }

  /** @param {number} i the place among the lines that are kept */
  make(i) {
    const l = this.shown[i], el = this.look.make(l, i);
    if (this.look.height) el.style.top = i * this.look.height + "px";
    this.look.mark(el, this.isSelected(l));
    this.drawn.set(l, el);
    return el;
  }

  /** @param {T} l */
  isSelected(l) {
    const ref = this.app.selected;
    return ref !== null && this.look.holds(l, ref);
  }

  /** select shows what is selected, and scrolls to the first line of it. */
  select() {
    const { keeps, open } = this.look;
    const closed = open && this.lines.find((l) => this.isSelected(l) && !keeps(l));
    if (closed) {
      open(closed);
      this.update();
    }
    const i = this.shown.findIndex((l) => this.isSelected(l));
    if (i >= 0) {
      this.current = this.shown[i];
      this.bring(i, "center");
    }
    for (const [l, el] of this.drawn) this.look.mark(el, this.isSelected(l));
  }

  /** bring scrolls to a line. @param {number} i its place @param {"center"|"start"} block where
   * one goes that was out of sight */
  bring(i, block) {
    const { scroll, head, height, across } = this.look, l = this.shown[i];
    if (height) {
      const y = i * height, room = scroll.clientHeight - head.offsetHeight;
      if (y < scroll.scrollTop) scroll.scrollTop = y;
      else if (y + height > scroll.scrollTop + room) scroll.scrollTop = y + height - room;
      across?.(l);
      this.paint();
      return;
    }
    this.reach(i);
    const el = this.drawn.get(l), view = scroll.getBoundingClientRect(),
      under = view.top + head.offsetHeight;
    if (!el) return;
    const top = el.getBoundingClientRect().top;
    if (top >= Math.max(under, view.top + 60) && top <= view.bottom - 60) return;
    if (block === "center") el.scrollIntoView({ block });
    else scroll.scrollTop += top - under - 8;
  }

  /** to makes a line the current one. @param {number} i its place */
  to(i) {
    if (this.shown[i] === undefined) return;
    this.current = this.shown[i];
    this.bring(i, "start");
    this.focus();
  }

  /** focus puts the focus on the current line. */
  focus() {
    if (!this.current) return;
    /** @type {HTMLElement|null} */ (
      this.look.root.querySelector('[data-row="' + CSS.escape(this.current.id) + '"]'))?.focus({
      preventScroll: true });
  }

  /** lineOf is the line that an element is in. @param {EventTarget|null} el */
  lineOf(el) {
    const id = el instanceof Element ? el.closest("[data-row]")?.getAttribute("data-row") : null;
    return this.shown.find((l) => l.id === id) || null;
  }

  /** @param {KeyboardEvent} ev */
  key(ev) {
    const { scroll, root, height } = this.look, el = ev.target;
    const mine = el === root || (el instanceof HTMLElement && el.dataset.row !== undefined);
    if (!mine || ev.ctrlKey || ev.metaKey || ev.altKey) return;
    this.current = this.lineOf(el) || this.current;
    if (!this.current) return;
    const at = this.shown.indexOf(this.current), end = this.shown.length - 1;
    /** @type {Record<string, () => void>} */
    const keys = { ArrowDown: () => this.to(at + 1), ArrowUp: () => this.to(at - 1), Home: () =>
      this.to(0), End: () => this.to(end) };
    if (height) {
      const page = Math.max(1, Math.floor(scroll.clientHeight / height) - 3);
      keys.PageDown = () => this.to(Math.min(end, at + page));
      keys.PageUp = () => this.to(Math.max(0, at - page));
    }
    Object.assign(keys, this.look.keys?.(this.current));
    if (!Object.hasOwn(keys, ev.key)) return;
    ev.preventDefault();
    ev.stopPropagation();
    keys[ev.key]();
  }
}
