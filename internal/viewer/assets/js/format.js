// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Names, times and numbers for people.

/** words turns check_failed into "check failed". @param {string} s */
function words(s) {
  return String(s || "").replace(/_/g, " ");
}

/** said is what an error says. @param {unknown} err */
function said(err) {
  return err instanceof Error ? err.message : String(err);
}

/** capital begins with one. @param {string} s */
function capital(s) {
  return s.charAt(0).toUpperCase() + s.slice(1);
}

/** sentence turns check_failed into "Check failed". @param {string} s */
function sentence(s) {
  return capital(words(s));
}

/** eventName is the name of an event type for people. @param {string} type */
function eventName(type) {
  return sentence(type.toLowerCase()).replace(/^(Llm|Hitl|A2a)\b/, (s) => s.toUpperCase());
}

/** turnName says which turn it is. @param {number} turn */
function turnName(turn) {
  return turn > 0 ? "Turn " + turn : "Outside of any turn";
}

/** tokensOf says how many tokens went in and came out.
 * @param {{prompt?: number, completion?: number}} t @param {string} [unit] */
function tokensOf(t, unit) {
  return fmtInt(t.prompt) + (unit || "") + " in, " + fmtInt(t.completion) + " out";
}

/** tookOf is how long a row took, "" where it does not say. @param {Row} row */
function tookOf(row) {
  const ms = row.latency_ms && row.latency_ms.total_ms;
  return ms === undefined || ms === null ? "" : fmtDuration(ms);
}

/** refTo refers to what has an index. @param {"row"|"approval"} type @param {number} i */
function refTo(type, i) {
  return { type, key: String(i) };
}

/** leftBy says when a session left something, and who took it back. @param {Left} l
 * @returns {Child[]} */
function leftBy(l) {
  return ["Left on ", timeEl(l.at), " by ", h("strong", {}, l.by || "somebody")];
}

/** @param {Edge} e */
function edgeKey(e) {
  return e.from + ">" + e.to + ">" + e.kind;
}

/** @param {SessionKey} k */
function sessionPath(k) {
  return [k.app, k.user, k.id].map(encodeURIComponent).join("/");
}

/** @param {SessionKey|null|undefined} a @param {SessionKey|null|undefined} b */
function sameSession(a, b) {
  return !!a && !!b && a.app === b.app && a.user === b.user && a.id === b.id;
}

/** millis is a time in milliseconds, NaN for none: Go's zero time is none.
 * @param {string|null|undefined} t */
function millis(t) {
  if (!t || t.startsWith("0001-")) return NaN;
  return Date.parse(t);
}

const clockSettings = { utc: true };

/** dateParts is a day and a time in the chosen zone. @param {number} n @param {boolean} [ms] */
function dateParts(n, ms) {
  const off = clockSettings.utc ? 0 : new Date(n).getTimezoneOffset() * 60000;
  const [day, time] = new Date(n - off).toISOString().split("T");
  return { day, time: time.slice(0, ms ? 12 : 8) };
}

/** fmtTime is a day and a time. @param {string|null|undefined} t @param {boolean} [ms] */
function fmtTime(t, ms) {
  const n = millis(t);
  return Number.isNaN(n) ? "–" : Object.values(dateParts(n, ms)).join(" ");
}

/** fmtClock is the time of day. @param {string|null|undefined} t @param {boolean} [ms] */
function fmtClock(t, ms) {
  const n = millis(t);
  return Number.isNaN(n) ? "–" : dateParts(n, ms).time;
}

/** zone names the zone of the times shown. */
function zone() {
  return clockSettings.utc ? "UTC" : "local time";
}

/** timeEl is a time with the exact one behind it. @param {string|null|undefined} t
 * @param {"clock"|"ms"} [form] */
function timeEl(t, form) {
  if (Number.isNaN(millis(t))) return h("span", "muted", "–");
  return h("time", { datetime: t, title: t + " (UTC)" }, form ? fmtClock(t, form === "ms")
    : fmtTime(t));
}

