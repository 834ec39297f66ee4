// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

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
    const text = this.order.length === 0 ? "Nothing was thought." : !t ? "Before the first step" : "Step " + this.at + " of " + this.order.length + " · " + fmtClock(t.at, true) + " · " + THOUGHT_KINDS[t.kind].label + ": " + clip(t.label, 70);
    this.text.textContent = text;
    this.range.setAttribute("aria-valuetext", text);
  }
}
