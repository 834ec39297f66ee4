// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The session as a mind at work: what came in, what was thought, looked up, found, and done.

/** @type {Record<string, {label: string, cls: string, icon: IconName}>} */
const THOUGHT_KINDS = {
  INCIDENT: { label: "Incident", cls: "tn-incident k-user", icon: "message" },
  THOUGHT: { label: "Thought", cls: "tn-thought k-model", icon: "model" },
  TOOL_CALL: { label: "Tool call", cls: "tn-call k-tool", icon: "tool" },
  OBSERVATION: { label: "Observation", cls: "tn-seen k-other", icon: "search" },
  ACTION: { label: "Action", cls: "tn-action k-agent", icon: "arrow" },
};

class ThoughtsView {
  /** @param {HTMLElement} root @param {App} app */
  constructor(root, app) {
    this.app = app;
    /** @type {Session|null} */
    this.session = null;
    const kept = remember("thoughts.shape");
    /** @type {ThoughtShape} */
    this.shape = kept === "horizontal" || kept === "clustered" ? kept : "vertical";
    /** @type {Set<number>} */
    this.foldedTurns = new Set();
    /** @type {Set<string>} */
    this.foldedTrips = new Set();
    /** @type {ThoughtDrawing} */
    this.drawing = { cards: [], lines: [], turns: [], bounds: { x: 0, y: 0, w: 1, h: 1 } };
    /** The index of a card. @type {Map<string, number>} */
    this.indexOf = new Map();
    /** @type {string|null} */
    this.selected = null;
    /** What had happened by the step of the playback, null for all. @type {Set<string>|null} */
    this.done = null;
    /** @type {Thought|null} */
    this.at = null;
    /** The width that cards were laid out for. */
    this.width = 0;
    this.bar = barOf("Thoughts");
    this.canvas = new Canvas("Thoughts of the agent");
    this.field = new Field(this.canvas);
    this.canvas.svg.prepend(svg("defs", {}, ["next", "trip"].map((k) =>
      svg("marker", { id: "tm-" + k, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { class: "tm-" + k, d: "M0 0.500 8 4 0 7.500Z" })))));
    this.roving = new Roving(this.canvas, { activate: (id) => this.activate(id), key: (id, ev) => ev.key === "x" && this.fold(id), leave: () => app.select(null) });
    this.player = new ThoughtPlayer((n, at) => this.reach(n, at));
    root.append(h("div", { class: "tv" }, this.bar, h("div", { class: "tv-body" }, this.canvas.root), this.player.root));
    this.canvas.svg.addEventListener("click", (ev) => {
      const t = ev.target instanceof Element ? ev.target : null;
      const id = t && t.closest("[data-stop]")?.getAttribute("data-stop");
      if (!t || !id) return;
      this.roving.mark(id);
      if (t.closest("[data-fold]")) this.fold(id);
      else this.activate(id);
    });
    this.off = app.on("view", (id) => id !== "thoughts" && this.player.pause());
    this.watch = new ResizeObserver(() => {
      const w = this.canvas.root.clientWidth;
      if (w === 0 || this.shape === "horizontal" || Math.abs(w - this.width) < 24) return;
      this.render(this.canvas.moved);
      this.canvas.alignLeft();
      if (this.canvas.held) this.canvas.reveal(this.canvas.held);
    });
    this.watch.observe(this.canvas.root);
  }

  /** @param {Session} s */
  show(s) {
    const same = sameSession(this.session?.session, s.session);
    if (!same) {
      this.foldedTurns.clear();
      this.foldedTrips.clear();
      // A long session opens with its turns closed.
      if (s.thoughts.nodes.length > 600) for (const n of s.thoughts.nodes) this.foldedTurns.add(n.turn);
    }
    this.session = s;
    this.player.show(s.thoughts.nodes, same);
    this.render(same);
  }

