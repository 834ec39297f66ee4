// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Icons, chips and colours: what a kind, a type and a status look like.

/** Icons are drawn in a box of 16 by 16 with a stroke. */
const ICONS = {
  search: "M7 12.5a5.5 5.5 0 1 1 0-11 5.5 5.5 0 0 1 0 11ZM11 11l3.5 3.5",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  check: "M3 8.5l3.5 3.5L13 4.5",
  chevron: "M6 3.5 10.5 8 6 12.5",
  clock: "M8 14.5a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13ZM8 4.5V8l2.5 1.5",
  shield: "M8 1.5 13.5 3.5v4c0 3.5-2.3 5.7-5.5 7-3.2-1.3-5.5-3.5-5.5-7v-4ZM5.5 8l2 2 3-4",
  shieldx: "M8 1.5 13.5 3.5v4c0 3.5-2.3 5.7-5.5 7-3.2-1.3-5.5-3.5-5.5-7v-4ZM6 6l4 4M10 6l-4 4",
  drift: "M8 2 14.5 13.5h-13ZM8 6.5v3.5M8 11.6v.3",
  rejected: "M8 14.5a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13ZM3.5 3.5l9 9",
  expired: "M4 1.5h8M4 14.5h8M5 1.5v3L8 8l3-3.5v-3M5 14.5v-3L8 8l3 3.5v3",
  executed: "M8 14.5a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13ZM5 8.2l2.2 2.2L11 6",
  failed: "M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3ZM5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4",
  doubt: "M8 14.5a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13ZM6 6.2"
    + "c0-2.6 4-2.4 4 0 0 1.6-2 1.6-2 3.1M8 11.3v.4",
  none: "M4 8h8",
  user: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14.5c.5-6 10.5-6 11 0",
  agent: "M3 5.5h10v8H3zM8 2.5v3M6 9v1M10 9v1M1 9v2M15 9v2",
  model: "M8 1.5 9.7 6.3 14.5 8l-4.8 1.7L8 14.5l-1.7-4.8L1.5 8l4.8-1.7Z",
  tool: "M13.8 4.2a4 4 0 0 1-5.2 5.2L4 14l-2-2 4.6-4.6a4 4 0 0 1 5.2-5.2L9.5 4.5l2 2Z",
  hitl: "M5 8V3.5a1 1 0 0 1 2 0V7M7 7V2.5a1 1 0 0 1 2 0V7M9 7V3.5a1 1 0 0 1 2 0V8M11 8V6"
    + "a1 1 0 0 1 2 0v3.5c0 3-2 5-4.5 5-2.7 0-3.7-1.5-5.5-5-.5-1 .7-1.7 1.4-.8L5 9.5",
  other: "M8 3.5v.01M8 8v.01M8 12.5v.01",
  entity: "M2.5 3.5h11v9h-11zM2.5 6.5h11",
  graph: "M4 6a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM12 9.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM5 14"
    + "a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM5.8 4.7l4.4 2M6.7 11l3.7-2.3",
  arrow: "M2.5 8h11M9.5 4l4 4-4 4",
  warning: "M8 2 14.5 13.5h-13ZM8 6.5v3.5M8 11.6v.3",
  error: "M8 14.5a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13ZM8 4.5v4.2M8 11v.3",
  info: "M8 14.5a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13ZM8 7.3v4M8 4.7v.3",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 .8v1.7M8 13.5v1.7M.8 8h1.7M13.5 8h1.7M2.9 2.9"
    + "l1.2 1.2M11.9 11.9l1.2 1.2M2.9 13.1l1.2-1.2M11.9 4.1l1.2-1.2",
  moon: "M13.5 9.8A6 6 0 0 1 6.2 2.5a6 6 0 1 0 7.3 7.3Z",
  auto: "M8 14.5a6.5 6.5 0 1 1 0-13ZM8 1.5a6.5 6.5 0 0 1 0 13",
  print: "M4.5 6V1.5h7V6M4.5 12h-3V6h13v6h-3M4.5 9.5h7v5h-7z",
  keyboard: "M1.5 4h13v8.5h-13zM4 6.7h.01M6.7 6.7h.01M9.3 6.7h.01M12 6.7h.01M5 10h6",
  panel: "M1.5 2.5h13v11h-13zM6 2.5v11",
  message: "M2 2.5h12v8.5H7l-3.5 3v-3H2Z",
  link: "M6.5 9.5l3-3M7 4.5l2-2a3 3 0 0 1 4.5 4.5l-2 2M9 11.5l-2 2A3 3 0 0 1 2.5 9l2-2",
  inbox: "M2 9.5 4 3h8l2 6.5V13H2ZM2 9.5h3.5l1 1.7h3l1-1.7H14",
  pen: "M3 13l.7-3.2L11 2.5 13.5 5l-7.3 7.3ZM9.5 4 12 6.5",
  again: "M13.5 8a5.5 5.5 0 1 1-1.8-4.1M13.5 1.8v3.4h-3.4",
  lock: "M3.5 7h9v7h-9zM5.5 7V4.5a2.5 2.5 0 0 1 5 0V7",
};

