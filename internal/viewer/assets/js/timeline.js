// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Spans as bars over time: what took how long, what everything waited for, what went wrong.

const ROW_PX = 26;

/** Behind the last bar is room for its duration. */
const BEHIND = 76;

class TimelineView {
  /** @param {HTMLElement} root @param {App} app */
  constructor(root, app) {
    this.app = app;
    /** The ids of collapsed rows. @type {Set<string>} */
    this.folded = new Set();
    this.scale = new Timescale([]);
    this.zoom = 1;
    /** @type {Set<string>} */ this.critical = new Set();
    this.bar = barOf("Timeline");
    this.axis = h("div", "tl-axis");
    this.head = h("div", "tl-head", h("div", "tl-name", "Span"), this.axis);
    this.sheet = h("div", { class: "tl-sheet", role: "treegrid", "aria-label": "Spans over time",
      tabindex: "-1", onclick: (/** @type {Event} */ ev) => this.click(ev) });
    this.scroll = h("div", "tl-scroll", this.head, this.sheet);
    root.append(h("div", "tl", this.bar, this.scroll));
    /** @type {StepList<TimeRow>} */ this.list = new StepList(app, {
      scroll: this.scroll, head: this.head, root: this.sheet, height: ROW_PX,
      keeps: (r) => !parentsOf(r).some((p) => this.folded.has(p.id)),
      make: (r, place) => this.row(r, place),
      holds: (r, ref) => r.span !== null && r.span.key === app.spanOf(ref),
      mark: (el, on) => {
        el.classList.toggle("sel", on);
        el.setAttribute("aria-selected", String(on));
      },
      frame: () => this.fit(),
      behind: () => this.grid(),
      open: (r) => parentsOf(r).forEach((p) => this.folded.delete(p.id)),
      across: (r) => this.across(r),
      keys: (r) => this.keys(r),
    });
    this.watch = new ResizeObserver(() => this.list.draw());
    this.watch.observe(this.scroll);
    this.brush();
    this.scroll.addEventListener("wheel", (ev) => {
      if (!ev.ctrlKey && !ev.metaKey) return;
      ev.preventDefault();
      this.zoomTo(this.zoom * Math.exp(-ev.deltaY * 0.004), ev.clientX);
    }, { passive: false });
  }

  /** nameWidth is that of the column of names. */
  get nameWidth() {
    return this.scroll.clientWidth < 700 ? 180 : 300;
  }

  /** @param {Session} s */
  show(s) {
    const rows = timeRows(s);
    this.critical = new Set(s.critical_path);
    this.scale = new Timescale(stretches(s.spans));
    if (!this.list.has(s)) {
      const turns = s.turns > 1 && s.spans.length > AGGREGATE_ABOVE;
      this.folded = new Set(rows.filter((r) => turns && r.span === null).map((r) => r.id));
      this.zoom = 1;
    }
    this.renderBar(s);
    this.list.show(s, rows);
  }

  /** @param {Session} s */
  renderBar(s) {
    /** @param {string} text @param {string} title @param {(r: TimeRow) => boolean} which to
     * close */
    const act = (text, title, which) => smallButton(text, () => {
      this.folded = new Set(this.list.lines.filter(which).map((r) => r.id));
      this.list.update();
    }, title);
    /** @param {string} text @param {string} title @param {() => void} onclick */
    const zoom = (text, title, onclick) => h("button", { title, "aria-label": title, onclick },
      text);
    /** @param {string} cls @param {Child} [body] */
    const sample = (cls, body) => h("span", "tl-bar tl-sample k-tool " + cls, body);
    const idle = this.scale.list.some((x) => x.idle);
    /** @param {boolean} which */ const time = (which) => fmtDuration(
      this.scale.list.reduce((n, x) => n + (x.idle === which ? x.t1 - x.t0 : 0), 0));
    replace(this.bar,
      segments("Zoom",
        zoom("−", "Zoom out (-)", () => this.zoomTo(this.zoom / 1.5)),
        zoom("+", "Zoom in (+)", () => this.zoomTo(this.zoom * 1.5)),
        zoom("Fit", "Fit all of it (f)", () => this.zoomTo(1))),
      act("Expand all", "Show every span", () => false),
      act("Collapse agents", "Close what lies within each agent",
        (r) => r.span?.class === "agent" && r.depth > 1 && r.size > 0),
      act("Collapse turns", "One line for each turn", (r) => r.span === null),
      h("span", "tl-legend", sample(""), "span", sample("tl-crit"), "critical path",
        sample("tl-bad", icon("error")), "error", idle && [breakMark(), "waiting, shortened"]),
      h("span", "gv-count muted", plural(s.spans.length, "span") + " · " + time(false) + " of work"
        + (idle ? " · " + time(true) + " idle" : "")));
  }

