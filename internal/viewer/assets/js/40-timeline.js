// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// Spans as bars over time: what took how long, what everything waited for, what went wrong.

const ROW_PX = 26;

class TimelineView {
  /** @param {HTMLElement} root @param {App} app */
  constructor(root, app) {
    this.app = app;
    /** @type {Session|null} */
    this.session = null;
    /** @type {TimeRow[]} */
    this.rows = [];
    /** @type {number[]} indexes of the rows that are not within a collapsed one */
    this.open = [];
    /** @type {Set<string>} keys of collapsed rows */
    this.folded = new Set();
    this.scale = new Timescale([]);
    this.zoom = 1;
    this.current = 0;
    /** @type {Set<string>} */
    this.critical = new Set();
    this.bar = h("div", { class: "gv-bar no-print", role: "toolbar", "aria-label": "Timeline" });
    this.axis = h("div", { class: "tl-axis" });
    this.head = h("div", { class: "tl-head" }, h("div", { class: "tl-name" }, "Span"), this.axis);
    this.sheet = h("div", { class: "tl-sheet", role: "treegrid", "aria-label": "Spans over time", tabindex: "-1" });
    this.scroll = h("div", { class: "tl-scroll" }, this.head, this.sheet);
    root.append(h("div", { class: "tl" }, this.bar, this.scroll));
    this.scroll.addEventListener("scroll", () => this.paint());
    this.watch = new ResizeObserver(() => this.layout());
    this.watch.observe(this.scroll);
    this.sheet.addEventListener("keydown", (ev) => this.key(ev));
    this.sheet.addEventListener("click", (ev) => this.click(ev));
    this.scroll.addEventListener("wheel", (ev) => {
      if (!ev.ctrlKey && !ev.metaKey) return;
      ev.preventDefault();
      this.zoomTo(this.zoom * Math.exp(-ev.deltaY * 0.004), ev.clientX);
    }, { passive: false });
    this.brush();
    // On paper there is no scrolling: as many rows as someone may want to read are made.
    this.paper = () => this.paint(400);
    this.screen = () => this.paint();
    window.addEventListener("beforeprint", this.paper);
    window.addEventListener("afterprint", this.screen);
  }

  /** nameWidth is that of the column of names. */
  get nameWidth() {
    return this.scroll.clientWidth < 700 ? 180 : 300;
  }

  /** @param {Session} s */
  show(s) {
    const same = this.session !== null && sameSession(this.session.session, s.session);
    this.session = s;
    this.critical = new Set(s.critical_path);
    this.rows = timeRows(s);
    this.scale = new Timescale(stretches(s.spans));
    if (!same) {
      this.folded = new Set(s.turns > 1 && s.spans.length > AGGREGATE_ABOVE ? this.rows.filter((r) => r.span === null).map((r) => this.id(r)) : []);
      this.zoom = 1;
      this.current = 0;
      this.scroll.scrollTo(0, 0);
    }
    this.renderBar(s);
    this.refold();
  }

  /** @param {Session} s */
  renderBar(s) {
    /** @param {string} text @param {string} title @param {() => void} fn */
    const act = (text, title, fn) => h("button", { type: "button", class: "btn small", title, onclick: fn }, text);
    /** @param {(r: TimeRow) => boolean} which */
    const fold = (which) => {
      this.folded = new Set(this.rows.filter(which).map((r) => this.id(r)));
      this.refold();
    };
    const idle = this.scale.list.filter((x) => x.idle);
    const work = this.scale.list.reduce((n, x) => n + (x.idle ? 0 : x.t1 - x.t0), 0);
    replace(this.bar,
      h("div", { class: "seg", role: "group", "aria-label": "Zoom" },
        h("button", { type: "button", title: "Zoom out (-)", "aria-label": "Zoom out", onclick: () => this.zoomTo(this.zoom / 1.5) }, "−"),
        h("button", { type: "button", title: "Zoom in (+); or drag along the time axis", "aria-label": "Zoom in", onclick: () => this.zoomTo(this.zoom * 1.5) }, "+"),
        h("button", { type: "button", title: "All of it (f)", onclick: () => this.zoomTo(1) }, "Fit")),
      act("Expand all", "Show every span", () => fold(() => false)),
      act("Collapse agents", "Close what lies within each agent", () => fold((r) => r.span !== null && r.span.class === "agent" && r.depth > 1 && r.size > 1)),
      act("Collapse turns", "One line for each turn", () => fold((r) => r.span === null)),
      h("span", { class: "tl-legend" }, h("span", { class: "tl-bar tl-sample k-tool" }), "span", h("span", { class: "tl-bar tl-crit tl-sample k-tool" }), "critical path", h("span", { class: "tl-bar tl-bad tl-sample k-tool" }, icon("error")), "error", idle.length > 0 && [breakMark(), "waiting, shortened"]),
      h("span", { class: "gv-count muted" }, plural(s.spans.length, "span") + " · " + fmtDuration(work) + " of work" + (idle.length > 0 ? " · " + fmtDuration(idle.reduce((n, x) => n + x.t1 - x.t0, 0)) + " idle" : "")));
  }