/** fmtAgo says how long ago a time was. @param {number} at in milliseconds */
function fmtAgo(at) {
  const min = Math.floor((Date.now() - at) / 60000);
  if (min < 1) return "just now";
  if (min < 60) return min + " min ago";
  if (min < 48 * 60) return Math.floor(min / 60) + " h ago";
  const days = Math.floor(min / 1440);
  if (days < 60) return days + " days ago";
  return days < 730 ? Math.floor(days / 30.4) + " months ago" : Math.floor(days / 365)
    + " years ago";
}

/** What depends on the present time, by what an element has it as. */
const TICKING = { ago: fmtAgo, until: untilText };

/** ticking is a time as seen from now, with the exact one behind it; tick keeps it true.
 * @param {string|null|undefined} t @param {keyof typeof TICKING} kind @param {string} [cls] */
function ticking(t, kind, cls) {
  const at = millis(t), title = fmtTime(t) + " " + zone();
  return h("time", { class: cls, datetime: t, title, data: { [kind]: at } }, TICKING[kind](at));
}

/** agoEl says how long ago a time was. @param {string|null|undefined} t */
function agoEl(t) {
  return Number.isNaN(millis(t)) ? h("span", "muted", "–") : ticking(t, "ago");
}

/** untilText counts down to a time. @param {number} at in milliseconds */
function untilText(at) {
  const left = at - Date.now();
  if (left <= 0) return "expired " + fmtAgo(at);
  return "expires in " + fmtDuration(Math.ceil(left / 1000) * 1000);
}

/** countdownEl counts down to a time. @param {string|null|undefined} t */
function countdownEl(t) {
  return Number.isNaN(millis(t)) ? null : ticking(t, "until", "countdown");
}

/** tick brings what depends on the present time up to date. */
function tick() {
  for (const [name, text] of Object.entries(TICKING)) {
    for (const el of document.querySelectorAll("[data-" + name + "]")) {
      const now = text(Number(el.getAttribute("data-" + name)));
      if (el.textContent !== now) el.textContent = now;
    }
  }
}

/** inTwo is a number of a unit and the rest in a smaller one: "2 h 5 min". @param {number} n
 * @param {number} by @param {string} unit @param {string} rest */
function inTwo(n, by, unit, rest) {
  return Math.floor(n / by) + " " + unit + (n % by ? " " + (n % by) + " " + rest : "");
}

/** fmtDuration says a duration for people. @param {any} took @returns {string} */
function fmtDuration(took) {
  const ms = Number(took ?? NaN);
  if (Number.isNaN(ms)) return "–";
  if (ms < 0) return "−" + fmtDuration(-ms);
  if (ms === 0) return "0 ms";
  if (ms < 1) return ms.toFixed(2) + " ms";
  if (ms < 1000) return (ms < 10 && ms % 1 ? ms.toFixed(1) : Math.round(ms)) + " ms";
  if (ms < 60000) return (ms / 1000).toFixed(ms < 10000 ? 2 : 1) + " s";
  const s = Math.round(ms / 1000), m = Math.round(s / 60);
  if (s < 3600) return inTwo(s, 60, "min", "s");
  return m < 1440 ? inTwo(m, 60, "h", "min") : inTwo(Math.round(m / 60), 24, "d", "h");
}

const numberFormat = new Intl.NumberFormat("en-US");

/** fmtInt groups digits. @param {number|null|undefined} n */
function fmtInt(n) {
  return numberFormat.format(n || 0);
}

/** fmtCompact is short: 12.3k. @param {number} n */
function fmtCompact(n) {
  if (n < 1000) return String(n);
  if (n < 1e6) return (n / 1e3).toFixed(n < 1e4 ? 1 : 0) + "k";
  return (n / 1e6).toFixed(1) + "M";
}

/** plural is "1 turn", "2 turns". @param {number} n @param {string} one @param {string} [many] */
function plural(n, one, many) {
  return fmtInt(n) + " " + (n === 1 ? one : many || one + "s");
}

/** @param {any} v */
function pretty(v) {
  return typeof v === "string" ? v : JSON.stringify(v, null, 2) ?? "";
}

/** clip shortens in one line. @param {any} v @param {number} n */
function clip(v, n) {
  const s = String(v ?? "").replace(/\s+/g, " ").trim();
  return s.length > n ? s.slice(0, n - 1) + "…" : s;
}
