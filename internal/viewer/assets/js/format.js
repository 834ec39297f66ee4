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

/** tokensOf says how many tokens went in and came out. @param {{prompt?: number, completion?: number}} t @param {string} [unit] */
function tokensOf(t, unit) {
  return fmtInt(t.prompt) + (unit || "") + " in, " + fmtInt(t.completion) + " out";
}

/** tookOf is how long a row took, "" where it does not say. @param {Row} row */
function tookOf(row) {
  const ms = row.latency_ms && row.latency_ms.total_ms;
  return ms === undefined || ms === null ? "" : fmtDuration(ms);
}

/** refTo refers to what has an index. @param {"row"|"approval"} type @param {number} i @returns {Ref} */
function refTo(type, i) {
  return { type, key: String(i) };
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

/** millis is a time in milliseconds, NaN for none: Go's zero time is none. @param {string|null|undefined} t */
function millis(t) {
  if (!t || t.startsWith("0001-")) return NaN;
  return Date.parse(t);
}

const clockSettings = { utc: true };

/** @param {Date} d @param {boolean} ms */
function dateParts(d, ms) {
  const u = clockSettings.utc;
  /** @param {number} n @param {number} w */
  const pad = (n, w) => String(n).padStart(w, "0");
  const day = [u ? d.getUTCFullYear() : d.getFullYear(), pad((u ? d.getUTCMonth() : d.getMonth()) + 1, 2), pad(u ? d.getUTCDate() : d.getDate(), 2)].join("-");
  let time = [u ? d.getUTCHours() : d.getHours(), u ? d.getUTCMinutes() : d.getMinutes(), u ? d.getUTCSeconds() : d.getSeconds()].map((n) => pad(n, 2)).join(":");
  if (ms) time += "." + pad(d.getUTCMilliseconds(), 3);
  return { day, time };
}

/** fmtTime is a day and a time in the chosen zone. @param {string|null|undefined} t @param {boolean} [ms] */
function fmtTime(t, ms) {
  const n = millis(t);
  if (Number.isNaN(n)) return "–";
  const p = dateParts(new Date(n), !!ms);
  return p.day + " " + p.time;
}

/** fmtClock is the time of day. @param {string|null|undefined} t @param {boolean} [ms] */
function fmtClock(t, ms) {
  const n = millis(t);
  return Number.isNaN(n) ? "–" : dateParts(new Date(n), !!ms).time;
}

/** zone names the zone of the times shown. */
function zone() {
  return clockSettings.utc ? "UTC" : "local time";
}

/** timeEl is a time with the exact one behind it. @param {string|null|undefined} t @param {"clock"|"ms"} [form] */
function timeEl(t, form) {
  if (Number.isNaN(millis(t))) return h("span", "muted", "–");
  return h("time", { datetime: t, title: t + " (UTC)" }, form ? fmtClock(t, form === "ms") : fmtTime(t));
}

/** fmtAgo says how long ago a time was. @param {number} at in milliseconds */
function fmtAgo(at) {
  const min = Math.floor((Date.now() - at) / 60000);
  if (min < 1) return "just now";
  if (min < 60) return min + " min ago";
  if (min < 48 * 60) return Math.floor(min / 60) + " h ago";
  const days = Math.floor(min / 1440);
  if (days < 60) return days + " days ago";
  return days < 730 ? Math.floor(days / 30.4) + " months ago" : Math.floor(days / 365) + " years ago";
}

/** agoEl says how long ago a time was, with the exact one behind it; tick keeps it true. @param {string|null|undefined} t */
function agoEl(t) {
  const at = millis(t);
  if (Number.isNaN(at)) return h("span", "muted", "–");
  return h("time", { datetime: t, title: fmtTime(t) + " " + zone(), data: { ago: at } }, fmtAgo(at));
}

/** untilText counts down to a time. @param {number} at in milliseconds */
function untilText(at) {
  const left = at - Date.now();
  return left > 0 ? "expires in " + fmtDuration(Math.ceil(left / 1000) * 1000) : "expired " + fmtAgo(at);
}

/** countdownEl counts down to a time, with the exact one behind it. @param {string|null|undefined} t */
function countdownEl(t) {
  const at = millis(t);
  return Number.isNaN(at) ? null : h("time", { class: "countdown", datetime: t, title: fmtTime(t) + " " + zone(), data: { until: at } }, untilText(at));
}

/** tick brings what depends on the present time up to date. */
function tick() {
  for (const [name, text] of /** @type {[string, (at: number) => string][]} */ ([["ago", fmtAgo], ["until", untilText]])) {
    for (const el of document.querySelectorAll("[data-" + name + "]")) {
      const now = text(Number(el.getAttribute("data-" + name)));
      if (el.textContent !== now) el.textContent = now;
    }
  }
}

/** fmtDuration says a duration for people. @param {number|null|undefined} ms */
function fmtDuration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  const neg = ms < 0 ? "−" : "";
  const v = Math.abs(ms);
  if (v === 0) return "0 ms";
  if (v < 1) return neg + v.toFixed(2) + " ms";
  if (v < 1000) return neg + (v < 10 && v % 1 ? v.toFixed(1) : String(Math.round(v))) + " ms";
  if (v < 60000) return neg + (v / 1000).toFixed(v < 10000 ? 2 : 1) + " s";
  const s = Math.round(v / 1000);
  if (s < 3600) return neg + Math.floor(s / 60) + " min" + (s % 60 ? " " + (s % 60) + " s" : "");
  const m = Math.round(s / 60);
  if (m < 1440) return neg + Math.floor(m / 60) + " h" + (m % 60 ? " " + (m % 60) + " min" : "");
  const hrs = Math.round(m / 60);
  return neg + Math.floor(hrs / 24) + " d" + (hrs % 24 ? " " + (hrs % 24) + " h" : "");
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
  if (typeof v === "string") return v;
  const t = JSON.stringify(v, null, 2);
  return t === undefined ? "" : t;
}

/** clip shortens in one line. @param {any} v @param {number} n */
function clip(v, n) {
  const s = String(v === null || v === undefined ? "" : v).replace(/\s+/g, " ").trim();
  return s.length > n ? s.slice(0, n - 1) + "…" : s;
}