  /** @param {boolean} [keep] */
  render(keep) {
    const s = this.session;
    if (!s) return;
    const had = this.roving.held();
    const all = bones(s.thoughts);
    this.renderBar(all);
    this.width = this.canvas.root.clientWidth;
    const d = placeThoughts(s, this.shape, this.foldedTurns, this.foldedTrips, (this.width - 44) / READABLE);
    this.drawing = d;
    this.indexOf = new Map(d.cards.map((c, i) => [c.id, i]));
    const lines = svg("g", { "aria-hidden": "true" }), list = svg("g", { role: "group", "aria-label": plural(d.cards.length, "node") });
    const turns = d.turns.map((t) => svg("g", { class: "gband tv-turn", "aria-hidden": "true" }, svg("rect", { x: t.rect.x, y: t.rect.y, width: t.rect.w, height: t.rect.h, rx: 12 }), svg("text", { x: t.rect.x + 16, y: t.rect.y + 24 }, turnName(t.turn))));
    this.canvas.world.replaceChildren(...turns, this.field.dots, lines, list);
    /** @type {Piece[]} */
    const pieces = d.cards.map((c) => ({ rect: c.rect, layer: list, cls: "cv-dot " + (THOUGHT_KINDS[c.thought.kind] || THOUGHT_KINDS.THOUGHT).cls, d: rectPath(c.rect), make: () => this.card(c) }));
    for (const l of d.lines) {
      const path = corners(l.points);
      pieces.push({ rect: around(l.points), layer: lines, cls: "te te-" + l.kind, d: path, make: () => this.line(l, path) });
    }
    this.field.show(pieces);
    this.canvas.show(d.bounds, d.cards.map((c, i) => ({ ...c.rect, cls: pieces[i].cls })), !!keep);
    /** @type {Map<string, Stop>} */
    const stops = new Map();
    const field = this.field;
    d.cards.forEach((c, i) => stops.set(c.id, { get el() { return field.at(i); }, rect: c.rect, prev: [], next: [] }));
    for (const kinds of [["next"], ["calls", "observes", "returns"]]) {
      for (const l of d.lines) {
        if (!kinds.includes(l.kind)) continue;
        stops.get(l.from)?.next.push(l.to);
        stops.get(l.to)?.prev.push(l.from);
      }
    }
    this.roving.show(stops, this.shape !== "horizontal", had);
    this.player.again();
    this.select(this.app.selected, true);
    // What a tool was given and gave stands in its rows.
    const rows = d.cards.map((c) => c.thought).filter((t) => !isKnown(s, t)).map((t) => t.row);
    if (rows.length > 0) this.app.load(rows).then(() => this.session === s && this.render(true));
  }

  /** @param {Bone[]} all */
  renderBar(all) {
    /** @param {ThoughtShape} shape @param {string} label */
    const choice = (shape, label) => h("button", { "aria-pressed": String(this.shape === shape), onclick: () => {
      this.shape = shape;
      remember("thoughts.shape", shape);
      this.render();
    } }, label);
    const turns = [...new Set(all.map((b) => b.turn))];
    /** @param {string} label @param {() => void} fn @param {string} title */
    const act = (label, fn, title) => smallButton(label, () => {
      fn();
      this.render();
    }, title);
    replace(this.bar,
      segments("Layout", choice("horizontal", "Horizontal"), choice("vertical", "Vertical"), choice("clustered", "Clustered")),
      act("Expand all", () => {
        this.foldedTurns.clear();
        this.foldedTrips.clear();
      }, "Show every turn and every tool call"),
      act("Backbone only", () => {
        this.foldedTurns.clear();
        for (const b of all) if (b.trips.length > 0) this.foldedTrips.add(b.id);
      }, "Collapse the tool calls and what they observed"),
      act("Collapse turns", () => turns.forEach((t) => this.foldedTurns.add(t)), "One box for each turn"),
      turns.length > 1 && turns.length <= 12 && segments("Turns", turns.map((t) => {
        const open = !this.foldedTurns.has(t);
        return h("button", { "aria-pressed": String(open), title: (open ? "Collapse" : "Expand") + " turn " + t, onclick: () => this.foldTurn(t) }, "Turn " + t);
      })),
      h("span", { class: "gv-count muted" }, plural(all.length, "thought") + ", " + plural(all.reduce((n, b) => n + b.trips.length, 0), "tool call")));
  }