/** icon draws an icon that says nothing to a screen reader: the text beside it does.
 * @param {IconName} name @param {string} [cls] */
function icon(name, cls) {
  return svg("svg", { class: "icon" + (cls ? " " + cls : ""), viewBox: "0 0 16 16",
    "aria-hidden": "true", focusable: "false" }, svg("path", { d: ICONS[name] }));
}

/** The names of codes for people, which the page holds, by what they are codes of.
 * @type {Record<string, Record<string, {name: string, says?: string}>>} */
const WORDS = {};

/** wordOf is the name of a code; of one that this page does not know it is made up.
 * @param {string} kind @param {string} code */
function wordOf(kind, code) {
  return WORDS[kind] && Object.hasOwn(WORDS[kind], code) ? WORDS[kind][code] : {
    name: words(code) };
}

/** @type {Record<Status, [IconName, string]>} the icon and the tone of each */
const STATUSES = {
  none: ["none", "idle"],
  pending: ["clock", "wait"],
  safe: ["shield", "good"],
  drift: ["drift", "warn"],
  check_failed: ["shieldx", "bad"],
  rejected: ["rejected", "stop"],
  expired: ["expired", "idle"],
  superseded: ["expired", "idle"],
  executed: ["executed", "good"],
  failed: ["failed", "bad"],
  in_doubt: ["doubt", "doubt"],
  unknown: ["doubt", "idle"],
};

/** @type {Record<string, [IconName, string]>} the same of the outcomes of a check of one thing */
const OUTCOMES = {
  "": ["clock", "wait"],
  unchanged: ["check", "good"],
  changed: ["drift", "warn"],
  warned: ["info", "wait"],
  failed: ["shieldx", "bad"],
  skipped: ["none", "idle"],
};

/** @param {string} kind @param {Record<string, [IconName, string]>} table @param {string} code */
function lookOf(kind, table, code) {
  const [ic, tone] = Object.hasOwn(table, code) ? table[code]
    : /** @type {[IconName, string]} */ (["doubt", "idle"]);
  return { label: wordOf(kind, code).name, icon: ic, tone };
}

/** @param {string} status */
function statusInfo(status) {
  return lookOf("status", STATUSES, status);
}

/** foundOf is what a check of an open request found: that nothing has changed is no advice to say
 * yes. @param {string} verdict */
function foundOf(verdict) {
  const look = statusInfo(verdict);
  return verdict === "safe" ? { ...look, label: "Nothing has changed" } : look;
}

/** outcomeOf is how a check of one thing ended; "" says that nobody has checked it.
 * @param {string|undefined} outcome */
function outcomeOf(outcome) {
  return lookOf("outcome", OUTCOMES, outcome || "");
}