  /** @param {TimeRow} r */
  id(r) {
    return r.span ? r.span.key : "turn " + r.turn;
  }

  /** refold takes over what is collapsed. */
  refold() {
    this.open = [];
    for (let i = 0; i < this.rows.length; ) {
      this.open.push(i);
      i += this.folded.has(this.id(this.rows[i])) ? this.rows[i].size : 1;
    }
    this.sheet.setAttribute("aria-rowcount", String(this.open.length));
    // What is current but hidden now is within the row that was closed.
    while (this.current >= 0 && this.rows[this.current] && !this.open.includes(this.current)) this.current = this.rows[this.current].parent;
    this.current = Math.max(0, this.current);
    this.layout();
  }

  /** layout takes over the size of the window. */
  layout() {
    const w = this.scroll.clientWidth;
    if (w === 0) return;
    // Behind the last bar is room for its duration.
    const width = Math.max(200, w - this.nameWidth - 76) * this.zoom;
    this.scale.fit(width);
    this.scroll.style.setProperty("--tl-name", this.nameWidth + "px");
    const full = this.nameWidth + width + 76;
    this.head.style.width = this.sheet.style.width = full + "px";
    this.sheet.style.height = this.open.length * ROW_PX + "px";
    replace(this.axis, this.scale.ticks().map((k) => at(h("span", { class: "tl-tick" }, k.text), k.x)),
      this.scale.list.filter((s) => s.idle).map((s) => at(h("span", { class: "tl-gap", title: "Nothing happened for " + fmtDuration(s.t1 - s.t0) }, s.x1 - s.x0 > 30 ? short(s.t1 - s.t0) : "", breakMark()), s.x0, s.x1 - s.x0)));
    this.paint();
  }

  /** paint makes the rows that can be seen. @param {number} [first] so many rows from the first one instead */
  paint(first) {
    const top = first ? 0 : this.scroll.scrollTop, hgt = first ? first * ROW_PX : this.scroll.clientHeight;
    const from = Math.max(0, Math.floor(top / ROW_PX) - 8), to = Math.min(this.open.length, Math.ceil((top + hgt) / ROW_PX) + 8);
    const focused = this.sheet.contains(document.activeElement);
    /** @type {Child[]} */
    const made = [];
    for (let i = from; i < to; i++) made.push(this.row(i));
    // The current row is there for the tab key, wherever the window is.
    const at = this.open.indexOf(this.current);
    if (at >= 0 && (at < from || at >= to)) made.push(this.row(at));
    replace(this.sheet, this.grid(), made);
    if (focused) this.focusRow();
  }

  grid() {
    return h("div", { class: "tl-grid", "aria-hidden": "true" }, this.scale.list.filter((s) => s.idle).map((s) => at(h("span", { class: "tl-idle" }), s.x0, s.x1 - s.x0)), this.scale.ticks().map((k) => at(h("span", { class: "tl-rule" }), k.x)));
  }