  /** fit takes over the size of the window. */
  fit() {
    const w = this.scroll.clientWidth;
    if (w === 0) return false;
    const width = Math.max(200, w - this.nameWidth - BEHIND) * this.zoom;
    this.scale.fit(width);
    this.scroll.style.setProperty("--tl-name", this.nameWidth + "px");
    this.head.style.width = this.sheet.style.width = this.nameWidth + width + BEHIND + "px";
    this.sheet.setAttribute("aria-rowcount", String(this.list.shown.length));
    replace(this.axis, this.scale.ticks().map((k) => at(h("span", "tl-tick", k.text), k.x)),
      this.scale.list.filter((s) => s.idle).map(({ t0, t1, x0, x1 }) => {
        const title = "Nothing happened for " + fmtDuration(t1 - t0);
        const text = x1 - x0 > 30 && fmtDuration(t1 - t0).split(" ").slice(0, 2).join(" ");
        return at(h("span", { class: "tl-gap", title }, text, breakMark()), x0, x1 - x0);
      }));
    return true;
  }

  grid() {
    return h("div", { class: "tl-grid", "aria-hidden": "true" },
      this.scale.list.filter((s) => s.idle).map((s) => at(h("span", "tl-idle"), s.x0, s.x1 - s.x0)),
      this.scale.ticks().map((k) => at(h("span", "tl-rule"), k.x)));
  }

  /** @param {TimeRow} r @param {number} place among the rows that are kept */
  row(r, place) {
    const sp = r.span, x0 = this.scale.x(r.t0), w = Math.max(3, this.scale.x(r.t1) - x0);
    const crit = sp !== null && this.critical.has(sp.key), bad = sp?.status === "ERROR";
    const shut = this.folded.has(r.id), name = sp ? sp.name : turnName(r.turn);
    const took = fmtDuration(sp ? sp.duration_ms : r.t1 - r.t0);
    // A closed line tells of the errors that it hides.
    const within = shut && r.errors > 0 && plural(r.errors, "error");
    const says = [(sp ? classOf(sp.class).label + " " : "") + name, took,
      crit && "on the critical path", bad && "error " + (sp.error || ""),
      within && within + " within", sp?.open && "no end recorded",
      r.left && "left"].filter(Boolean).join(", ");
    const error = bad && icon("error", w > 18 ? "" : "bad-text");
    const cls = ["tl-bar", !sp && "tl-turn", crit && "tl-crit", w < 10 && "tl-thin",
      bad && "tl-bad",
      sp?.open && "tl-open"].filter(Boolean).join(" ");
    const bar = at(h("span", { class: cls, title: says }, w > 18 && error), x0, w);
    const label = at(h("span", "tl-took", w <= 18 && error, took + (sp?.open ? " · open" : ""),
      within && [icon("error", "bad-text"), within]), x0 + w + 6);
    const twist = h("span", { class: r.size > 0 && !shut ? "tl-twist open" : "tl-twist",
      data: r.size > 0 ? { twist: 1 } : {} }, r.size > 0 && icon("chevron"));
    twist.style.marginLeft = r.depth * 13 + "px";
    const agent = sp && sp.class !== "user" && ![name, r.parent?.span?.agent].includes(sp.agent);
    return h("div", { class: "tl-row " + (sp ? kindClass(sp.class) : "tl-turnrow")
      + (r.left ? " left" : ""), role: "row",
      "aria-level": r.depth + 1, "aria-rowindex": place + 1, "aria-label": says,
      "aria-expanded": r.size > 0 ? String(!shut) : null,
      tabindex: r === this.list.current ? "0" : "-1", data: { row: r.id } },
      h("div", { class: "tl-name", role: "rowheader" }, twist,
        sp && h("span", "tl-kind", icon(classOf(sp.class).icon)), h("span", "tl-text", name),
        agent && sp.agent && h("small", {}, sp.agent),
        !sp && shut && h("small", {}, plural(r.size, "span"))),
      h("div", { class: "tl-bars", role: "gridcell" }, bar, label));
  }

