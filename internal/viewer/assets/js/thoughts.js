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
    /** @type {Session|null} */ this.session = null;
    const kept = remember("thoughts.shape");
    /** @type {ThoughtShape} */
    this.shape = kept === "horizontal" || kept === "clustered" ? kept : "vertical";
    /** @type {Set<number>} */ this.foldedTurns = new Set();
    /** @type {Set<string>} */ this.foldedTrips = new Set();
    /** @type {ThoughtDrawing} */
    this.drawing = { cards: [], lines: [], turns: [], bounds: { x: 0, y: 0, w: 1, h: 1 } };
    /** @type {string|null} */ this.selected = null;
    /** What had happened by the step of the playback, null for all. @type {Set<string>|null} */
    this.done = null;
    /** @type {Thought|null} */ this.at = null;
    /** The width that cards were laid out for. */
    this.width = 0;
    this.bar = barOf("Thoughts");
    this.canvas = new Canvas("Thoughts of the agent");
    this.field = new Field(this.canvas);
    this.canvas.svg.prepend(svg("defs", {}, ["next", "trip"].map((k) => {
      const head = svg("path", { class: "tm-" + k, d: "M0 0.500 8 4 0 7.500Z" });
      return arrowHead("tm-" + k, 9, 6, "auto", head);
    })));
    this.roving = new Roving(this.canvas, {
      activate: (id) => this.activate(id),
      key: (id, ev) => ev.key === "x" && this.fold(id),
      leave: () => app.select(null),
    });
    this.player = new ThoughtPlayer((n, at) => this.reach(n, at));
    root.append(h("div", "tv", this.bar, h("div", "tv-body", this.canvas.root), this.player.root));
    this.canvas.svg.addEventListener("click", (ev) => {
      const t = ev.target instanceof Element ? ev.target : null;
      const id = t?.closest("[data-stop]")?.getAttribute("data-stop");
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
    const same = sameSession(this.session?.session, s.session), { nodes } = s.thoughts;
    if (!same) {
      this.foldedTrips.clear();
      // A long session opens with its turns closed.
      this.foldedTurns = new Set(nodes.length > 600 ? nodes.map((n) => n.turn) : []);
    }
    this.session = s;
    this.player.show(nodes, same);
    this.render(same);
  }

  /** @param {boolean} [keep] */
  render(keep) {
    const s = this.session;
    if (!s) return;
    const had = this.roving.held(), { foldedTurns, foldedTrips, field } = this;
    this.renderBar(bones(s.thoughts));
    this.width = this.canvas.root.clientWidth;
    const d = placeThoughts(s, this.shape, foldedTurns, foldedTrips, (this.width - 44) / READABLE);
    this.drawing = d;
    const lines = svg("g", { "aria-hidden": "true" });
    const list = svg("g", { role: "group", "aria-label": plural(d.cards.length, "node") });
    const turns = d.turns.map((t) =>
      band("gband tv-turn", t.rect, 12, { x: 16, y: 24 }, turnName(t.turn)));
    this.canvas.world.replaceChildren(...turns, field.dots, lines, list);
    const pieces = d.cards.map((c) => /** @type {Piece} */ ({
      rect: c.rect, layer: list, cls: "cv-dot " + kindOf(c.thought).cls, d: rectPath(c.rect),
      make: () => this.card(c),
    }));
    for (const l of d.lines) {
      const path = corners(l.points);
      pieces.push({ rect: around(l.points), layer: lines, cls: "te te-" + l.kind, d: path,
        make: () => this.line(l, path) });
    }
    field.show(pieces);
    this.canvas.show(d.bounds, d.cards.map((c, i) => ({ ...c.rect, cls: pieces[i].cls })), !!keep);
    const order = [["next"], ["calls", "observes", "returns"]];
    const stops = stopsOf(field, d.cards.map((c) => c.id), pieces, d.lines, order);
    this.roving.show(stops, this.shape !== "horizontal", had);
    this.player.again();
    this.select(this.app.selected, true);
    // What a tool was given and gave stands in its rows.
    const rows = d.cards.map((c) => c.thought).filter((t) => !isKnown(s, t)).map((t) => t.row);
    if (rows.length > 0) this.app.load(rows).then(() => this.session === s && this.render(true));
  }

  /** @param {Bone[]} all */
  renderBar(all) {
    /** @param {ThoughtShape} shape */
    const choice = (shape) => h("button", { "aria-pressed": String(this.shape === shape),
      onclick: () => {
        this.shape = shape;
        remember("thoughts.shape", shape);
        this.render();
      } }, capital(shape));
    const turns = [...new Set(all.map((b) => b.turn))];
    /** @param {string} label @param {string} title @param {number[]} turns
     * @param {string[]} trips */
    const act = (label, title, turns, trips) => smallButton(label, () => {
      this.foldedTurns = new Set(turns);
      this.foldedTrips = new Set(trips);
      this.render();
    }, title);
    const trips = all.filter((b) => b.trips.length > 0).map((b) => b.id);
    const calls = all.reduce((n, b) => n + b.trips.length, 0);
    replace(this.bar,
      segments("Layout", choice("horizontal"), choice("vertical"), choice("clustered")),
      act("Expand all", "Show every turn and every tool call", [], []),
      act("Backbone only", "Collapse the tool calls and what they observed", [], trips),
      act("Collapse turns", "One box for each turn", turns, [...this.foldedTrips]),
      turns.length > 1 && turns.length <= 12 && segments("Turns", turns.map((t) => {
        const open = !this.foldedTurns.has(t), title = (open ? "Collapse" : "Expand") + " turn "
          + t;
        return h("button", { "aria-pressed": String(open), title, onclick: () => this.foldTurn(t) },
          "Turn " + t);
      })),
      h("span", "gv-count muted",
        plural(all.length, "thought") + ", " + plural(calls, "tool call")));
  }

  /** @param {ThoughtCard} c */
  card(c) {
    const t = c.thought, r = c.rect, kind = kindOf(t), { bone } = c;
    const turn = bone !== null && bone.folded.length > 0;
    const bad = (turn ? bone.folded : [t]).some((x) => x.status === "ERROR");
    const title = turn ? "Turn " + t.turn : kind.label;
    const hidden = c.hidden > 0 && plural(c.hidden, turn ? "step" : "tool call") + " collapsed";
    const text = c.face.words.map((x) => x.text).join(" ");
    const says = [title, t.agent, !turn && t.label, text, bad && "error", !turn && "turn " + t.turn,
      hidden].filter(Boolean).join(", ");
    const foldable = bone !== null && (turn || bone.trips.length > 0 || t.kind === "INCIDENT");
    const box = { class: "tn-box", ...boxAround(r, 0), rx: bone ? 10 : 5 };
    const left = partsOf(c).every((x) => this.session?.rows[x.row]?.left);
    const cls = "tn " + kind.cls + (bad ? " tn-bad" : "") + (turn ? " tn-turn" : "")
      + (left ? " left" : "");
    const x = r.x + r.w - 15, y = r.y + 13;
    const sign = "M" + (x - 3.5) + " " + y + "h7" + (hidden ? "M" + x + " " + (y - 3.5) + "v7"
      : "");
    const whole = t.detail && t.detail !== t.label ? "\n" + clip(t.detail, 400) : "";
    const g = svg("g", { class: cls, "data-stop": c.id, role: "button", "aria-label": says,
      "aria-expanded": foldable ? String(c.hidden === 0) : null, tabindex: "-1" },
      svg("title", {}, says + whole),
      turn && svg("rect", { ...box, x: r.x + 5, y: r.y + 5 }),
      svg("rect", { class: "tn-ring", ...boxAround(r, 4), rx: 13 }),
      svg("rect", box),
      drawnIcon(bad ? "error" : kind.icon, r.x + 10, r.y + 6, 0.85),
      svg("g", { class: "tn-body" },
        svg("text", { class: "tn-kind", x: r.x + 28, y: r.y + 17 }, title.toUpperCase()),
        bone && svg("text", { class: "tn-agent", x: r.x + r.w - (foldable ? 30 : 12), y: r.y + 17 },
          fitText(t.agent, r.w - 150, 12)),
        c.face.rules.map((at) => svg("path", { class: "tn-rule",
          d: "M" + (r.x + 12) + " " + (r.y + at) + "H" + (r.x + r.w - 12) })),
        c.face.words.map((w) => svg("text", { class: w.cls, x: r.x + w.x, y: r.y + w.y }, w.text))),
      foldable && svg("g", { class: "tn-fold", "data-fold": "1" },
        svg("circle", { cx: x, cy: y, r: 8 }), svg("path", { d: sign })),
      hidden && !turn && pill(r.x + r.w - 14, r.y + r.h, "+" + c.hidden, "gn-count"));
    this.dress(c, g);
    return g;
  }

  /** @param {ThoughtLine} l @param {string} d */
  line(l, d) {
    const head = "url(#tm-" + (l.kind === "next" ? "next" : "trip") + ")";
    const el = svg("path", { class: "te te-" + l.kind, "marker-end": head, d },
      svg("title", {}, l.kind));
    this.dressLine(l, el);
    return el;
  }

  /** past says whether a card had happened by the step of the playback. @param {ThoughtCard} c */
  past(c) {
    const done = this.done;
    return done === null || partsOf(c).some((t) => done.has(t.id));
  }

  /** dress marks the element of a card by the selection and the playback. @param {ThoughtCard} c
   * @param {SVGElement} el */
  dress(c, el) {
    const at = this.at;
    el.classList.toggle("sel", c.id === this.selected);
    el.classList.toggle("later", !this.past(c));
    el.classList.toggle("now", at !== null && partsOf(c).some((t) => t.id === at.id));
  }

  /** dressLine does the same for a line. @param {ThoughtLine} l @param {SVGElement} el */
  dressLine(l, el) {
    el.classList.toggle("later", ![l.from, l.to].every((id) => this.past(sure(this.cardOf(id)))));
  }

  /** dressAll does so for all that is drawn. */
  dressAll() {
    const { cards, lines } = this.drawing;
    for (const [i, el] of this.field.made) {
      if (i < cards.length) this.dress(cards[i], el);
      else this.dressLine(lines[i - cards.length], el);
    }
  }

  /** @param {string} id */
  cardOf(id) {
    return this.drawing.cards.find((c) => c.id === id);
  }

  /** fold closes or opens what hangs on a node: a turn at its incident, else its tool calls.
   * @param {string} id */
  fold(id) {
    const b = this.cardOf(id)?.bone;
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
    const c = this.cardOf(id);
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

  /** reach shows what had happened by a step of the playback. @param {Set<string>|null} done
   * null for all @param {Thought|null} at */
  reach(done, at) {
    this.done = done;
    this.at = at;
    this.dressAll();
    const now = at && this.drawing.cards.find((c) => [c.thought, ...partsOf(c)].includes(at));
    if (now) this.canvas.reveal(now.rect);
  }

  destroy() {
    this.off();
    this.watch.disconnect();
    this.player.pause();
    this.canvas.destroy();
  }
}

/** kindOf is what a kind of thoughts looks like. @param {Thought} t */
function kindOf(t) {
  return THOUGHT_KINDS[t.kind] || THOUGHT_KINDS.THOUGHT;
}

/** partsOf are the thoughts that a card stands for. @param {ThoughtCard} c */
function partsOf(c) {
  return c.bone && c.bone.folded.length > 0 ? c.bone.folded : [c.thought];
}

/** @type {ViewSpec} */
const thoughtsView = {
  id: "thoughts", title: "Thoughts", mount: (root, app) => new ThoughtsView(root, app),
};

// Playback of thoughts in the order of time.

/** How long a step stands at speed 1: as long as it took, within what people can follow. */
const STEP_MS = { least: 350, most: 2200 };

class ThoughtPlayer {
  /** @param {(done: Set<string>|null, at: Thought|null) => void} reach shows a state; null is
   * all of it */
  constructor(reach) {
    this.reach = reach;
    /** @type {Thought[]} */ this.order = [];
    /** The number of steps that have happened; that of all of them when nothing is played. */
    this.at = 0;
    this.timer = 0;
    this.playing = false;
    this.speed = 1;
    /** @param {string} text @param {string} label @param {() => void} onclick */
    const button = (text, label, onclick) =>
      h("button", { class: "btn small", title: label, "aria-label": label, onclick }, text);
    this.play = button("", "", () => (this.playing ? this.pause() : this.start()));
    this.range = h("input", { type: "range", min: 0, max: 1, step: 1, value: 1,
      "aria-label": "Step of the session", oninput: () => {
        this.pause();
        this.seek(Number(this.range.value));
      } });
    const speeds = ["0.5", "1", "2", "4"].map((v) =>
      /** @type {[string, string]} */ ([v, v + "×"]));
    const pick = selectBox("Speed", speeds, (v) => (this.speed = Number(v)));
    pick.value = "1";
    this.text = h("output", { class: "tv-step", "aria-live": "polite" });
    this.root = h("div", { class: "tv-player no-print", role: "group", "aria-label": "Playback" },
      this.play, button("«", "To the beginning", () => this.step(-Infinity)),
      button("‹", "One step back", () => this.step(-1)),
      button("›", "One step on", () => this.step(1)), pick, this.range,
      button("Show all", "Show all steps", () => this.step(Infinity)), this.text);
    this.pause();
  }

  /** @param {Thought[]} nodes @param {boolean} same whether it is the session that was shown
   * before */
  show(nodes, same) {
    const all = this.at >= this.order.length;
    this.order = [...nodes].sort((a, b) => (millis(a.at) || 0) - (millis(b.at) || 0));
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
    this.plays(true);
    this.tick();
  }

  tick() {
    if (!this.playing) return;
    this.seek(this.at + 1);
    const [last, next] = this.order.slice(this.at - 1, this.at + 1).map((t) => millis(t.at) || 0);
    if (next === undefined) return this.pause();
    const wait = Math.max(STEP_MS.least, Math.min(STEP_MS.most, next - last)) / this.speed;
    this.timer = window.setTimeout(() => this.tick(), wait);
  }

  pause() {
    clearTimeout(this.timer);
    this.plays(false);
  }

  /** @param {boolean} on */
  plays(on) {
    this.playing = on;
    this.play.textContent = on ? "❚❚ Pause" : "▶ Play";
    this.play.title = on ? "Pause" : "Play";
    this.play.setAttribute("aria-label", this.play.title);
  }

  /** @param {number} by */
  step(by) {
    this.pause();
    this.seek(Math.max(1, Math.min(this.order.length, this.at + by)));
  }

  /** @param {number} n */
  seek(n) {
    this.at = n;
    const done = new Set(this.order.slice(0, n).map((t) => t.id));
    this.reach(n >= this.order.length && !this.playing ? null : done, this.order[n - 1] || null);
    this.label();
  }

  label() {
    this.range.value = String(this.at);
    const t = this.order[this.at - 1];
    let text = this.order.length === 0 ? "Nothing was thought." : "Before the first step";
    if (t) {
      text = ["Step " + this.at + " of " + this.order.length, fmtClock(t.at, true),
        kindOf(t).label + ": " + clip(t.label, 70)].join(" · ");
    }
    this.text.textContent = text;
    this.range.setAttribute("aria-valuetext", text);
  }
}