  /** @param {number} i the place among the open rows */
  row(i) {
    const index = this.open[i], r = this.rows[index], sp = r.span;
    const x0 = this.scale.x(r.t0), w = Math.max(3, this.scale.x(r.t1) - x0);
    const crit = sp !== null && this.critical.has(sp.key), bad = sp !== null && sp.status === "ERROR";
    const shut = this.folded.has(this.id(r));
    // A closed line tells of the errors that it hides.
    const within = shut ? this.rows.slice(index + 1, index + r.size).filter((x) => x.span !== null && x.span.status === "ERROR").length : 0;
    const took = sp ? sp.duration_ms : r.t1 - r.t0;
    const name = sp ? sp.name : r.turn > 0 ? "Turn " + r.turn : "Outside of any turn";
    const says = [sp ? (CLASSES[sp.class] || CLASSES.other).label + " " + name : name, fmtDuration(took), crit ? "on the critical path" : "", bad ? "error " + (sp ? sp.error || "" : "") : "", within > 0 ? plural(within, "error") + " within" : "", sp && sp.open ? "no end recorded" : ""].filter(Boolean).join(", ");
    const bar = at(h("span", { class: "tl-bar" + (sp ? "" : " tl-turn") + (crit ? " tl-crit" : "") + (w < 10 ? " tl-thin" : "") + (bad ? " tl-bad" : "") + (sp && sp.open ? " tl-open" : ""), title: says }, bad && w > 18 ? icon("error") : null), x0, w);
    const label = at(h("span", { class: "tl-took" }, bad && w <= 18 ? icon("error", "bad-text") : null, fmtDuration(took) + (sp && sp.open ? " · open" : ""), within > 0 && [icon("error", "bad-text"), plural(within, "error")]), x0 + w + 6);
    const names = h("div", { class: "tl-name", role: "rowheader" },
      r.size > 1 ? h("span", { class: "tl-twist" + (shut ? "" : " open"), "data-twist": "1" }, icon("chevron")) : h("span", { class: "tl-twist" }),
      sp ? h("span", { class: "tl-kind" }, icon((CLASSES[sp.class] || CLASSES.other).icon)) : null, h("span", { class: "tl-text" }, name),
      sp && sp.agent && sp.agent !== name && sp.class !== "user" && sp.agent !== (r.parent >= 0 ? this.rows[r.parent].span?.agent : "") ? h("small", {}, sp.agent) : null, !sp && shut ? h("small", {}, plural(r.count, "span")) : null);
    /** @type {HTMLElement} */ (names.firstElementChild).style.marginLeft = r.depth * 13 + "px";
    const el = h("div", { class: "tl-row " + (sp ? kindClass(sp.class) : "tl-turnrow") + (this.isSelected(r) ? " sel" : ""), role: "row", "aria-level": r.depth + 1, "aria-rowindex": i + 1, "aria-expanded": r.size > 1 ? String(!shut) : null, "aria-selected": String(this.isSelected(r)), "aria-label": says, tabindex: index === this.current ? "0" : "-1", data: { row: index } }, names, h("div", { class: "tl-bars", role: "gridcell" }, bar, label));
    el.style.top = i * ROW_PX + "px";
    return el;
  }

  /** @param {TimeRow} r */
  isSelected(r) {
    return r.span !== null && this.selectedSpan() === r.span.key;
  }

  selectedSpan() {
    const ref = this.app.selected, s = this.session;
    if (!ref || !s) return "";
    if (ref.type === "span") return ref.key;
    if (ref.type === "row") return s.rows[Number(ref.key)]?.span || "";
    return ref.type === "approval" ? s.approvals[Number(ref.key)]?.span || "" : "";
  }

  /** @param {Event} ev */
  click(ev) {
    const t = ev.target instanceof Element ? ev.target : null;
    const row = t && t.closest("[data-row]");
    if (!t || !row) return;
    this.current = Number(row.getAttribute("data-row"));
    const r = this.rows[this.current];
    if (t.closest("[data-twist]") || !r.span) this.twist(this.current);
    else this.app.select({ type: "span", key: r.span.key });
    this.focusRow();
  }

  /** @param {number} index @param {boolean} [shut] */
  twist(index, shut) {
    const r = this.rows[index], id = this.id(r);
    if (r.size < 2) return;
    if (shut === undefined ? !this.folded.has(id) : shut) this.folded.add(id);
    else this.folded.delete(id);
    this.refold();
  }