  /** @param {ThoughtCard} c */
  card(c) {
    const t = c.thought, r = c.rect, turn = c.bone !== null && c.bone.folded.length > 0;
    const kind = THOUGHT_KINDS[t.kind] || THOUGHT_KINDS.THOUGHT;
    const bad = turn ? c.bone !== null && c.bone.folded.some((x) => x.status === "ERROR") : t.status === "ERROR";
    const title = turn ? "Turn " + t.turn : kind.label;
    const text = c.face.words.map((x) => x.text).join(" ");
    const says = [title, t.agent, turn ? "" : t.label, text, bad ? "error" : "", turn ? "" : "turn " + t.turn, c.hidden > 0 ? plural(c.hidden, turn ? "step" : "tool call") + " collapsed" : ""].filter(Boolean).join(", ");
    const foldable = c.bone !== null && (turn || c.bone.trips.length > 0 || t.kind === "INCIDENT");
    const g = svg("g", { class: "tn " + kind.cls + (bad ? " tn-bad" : "") + (turn ? " tn-turn" : ""), "data-stop": c.id, role: "button", "aria-label": says, "aria-expanded": foldable ? String(c.hidden === 0) : null, tabindex: "-1" },
      svg("title", {}, says + (t.detail && t.detail !== t.label ? "\n" + clip(t.detail, 400) : "")),
      turn && svg("rect", { class: "tn-box", x: r.x + 5, y: r.y + 5, width: r.w, height: r.h, rx: 10 }),
      svg("rect", { class: "tn-ring", x: r.x - 4, y: r.y - 4, width: r.w + 8, height: r.h + 8, rx: 13 }),
      svg("rect", { class: "tn-box", x: r.x, y: r.y, width: r.w, height: r.h, rx: c.bone ? 10 : 5 }),
      svg("path", { class: "gn-icon", d: ICONS[bad ? "error" : kind.icon], transform: "translate(" + (r.x + 10) + " " + (r.y + 6) + ") scale(.85)" }),
      svg("g", { class: "tn-body" },
        svg("text", { class: "tn-kind", x: r.x + 28, y: r.y + 17 }, title.toUpperCase()),
        c.bone !== null && svg("text", { class: "tn-agent", x: r.x + r.w - (foldable ? 30 : 12), y: r.y + 17 }, fitText(t.agent, r.w - 150, 12)),
        c.face.rules.map((y) => svg("path", { class: "tn-rule", d: "M" + (r.x + 12) + " " + (r.y + y) + "H" + (r.x + r.w - 12) })),
        c.face.words.map((x) => svg("text", { class: x.cls, x: r.x + x.x, y: r.y + x.y }, x.text))));
    if (foldable) {
      const x = r.x + r.w - 15, y = r.y + 13;
      g.append(svg("g", { class: "tn-fold", "data-fold": "1" }, svg("circle", { cx: x, cy: y, r: 8 }), svg("path", { d: "M" + (x - 3.5) + " " + y + "h7" + (c.hidden > 0 ? "M" + x + " " + (y - 3.5) + "v7" : "") })));
      if (c.hidden > 0 && !turn) g.append(pill(r.x + r.w - 14, r.y + r.h, "+" + c.hidden, "gn-count"));
    }
    this.dress(c, g);
    return g;
  }

  /** @param {ThoughtLine} l @param {string} d */
  line(l, d) {
    const el = svg("path", { class: "te te-" + l.kind, "marker-end": l.kind === "next" ? "url(#tm-next)" : "url(#tm-trip)", d }, svg("title", {}, l.kind));
    el.classList.toggle("later", !this.past(l.from) || !this.past(l.to));
    return el;
  }

