// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

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
    /** @type {Map<string, {el: SVGGElement, card: ThoughtCard}>} */
    this.drawn = new Map();
    /** @type {{el: SVGElement, line: ThoughtLine}[]} */
    this.lines = [];
    this.bar = barOf("Thoughts");
    this.canvas = new Canvas("Thoughts of the agent");
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
    const d = placeThoughts(s.thoughts, this.shape, this.foldedTurns, this.foldedTrips);
    this.drawn.clear();
    const rects = new Map(d.cards.map((c) => [c.id, c.rect]));
    const lines = svg("g", { "aria-hidden": "true" });
    this.lines = d.lines.map((l) => {
      const main = l.kind === "next";
      const el = svg("path", { class: "te te-" + l.kind, "marker-end": main ? "url(#tm-next)" : "url(#tm-trip)", d: thoughtLine(/** @type {Rect} */ (rects.get(l.from)), /** @type {Rect} */ (rects.get(l.to)), l.kind, this.shape === "horizontal") }, svg("title", {}, l.kind));
      lines.append(el);
      return { el, line: l };
    });
    const list = svg("g", { role: "group", "aria-label": plural(d.cards.length, "node") });
    // In the order of time, whatever the order of drawing.
    for (const c of d.cards) {
      const el = this.card(c);
      this.drawn.set(c.id, { el, card: c });
      list.append(el);
    }
    const turns = d.turns.map((t) => svg("g", { class: "gband tv-turn", "aria-hidden": "true" }, svg("rect", { x: t.rect.x, y: t.rect.y, width: t.rect.w, height: t.rect.h, rx: 12 }), svg("text", { x: t.rect.x + 16, y: t.rect.y + 24 }, turnName(t.turn))));
    this.canvas.world.replaceChildren(...turns, lines, list);
    this.canvas.show(d.bounds, d.cards.map((c) => ({ ...c.rect, cls: THOUGHT_KINDS[c.thought.kind]?.cls || "k-other" })), !!keep);
    /** @type {Map<string, Stop>} */
    const stops = new Map();
    for (const [id, { el, card }] of this.drawn) stops.set(id, { el, rect: card.rect, prev: [], next: [] });
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
    const text = turn ? plural(c.hidden, "step") + ": " + t.label : t.label;
    const says = [title, t.agent, text, bad ? "error" : "", turn ? "" : "turn " + t.turn, c.hidden > 0 ? plural(c.hidden, turn ? "step" : "tool call") + " collapsed" : ""].filter(Boolean).join(", ");
    const foldable = c.bone !== null && (turn || c.bone.trips.length > 0 || t.kind === "INCIDENT");
    const wide = (r.w - 24) / 6.9;
    const rows = wrapText(text, Math.floor(wide), r.h > 55 ? 2 : 1);
    const g = svg("g", { class: "tn " + kind.cls + (bad ? " tn-bad" : "") + (turn ? " tn-turn" : ""), "data-stop": c.id, role: "button", "aria-label": says, "aria-expanded": foldable ? String(c.hidden === 0) : null, tabindex: "-1" },
      svg("title", {}, says + (t.detail && t.detail !== t.label ? "\n" + clip(t.detail, 400) : "")),
      turn && svg("rect", { class: "tn-box", x: r.x + 5, y: r.y + 5, width: r.w, height: r.h, rx: 10 }),
      svg("rect", { class: "tn-ring", x: r.x - 4, y: r.y - 4, width: r.w + 8, height: r.h + 8, rx: 13 }),
      svg("rect", { class: "tn-box", x: r.x, y: r.y, width: r.w, height: r.h, rx: t.kind === "OBSERVATION" ? r.h / 2 : 10 }),
      svg("path", { class: "gn-icon", d: ICONS[bad ? "error" : kind.icon], transform: "translate(" + (r.x + 10) + " " + (r.y + 6) + ") scale(.85)" }),
      svg("g", { class: "tn-body" },
        svg("text", { class: "tn-kind", x: r.x + 28, y: r.y + 17 }, title.toUpperCase()),
        c.bone !== null && svg("text", { class: "tn-agent", x: r.x + r.w - (foldable ? 30 : 12), y: r.y + 17 }, clip(t.agent, 16)),
        rows.map((line, i) => svg("text", { class: "tn-text", x: r.x + 12, y: r.y + 35 + i * 15 }, line))));
    if (foldable) {
      const x = r.x + r.w - 15, y = r.y + 13;
      g.append(svg("g", { class: "tn-fold", "data-fold": "1" }, svg("circle", { cx: x, cy: y, r: 8 }), svg("path", { d: "M" + (x - 3.5) + " " + y + "h7" + (c.hidden > 0 ? "M" + x + " " + (y - 3.5) + "v7" : "") })));
      if (c.hidden > 0 && !turn) g.append(pill(r.x + r.w - 14, r.y + r.h, "+" + c.hidden, "gn-count"));
    }
    return g;
  }

  /** fold closes or opens what hangs on a node: a turn at its incident, else its tool calls. @param {string} id */
  fold(id) {
    const d = this.drawn.get(id);
    const b = d && d.card.bone;
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
    const first = [...this.drawn.values()].find((d) => d.card.thought.turn === turn);
    if (first && focus) this.roving.focus(first.card.id);
    else if (first) this.canvas.reveal(first.card.rect);
  }

  /** @param {string} id */
  activate(id) {
    const d = this.drawn.get(id);
    if (!d) return;
    const t = d.card.thought;
    if (t.span) this.app.select({ type: "span", key: t.span });
    else if (t.row >= 0) this.app.select(refTo("row", t.row));
    this.mark(id);
  }

  /** @param {string|null} id */
  mark(id) {
    for (const [k, d] of this.drawn) d.el.classList.toggle("sel", k === id);
  }

  /** @param {Ref|null} ref @param {boolean} [quiet] */
  select(ref, quiet) {
    const span = this.app.spanOf(ref);
    const mine = [...this.drawn.values()].filter(({ card }) => span && card.thought.span === span);
    // Of several nodes of one span the one that was just activated stays marked.
    const now = mine.find(({ el }) => el.classList.contains("sel")) || mine[0];
    this.mark(now ? now.card.id : null);
    if (now && !quiet) this.canvas.reveal(now.card.rect);
  }

  /** reach shows what had happened by a step of the playback. @param {Set<string>|null} done null for all @param {Thought|null} at */
  reach(done, at) {
    /** @param {ThoughtCard} c */
    const past = (c) => done === null || (c.bone && c.bone.folded.length > 0 ? c.bone.folded : [c.thought]).some((t) => done.has(t.id));
    for (const { el, card } of this.drawn.values()) {
      el.classList.toggle("later", !past(card));
      el.classList.toggle("now", at !== null && (card.thought.id === at.id || !!card.bone?.folded.some((f) => f.id === at.id)));
    }
    for (const { el, line } of this.lines) {
      const a = this.drawn.get(line.from), b = this.drawn.get(line.to);
      el.classList.toggle("later", !a || !b || !past(a.card) || !past(b.card));
    }
    const now = at && [...this.drawn.values()].find(({ el }) => el.classList.contains("now"));
    if (now) this.canvas.reveal(now.card.rect);
  }

  destroy() {
    this.off();
    this.player.pause();
    this.canvas.destroy();
  }
}

/** wrapText breaks a text into lines. @param {string} text @param {number} max @param {number} rows @returns {string[]} */
function wrapText(text, max, rows) {
  /** @type {string[]} */
  const out = [];
  let rest = clip(text, max * rows + rows);
  while (out.length < rows - 1 && rest.length > max) {
    const space = rest.lastIndexOf(" ", max);
    const cut = space > max * 0.5 ? space : max;
    out.push(rest.slice(0, cut));
    rest = rest.slice(cut).trimStart();
  }
  return [...out, clip(rest, max)];
}

registerView({ id: "thoughts", title: "Thoughts", mount: (root, app) => new ThoughtsView(root, app) });