  /** @param {Event} ev */
  click(ev) {
    const r = this.list.lineOf(ev.target);
    if (!r || !(ev.target instanceof Element)) return;
    this.list.current = r;
    if (ev.target.closest("[data-twist]")) this.twist(r);
    else this.activate(r);
    this.list.focus();
  }

  /** activate selects the span of a row; a turn it opens or closes. @param {TimeRow} r */
  activate(r) {
    if (r.span) this.app.select({ type: "span", key: r.span.key });
    else this.twist(r);
  }

  /** twist opens or closes a row. @param {TimeRow} r */
  twist(r) {
    if (r.size === 0) return;
    if (!this.folded.delete(r.id)) this.folded.add(r.id);
    this.list.update();
  }

  /** @param {TimeRow} r @returns {Record<string, () => void>} */
  keys(r) {
    const { list } = this, at = list.shown.indexOf(r), shut = this.folded.has(r.id);
    return {
      ArrowRight: () => r.size > 0 && (shut ? this.twist(r) : list.to(at + 1)),
      ArrowLeft: () => (r.size > 0 && !shut ? this.twist(r) : r.parent
        && list.to(list.shown.indexOf(r.parent))),
      Enter: () => this.activate(r),
      " ": () => this.twist(r),
      "+": () => this.zoomTo(this.zoom * 1.5),
      "=": () => this.zoomTo(this.zoom * 1.5),
      "-": () => this.zoomTo(this.zoom / 1.5),
      f: () => this.zoomTo(1),
      "0": () => this.zoomTo(1),
    };
  }

  /** across scrolls along the time to the bar of a row. @param {TimeRow} r */
  across(r) {
    const left = this.scroll.scrollLeft, wide = this.scroll.clientWidth - this.nameWidth;
    const x0 = this.scale.x(r.t0), x1 = this.scale.x(r.t1);
    if (x1 < left || x0 > left + wide - 40) this.scroll.scrollLeft = Math.max(0, x0 - 60);
  }

  /** @param {number} z @param {number} [clientX] what stays where it is */
  zoomTo(z, clientX) {
    const left = this.scroll.getBoundingClientRect().left + this.nameWidth;
    const dx = clientX === undefined ? (this.scroll.clientWidth - this.nameWidth) / 2
      : clientX - left;
    const share = (this.scroll.scrollLeft + dx) / this.scale.width;
    this.zoom = Math.max(1, Math.min(400, z));
    this.list.draw();
    this.scroll.scrollLeft = share * this.scale.width - dx;
    this.list.paint();
  }

  /** brush zooms to what is dragged over on the axis. */
  brush() {
    const mark = h("span", "tl-brush");
    let from = NaN;
    /** @param {PointerEvent} ev */
    const over = (ev) => {
      const to = Math.max(0, Math.min(this.scale.width, within(ev, this.axis).x));
      return { to, start: Math.min(from, to), w: Math.abs(to - from) };
    };
    this.axis.addEventListener("pointerdown", (ev) => {
      if (ev.button !== 0) return;
      from = over(ev).to;
      this.axis.append(at(mark, from, 0));
      this.axis.setPointerCapture(ev.pointerId);
    });
    this.axis.addEventListener("pointermove", (ev) => at(mark, over(ev).start, over(ev).w));
    this.axis.addEventListener("pointercancel", () => mark.remove());
    this.axis.addEventListener("pointerup", (ev) => {
      const { start, w } = over(ev), { width } = this.scale;
      mark.remove();
      from = NaN;
      if (!(w > 6)) return;
      this.zoomTo(this.zoom * (this.scroll.clientWidth - this.nameWidth - BEHIND) / w);
      this.scroll.scrollLeft = start / width * this.scale.width;
      this.list.paint();
    });
  }