  /** past says whether a card had happened by the step of the playback. @param {string} id */
  past(id) {
    const c = this.drawing.cards[this.indexOf.get(id) ?? -1], done = this.done;
    return done === null || (!!c && (c.bone && c.bone.folded.length > 0 ? c.bone.folded : [c.thought]).some((t) => done.has(t.id)));
  }

  /** dress marks the element of a card by the selection and the playback. @param {ThoughtCard} c @param {SVGElement} el */
  dress(c, el) {
    const at = this.at;
    el.classList.toggle("sel", c.id === this.selected);
    el.classList.toggle("later", !this.past(c.id));
    el.classList.toggle("now", at !== null && (c.thought.id === at.id || !!c.bone?.folded.some((f) => f.id === at.id)));
  }

  /** dressAll does so for all that is drawn. */
  dressAll() {
    const { cards, lines } = this.drawing;
    for (const [i, el] of this.field.made) {
      if (i < cards.length) this.dress(cards[i], el);
      else el.classList.toggle("later", !this.past(lines[i - cards.length].from) || !this.past(lines[i - cards.length].to));
    }
  }

  /** fold closes or opens what hangs on a node: a turn at its incident, else its tool calls. @param {string} id */
  fold(id) {
    const b = this.drawing.cards[this.indexOf.get(id) ?? -1]?.bone;
    if (!b) return false;
    if (b.folded.length > 0 || b.thought.kind === "INCIDENT") this.foldTurn(b.turn, true);
    else if (b.trips.length > 0) {
      if (!this.foldedTrips.delete(b.id)) this.foldedTrips.add(b.id);
      this.render(true);
      this.roving.focus(id);
    } else return false;
    return true;
  }

  /** @param {number} turn @param {boolean} [focus] */
  foldTurn(turn, focus) {
    if (!this.foldedTurns.delete(turn)) this.foldedTurns.add(turn);
    this.render(true);
    const first = this.drawing.cards.find((c) => c.thought.turn === turn);
    if (first && focus) this.roving.focus(first.id);
    else if (first) this.canvas.reveal(first.rect);
  }

  /** @param {string} id */
  activate(id) {
    const c = this.drawing.cards[this.indexOf.get(id) ?? -1];
    if (!c) return;
    const t = c.thought;
    // Of several cards of one span the one that was activated is the one that is marked.
    this.mark(c);
    this.canvas.reveal(c.rect);
    if (t.span) this.app.select({ type: "span", key: t.span });
    else if (t.row >= 0) this.app.select(refTo("row", t.row));
  }

  /** @param {ThoughtCard|null} c */
  mark(c) {
    this.selected = c ? c.id : null;
    this.canvas.hold(c ? c.rect : null);
    this.dressAll();
  }

  /** @param {Ref|null} ref @param {boolean} [quiet] */
  select(ref, quiet) {
    const span = this.app.spanOf(ref);
    const mine = this.drawing.cards.filter((c) => span && c.thought.span === span);
    const now = mine.find((c) => c.id === this.selected) || mine[0] || null;
    this.mark(now);
    if (now && !quiet) this.canvas.reveal(now.rect);
  }

  /** reach shows what had happened by a step of the playback. @param {Set<string>|null} done null for all @param {Thought|null} at */
  reach(done, at) {
    this.done = done;
    this.at = at;
    this.dressAll();
    const now = at && this.drawing.cards.find((c) => c.thought.id === at.id || c.bone?.folded.some((f) => f.id === at.id));
    if (now) this.canvas.reveal(now.rect);
  }

  destroy() {
    this.off();
    this.watch.disconnect();
    this.player.pause();
    this.canvas.destroy();
  }
}

/** @type {ViewSpec} */
const thoughtsView = { id: "thoughts", title: "Thoughts", mount: (root, app) => new ThoughtsView(root, app) };

// Playback of thoughts in the order of time.

/** How long a step stands at speed 1: as long as it took, within what people can follow. */
const STEP_MS = { least: 350, most: 2200 };