  /** @param {KeyboardEvent} ev */
  key(ev) {
    if (ev.ctrlKey || ev.metaKey || ev.altKey) return;
    const at = this.open.indexOf(this.current), r = this.rows[this.current];
    if (!r) return;
    const page = Math.max(1, Math.floor(this.scroll.clientHeight / ROW_PX) - 3);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => this.to(at + 1), ArrowUp: () => this.to(at - 1), Home: () => this.to(0), End: () => this.to(this.open.length - 1),
      PageDown: () => this.to(Math.min(this.open.length - 1, at + page)), PageUp: () => this.to(Math.max(0, at - page)),
      ArrowRight: () => (r.size > 1 && this.folded.has(this.id(r)) ? this.twist(this.current, false) : r.size > 1 ? this.to(at + 1) : undefined),
      ArrowLeft: () => (r.size > 1 && !this.folded.has(this.id(r)) ? this.twist(this.current, true) : r.parent >= 0 ? this.to(this.open.indexOf(r.parent)) : undefined),
      Enter: () => (r.span ? this.app.select({ type: "span", key: r.span.key }) : this.twist(this.current)),
      " ": () => this.twist(this.current), Escape: () => this.app.select(null),
      "+": () => this.zoomTo(this.zoom * 1.5), "=": () => this.zoomTo(this.zoom * 1.5), "-": () => this.zoomTo(this.zoom / 1.5), f: () => this.zoomTo(1), "0": () => this.zoomTo(1),
    };
    if (!Object.hasOwn(keys, ev.key)) return;
    ev.preventDefault();
    ev.stopPropagation();
    keys[ev.key]();
  }

  /** to makes a row the current one. @param {number} i the place among the open rows */
  to(i) {
    if (this.open[i] === undefined) return;
    this.current = this.open[i];
    this.bring(i);
    this.paint();
    this.focusRow();
  }

  /** bring scrolls to a row and its bar. @param {number} i */
  bring(i) {
    const y = i * ROW_PX, room = this.scroll.clientHeight - this.head.offsetHeight;
    if (y < this.scroll.scrollTop) this.scroll.scrollTop = y;
    else if (y + ROW_PX > this.scroll.scrollTop + room) this.scroll.scrollTop = y + ROW_PX - room;
    const r = this.rows[this.open[i]], left = this.scroll.scrollLeft, wide = this.scroll.clientWidth - this.nameWidth;
    const x0 = this.scale.x(r.t0), x1 = this.scale.x(r.t1);
    if (x1 < left || x0 > left + wide - 40) this.scroll.scrollLeft = Math.max(0, x0 - 60);
  }

  focusRow() {
    /** @type {HTMLElement|null} */ (this.sheet.querySelector('[data-row="' + this.current + '"]'))?.focus({ preventScroll: true });
  }

  /** @param {number} z @param {number} [clientX] what stays where it is */
  zoomTo(z, clientX) {
    const left = this.scroll.getBoundingClientRect().left + this.nameWidth;
    const dx = clientX === undefined ? (this.scroll.clientWidth - this.nameWidth) / 2 : clientX - left;
    const share = (this.scroll.scrollLeft + dx) / this.scale.width;
    this.zoom = Math.max(1, Math.min(400, z));
    this.layout();
    this.scroll.scrollLeft = share * this.scale.width - dx;
    this.paint();
  }

  /** brush zooms to what is dragged over on the axis. */
  brush() {
    const mark = h("span", { class: "tl-brush", hidden: true });
    let from = NaN;
    /** @param {PointerEvent} ev */
    const x = (ev) => Math.max(0, Math.min(this.scale.width, ev.clientX - this.axis.getBoundingClientRect().left));
    this.axis.addEventListener("pointerdown", (ev) => {
      if (ev.button !== 0) return;
      from = x(ev);
      this.axis.setPointerCapture(ev.pointerId);
      ev.preventDefault();
    });
    this.axis.addEventListener("pointermove", (ev) => {
      if (Number.isNaN(from)) return;
      mark.hidden = false;
      if (!mark.isConnected) this.axis.append(mark);
      at(mark, Math.min(from, x(ev)), Math.abs(x(ev) - from));
    });
    this.axis.addEventListener("pointerup", (ev) => {
      const to = x(ev), a = Math.min(from, to), w = Math.abs(to - from);
      from = NaN;
      mark.remove();
      if (!(w > 6)) return;
      const share = a / this.scale.width;
      this.zoom = Math.max(1, Math.min(400, this.zoom * ((this.scroll.clientWidth - this.nameWidth - 76) / w)));
      this.layout();
      this.scroll.scrollLeft = share * this.scale.width;
      this.paint();
    });
  }

  /** @param {Ref|null} ref */
  select(ref) {
    const key = ref && this.selectedSpan();
    if (key) {
      const index = this.rows.findIndex((r) => r.span !== null && r.span.key === key);
      if (index >= 0) {
        for (let p = this.rows[index].parent; p >= 0; p = this.rows[p].parent) this.folded.delete(this.id(this.rows[p]));
        this.current = index;
        this.refold();
        this.bring(this.open.indexOf(index));
      }
    }
    this.paint();
  }

  destroy() {
    this.watch.disconnect();
    window.removeEventListener("beforeprint", this.paper);
    window.removeEventListener("afterprint", this.screen);
  }
}

/** at places an element along the time. @template {HTMLElement} T @param {T} el @param {number} x @param {number} [w] @returns {T} */
function at(el, x, w) {
  el.style.left = x.toFixed(1) + "px";
  if (w !== undefined) el.style.width = w.toFixed(1) + "px";
  return el;
}

/** breakMark is where an axis is broken. */
function breakMark() {
  return svg("svg", { class: "tl-break", width: 16, height: 12, viewBox: "0 0 16 12", "aria-hidden": "true" }, svg("path", { d: "M3.500 11.500 7.500.500M8.500 11.500 12.500.500" }));
}

/** short is a duration in its largest unit, for little room. @param {number} ms */
function short(ms) {
  const d = fmtDuration(ms).split(" ");
  return d[0] + " " + d[1];
}

registerView({ id: "timeline", title: "Timeline", mount: (root, app) => new TimelineView(root, app) });