/** chip shows a status, or a verdict, by icon, text and colour. @param {string} status */
function chip(status) {
  const s = statusInfo(status);
  return h("span", { class: "chip tone-" + s.tone }, icon(s.icon), s.label);
}

/** mark shows a look without a frame. @param {Mark} look */
function mark(look) {
  return h("span", { class: "outcome tone-" + look.tone }, icon(look.icon), look.label);
}

/** badge is a small label. @param {Child} text @param {string} [tone] @param {IconName} [ic] */
function badge(text, tone, ic) {
  return h("span", { class: "badge" + (tone ? " tone-" + tone : "") }, ic && icon(ic), text);
}

/** @type {Record<string, {label: string, icon: IconName}>} */
const CLASSES = {
  user: { label: "User", icon: "user" },
  agent: { label: "Agent", icon: "agent" },
  model: { label: "Model", icon: "model" },
  tool: { label: "Tool", icon: "tool" },
  hitl: { label: "Human in the loop", icon: "hitl" },
  check: { label: "World-change check", icon: "shield" },
  other: { label: "Other", icon: "other" },
};

/** classOf is the look of a kind of span. @param {string} cls */
function classOf(cls) {
  return CLASSES[cls] || CLASSES.other;
}

/** kindClass is the CSS class that sets --k, --k-bg and --k-text by the kind of a span.
 * @param {string} cls */
function kindClass(cls) {
  return "k-" + (CLASSES[cls] ? cls : "other");
}

/** The colours of types that the page knows by name, and then those of others. */
const KNOWN_TYPES = ["product", "targeting", "budget", "campaign"];
const TYPE_COLOURS = 10;

/** What a page has called each type so far.
 * @type {Map<string, {name: string, cls: string, tag: string}>} */
const typeLooks = new Map();

/** typeLook is what tells a type of entities from others: a colour, that of its name or in the
 * order in which the page meets them, and two letters. @param {string} type */
function typeLook(type) {
  const low = String(type).toLowerCase();
  const known = typeLooks.get(low);
  if (known) return known;
  const taken = new Set([...typeLooks.values()].map((t) => t.tag));
  const letters = [...low.replace(/[^\p{L}\p{N}]/gu, "")];
  const first = letters[0] || "?";
  const tags = [...letters.slice(1).map((x) => first + x), first,
    ...Array.from({ length: 99 }, (_, i) => first + i)];
  const tag = tags.map(capital).find((t) => !taken.has(t)) || "?";
  const used = new Set([...typeLooks.values()].map((t) => t.cls));
  const colours = Array.from({ length: TYPE_COLOURS }, (_, i) =>
    "t-" + ((i + KNOWN_TYPES.length) % TYPE_COLOURS));
  const free = colours.find((c) => !used.has(c)) || "t-" + (typeLooks.size % TYPE_COLOURS);
  const at = KNOWN_TYPES.indexOf(low);
  const look = { name: String(type), cls: at < 0 ? free : "t-" + at, tag };
  typeLooks.set(low, look);
  return look;
}

/** typeClass is the CSS class that sets the same by the type of an entity. @param {string} type */
function typeClass(type) {
  return typeLook(type).cls;
}

/** typeMark is the mark of a type beside its name. @param {string} type */
function typeMark(type) {
  return h("span", { class: "etag " + typeClass(type), "aria-hidden": "true" }, typeLook(type).tag);
}

/** answerMark says what a person answered. @param {boolean} confirmed */
function answerMark(confirmed) {
  return mark(confirmed ? { label: "Yes", icon: "user", tone: "accent" } : {
    label: "No", icon: "rejected", tone: "stop" });
}

/** waits says whether a status is one of a request that can still be answered.
 * @param {string} status */
function waits(status) {
  return status === "pending" || status === "check_failed" || status === "safe";
}

/** actionOf says what happens on a yes. A request that names no tool has no sentence for that.
 * @param {Approval} a */
function actionOf(a) {
  return a.action || "The call would run once, with the arguments below.";
}