  select() {
    this.list.select();
  }

  destroy() {
    this.watch.disconnect();
    this.list.off();
  }
}

/** parentsOf are the rows that a row lies within. @param {TimeRow} r */
function parentsOf(r) {
  /** @type {TimeRow[]} */ const out = [];
  for (let p = r.parent; p; p = p.parent) out.push(p);
  return out;
}

/** at places an element along the time. @template {HTMLElement} T @param {T} el
 * @param {number} x @param {number} [w] @returns {T} */
function at(el, x, w) {
  el.style.left = x.toFixed(1) + "px";
  if (w !== undefined) el.style.width = w.toFixed(1) + "px";
  return el;
}

/** breakMark is where an axis is broken. */
function breakMark() {
  return svg("svg", { class: "tl-break", width: 16, height: 12, viewBox: "0 0 16 12",
    "aria-hidden": "true" }, svg("path", { d: "M3.500 11.500 7.500.500M8.500 11.500 12.500.500" }));
}

/** @type {ViewSpec} */
const timelineView = { id: "timeline", title: "Timeline", mount: (root, app) =>
  new TimelineView(root, app) };

// A time axis on which waiting takes little room, and the tree of spans beside it.

/** An idle time is shown broken when it is longer than this share of the work of a turn. */
const IDLE_SHARE = 0.5;
const IDLE_PX = 46;

/** stretches cuts the time of a session into work and idle times. Work is what a model, a tool
 * or a check did, and each begin and end of anything else: a request to a human is open for
 * days in which nothing happens. @param {Span[]} spans @returns {Stretch[]} */
function stretches(spans) {
  /** @type {[number, number][]} */ const busy = [];
  for (const s of spans) {
    const a = millis(s.start), b = Math.max(a, millis(s.end));
    if (Number.isNaN(a) || Number.isNaN(b)) continue;
    if (s.class === "model" || s.class === "check" || s.class === "tool") busy.push([a, b]);
    else busy.push([a, a], [b, b]);
  }
  busy.sort((x, y) => x[0] - y[0]);
  /** @type {[number, number][]} */ const merged = [];
  for (const [a, b] of busy) {
    const last = merged[merged.length - 1];
    if (last && a <= last[1]) last[1] = Math.max(last[1], b);
    else merged.push([a, b]);
  }
  if (merged.length === 0) return [];
  // What counts as long is measured by the work of a turn.
  const work = merged.reduce((n, m) => n + m[1] - m[0], 0);
  const least = Math.max(1000, (work / new Set(spans.map((x) => x.turn)).size) * IDLE_SHARE);
  /** @type {Stretch[]} */ const out = [];
  let from = merged[0][0];
  for (let i = 1; i < merged.length; i++) {
    const a = merged[i - 1][1], b = merged[i][0];
    if (b - a < least) continue;
    out.push({ t0: from, t1: a, idle: false, x0: 0, x1: 0 },
      { t0: a, t1: b, idle: true, x0: 0, x1: 0 });
    from = b;
  }
  const end = merged[merged.length - 1][1];
  out.push({ t0: from, t1: Math.max(end, from + 1), idle: false, x0: 0, x1: 0 });
  return out;
}

/** Timescale says where a time stands. */
class Timescale {
  /** @param {Stretch[]} list */
  constructor(list) {
    this.list = list;
    this.width = 1;
  }