class ThoughtPlayer {
  /** @param {(done: Set<string>|null, at: Thought|null) => void} reach shows a state; null is all of it */
  constructor(reach) {
    this.reach = reach;
    /** @type {Thought[]} */
    this.order = [];
    /** The number of steps that have happened; that of all of them when nothing is played. */
    this.at = 0;
    this.timer = 0;
    this.playing = false;
    this.speed = 1;
    /** @param {IconName|null} ic @param {string} text @param {string} label @param {() => void} fn */
    const button = (ic, text, label, fn) => h("button", { class: "btn small", title: label, "aria-label": label, onclick: fn }, ic && icon(ic), text);
    this.play = button(null, "▶ Play", "Play", () => (this.playing ? this.pause() : this.start()));
    this.range = h("input", { type: "range", min: 0, max: 1, step: 1, value: 1, "aria-label": "Step of the session" });
    this.range.addEventListener("input", () => {
      this.pause();
      this.seek(Number(this.range.value));
    });
    const pick = selectBox("Speed", [["0.5", "0.5×"], ["1", "1×"], ["2", "2×"], ["4", "4×"]], (v) => (this.speed = Number(v)));
    pick.value = "1";
    this.text = h("output", { class: "tv-step", "aria-live": "polite" });
    this.root = h("div", { class: "tv-player no-print", role: "group", "aria-label": "Playback" }, this.play,
      button(null, "«", "To the beginning", () => this.step(-Infinity)), button(null, "‹", "One step back", () => this.step(-1)), button(null, "›", "One step on", () => this.step(1)),
      pick, this.range, button(null, "Show all", "Show all steps", () => this.step(Infinity)), this.text);
  }

  /** @param {Thought[]} nodes @param {boolean} same whether it is the session that was shown before */
  show(nodes, same) {
    const all = this.at >= this.order.length;
    this.order = nodes.map((n, i) => ({ n, i, t: millis(n.at) || 0 })).sort((a, b) => a.t - b.t || a.i - b.i).map((x) => x.n);
    this.range.max = String(this.order.length);
    if (!same || all) {
      this.pause();
      this.at = this.order.length;
    }
    this.label();
  }

  /** again shows the state in a new drawing. */
  again() {
    if (this.at < this.order.length) this.seek(this.at);
  }

  start() {
    if (this.order.length === 0) return;
    if (this.at >= this.order.length) this.at = 0;
    this.playing = true;
    this.play.textContent = "❚❚ Pause";
    this.play.setAttribute("aria-label", "Pause");
    this.tick();
  }

  tick() {
    if (!this.playing) return;
    this.seek(this.at + 1);
    if (this.at >= this.order.length) return this.pause();
    const took = (millis(this.order[this.at].at) || 0) - (millis(this.order[this.at - 1].at) || 0);
    this.timer = window.setTimeout(() => this.tick(), Math.max(STEP_MS.least, Math.min(STEP_MS.most, took)) / this.speed);
  }

  pause() {
    this.playing = false;
    clearTimeout(this.timer);
    this.play.textContent = "▶ Play";
    this.play.setAttribute("aria-label", "Play");
  }

  /** @param {number} by */
  step(by) {
    this.pause();
    this.seek(Math.max(1, Math.min(this.order.length, this.at + by)));
  }

  /** @param {number} n */
  seek(n) {
    this.at = n;
    const at = n > 0 ? this.order[n - 1] || null : null;
    this.reach(n >= this.order.length && !this.playing ? null : new Set(this.order.slice(0, n).map((t) => t.id)), at);
    this.label();
  }

  label() {
    this.range.value = String(this.at);
    const t = this.order[this.at - 1];
    let text = this.order.length === 0 ? "Nothing was thought." : "Before the first step";
    if (t) {
      text = ["Step " + this.at + " of " + this.order.length, fmtClock(t.at, true),
        THOUGHT_KINDS[t.kind].label + ": " + clip(t.label, 70)].join(" · ");
    }
    this.text.textContent = text;
    this.range.setAttribute("aria-valuetext", text);
  }
}