  /** @param {number} width */
  fit(width) {
    this.width = width;
    const idle = this.list.filter((s) => s.idle).length;
    const idlePx = idle === 0 ? 0 : Math.min(IDLE_PX, (width * 0.3) / idle);
    const work = this.list.reduce((n, s) => n + (s.idle ? 0 : s.t1 - s.t0), 0) || 1;
    // A short turn between two long ones keeps some room.
    const least = Math.min(26, (width * 0.25) / Math.max(1, this.list.length - idle));
    const rest = width - idlePx * idle - least * (this.list.length - idle);
    let x = 0;
    for (const s of this.list) {
      s.x0 = x;
      x += s.idle ? idlePx : least + (rest * (s.t1 - s.t0)) / work;
      s.x1 = x;
    }
  }

  /** @param {number} t */
  x(t) {
    let lo = 0, hi = this.list.length - 1;
    while (lo < hi) {
      const m = (lo + hi) >> 1;
      if (t <= this.list[m].t1) hi = m;
      else lo = m + 1;
    }
    const s = this.list[lo];
    if (!s) return 0;
    return s.x0 + (Math.max(0, Math.min(1, (t - s.t0) / (s.t1 - s.t0 || 1)))) * (s.x1 - s.x0);
  }

  /** ticks are round times within the work, far enough from each other. Of two that would be
   * drawn over each other the one with the day's time stays. */
  ticks() {
    /** @type {{x: number, text: string, day: boolean}[]} */ const out = [];
    const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5,
      18e5, 36e5, 72e5, 216e5, 864e5];
    for (const s of this.list) {
      if (s.idle) continue;
      const px = (s.x1 - s.x0) / (s.t1 - s.t0), step = steps.find((n) => n * px >= 84) || 864e5;
      for (let t = 0; t <= s.t1 - s.t0 && (t === 0 || s.x1 - s.x0 - t * px >= 40); t += step) {
        const x = s.x0 + t * px, day = t === 0;
        if (day && out.length > 0 && !sure(out.at(-1)).day && x - sure(out.at(-1))
          .x <= 62) out.pop();
        if (out.length > 0 && x - sure(out.at(-1)).x <= 62) continue;
        const text = day ? fmtClock(new Date(s.t0).toISOString()) : "+" + fmtDuration(t);
        out.push({ x, text, day });
      }
    }
    return out;
  }
}

/** timeRows is the tree of spans with a line for each turn. @param {Session} s
 * @returns {TimeRow[]} */
function timeRows(s) {
  const known = new Set(s.spans.map((x) => x.key));
  /** @param {Span} sp */ const inner = (sp) => sp.parent !== undefined && known.has(sp.parent);
  const kids = groupBy(s.spans.filter(inner), (sp) => sp.parent);
  /** @type {TimeRow[]} */ const out = [];
  /** add appends a row, and what is in it. @param {TimeRow} row @param {Span[]} within */
  const add = (row, within) => {
    const at = out.push(row);
    for (const sp of within) {
      const t0 = millis(sp.start);
      add({ id: sp.key, span: sp, turn: sp.turn, depth: row.depth + 1, parent: row, size: 0,
        errors: 0, left: !!sp.left, t0, t1: Math.max(t0, millis(sp.end) || t0) },
      kids.get(sp.key) || []);
    }
    row.size = out.length - at;
    if (!row.span) row.left = out.slice(at).every((r) => r.left);
    row.errors = out.slice(at).filter((r) => r.span?.status === "ERROR").length;
  };
  for (const [turn, within] of [...groupBy(s.spans.filter((sp) => !inner(sp)),
      (sp) => sp.turn)].sort((a, b) => a[0] - b[0])) {
    /** @type {TimeRow} */
    const row = { id: "turn " + turn, span: null, turn, depth: 0, parent: null, size: 0, errors: 0,
      left: false, t0: Infinity, t1: -Infinity };
    const at = out.length + 1;
    add(row, within);
    for (const r of out.slice(at)) {
      row.t0 = Math.min(row.t0, r.t0);
      row.t1 = Math.max(row.t1, r.t1);
    }
  }
  return out;
}
