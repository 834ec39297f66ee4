// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0
// @ts-check

// What an approval rests on, as it was seen and as it is now, and what it costs.

/**
 * A value that was seen, and the one now. now is undefined where nobody knows it.
 * @typedef {{e: Rested, name: string, seen: string|undefined, now: string|undefined, changed: boolean, condition: string, alert: Alert|undefined}} Value
 */

/** valuesOf has each value of an entity. @param {Rested} e @param {Alert[]} alerts @returns {Value[]} */
function valuesOf(e, alerts) {
  const seen = e.seen || {}, now = e.now || {}, conditions = e.conditions || {};
  /** @param {Record<string, string>} from @param {string} name */
  const own = (from, name) => (Object.hasOwn(from, name) ? from[name] : undefined);
  // That a thing is there says nothing; that it is gone does.
  const there = (/** @type {string} */ name) => name === "exists" && [own(seen, name), own(now, name)].every((v) => v === undefined || v === "true");
  return [...new Set([...Object.keys(seen), ...Object.keys(now), ...Object.keys(conditions)])].filter((name) => !there(name)).map((name) => ({
    e, name, seen: own(seen, name), now: own(now, name), condition: own(conditions, name) || "",
    changed: !!e.now && own(seen, name) !== own(now, name) && e.outcome !== "unchanged",
    alert: alerts.find((a) => a.entity_type === e.type && a.entity === e.value && a.attribute === name),
  }));
}

/** change shows a value that is another one now. @param {string} was @param {string} now @param {Child[]} more */
function change(was, now, ...more) {
  return h("span", "change", h("del", {}, was), icon("arrow"), h("span", "sr-only", "is now"), h("ins", {}, now), more);
}

/** percent shows by how much. @param {number|null|undefined} pct */
function percent(pct) {
  const sign = { "1": "+", "-1": "−" }[Math.sign(pct || 0)] || "";
  return pct !== undefined && pct !== null && h("span", "pct", sign + Math.abs(Math.round(pct * 10) / 10) + " %");
}

/** seenAge says when it was seen. @param {{seen_at?: string}} e */
function seenAge(e) {
  return h("span", "v-age", !Number.isNaN(millis(e.seen_at)) && ["seen ", agoEl(e.seen_at)]);
}

/** named shows a value with its name, and the condition that it has to meet. @param {string} name @param {string} value @param {string} [condition] */
function named(name, value, condition) {
  return h("span", {}, h("span", "v-name", words(name)), " ", h("span", "v-val", value), condition && h("span", "v-cond", " " + condition + " needed"));
}

/** only shows a value that has not changed, or that nobody knows now. @param {Value} v */
function only(v) {
  if (v.name === "exists" && v.seen === "not seen") return h("span", "v-val", v.seen);
  // What a look-up showed in all.
  if (v.name === "names" && v.e.type.startsWith("all ")) return h("span", "v-val", v.seen === "[]" ? "none" : "only " + (v.seen || "").slice(1, -1));
  return named(v.name, v.seen ?? v.now ?? "not seen", v.condition);
}

/**
 * seenNow shows what has changed first and large, then what it costs, and below that what has not changed.
 * @param {App} app @param {Approval & {last: Check|undefined}} a
 */
function seenNow(app, a) {
  if (a.entities.length === 0) return [h("section", "c-part", h("h3", {}, "Seen → now"), h("p", "muted", "Nothing was found that it rests on. A check of nothing fails.")), costs(a)];
  const alerts = a.last ? [...a.last.alerts, ...a.last.warnings] : [];
  const values = a.entities.flatMap((e) => valuesOf(e, alerts));
  /** @param {Value} v */
  const weight = (v) => v.alert?.severity ?? (v.e.outcome === "warned" ? 0 : 0.5);
  const changed = values.filter((v) => v.changed).sort((x, y) => weight(y) - weight(x));
  const moved = new Set(changed.map((v) => v.e));
  // A change that is none of a value of an entity, such as one of the sum, which the costs may show.
  const others = alerts.filter((x) => !changed.some((v) => v.alert === x) && !(a.costs.length > 0 && x.drift_type === "budget_exceeded"));
  const order = ["failed", "", "warned", "changed", "skipped", "unchanged"];
  /** @param {Rested} e */
  const rank = (e) => order.indexOf(e.outcome || "");
  const quiet = a.entities.filter((e) => !moved.has(e)).sort((x, y) => rank(x) - rank(y));
  const list = h("ul", "v-quiet");
  chunked(list, quiet, (e) => quietLine(app, e, values.filter((v) => v.e === e)), 40);
  const of = " of " + a.entities.length, failed = a.entities.filter((e) => e.outcome === "failed").length;
  const found = moved.size + of + " changed" + (failed > 0 ? ", " + failed + of + " could not be checked" : "");
  const count = a.entities.some((e) => e.outcome) ? found : "not checked";
  const title = h("h3", {}, "Seen → now", h("span", "count", count), a.last && h("span", "v-when", "checked ", agoEl(a.last.at), " ", wordOf("stage", a.last.stage).name));
  if (changed.length + others.length === 0) return [h("section", "c-part", title, list), costs(a)];
  return [
    h("section", "c-part", title, h("ul", "v-changed", changed.map((v, i) => changedLine(app, v, changed.findIndex((x) => x.e === v.e) === i ? values.filter((x) => x.e === v.e && !x.changed) : [])), others.map(otherLine))),
    costs(a),
    quiet.length > 0 && h("section", "c-part", h("h3", {}, "The others", h("span", "count", String(quiet.length))), list),
  ];
}

/** now is the present value, of a set what came and what went. @param {Value} v */
function now(v) {
  const isSet = v.now !== undefined && v.now.startsWith("[") && v.alert && / (came|went)$/.test(v.alert.after);
  return isSet && v.alert ? v.alert.after : v.now ?? "no answer";
}

/** changedLine is a value that is another one now, with the values of the same thing that are not. @param {App} app @param {Value} v @param {Value[]} rest */
function changedLine(app, v, rest) {
  const soft = v.e.outcome === "warned" || (v.alert && v.alert.effect === "warn");
  return h("li", { class: "v-line sev-" + (soft ? "medium" : severity(v.alert ? v.alert.severity : 0.5)) }, icon("drift"),
    h("span", "v-what", entityLink(app, v.e.key, v.e.type, v.e.value), " ", h("span", "v-name", words(v.name)), soft && [" ", badge("does not block", "wait")], v.e.unseen && [" ", badge("not shown to the approver", "warn", "warning")]),
    h("span", "v-vals", change(v.seen === undefined ? "not seen" : v.seen, now(v), percent(v.alert && v.alert.change_percent)), v.condition && h("span", "v-cond", v.condition + " needed")),
    h("span", "v-also", seenAge(v.e), rest.map((x) => h("span", {}, only(x), " unchanged"))));
}

/** otherLine is a change that an alert alone shows. @param {Alert} x */
function otherLine(x) {
  return h("li", { class: "v-line sev-" + severity(x.severity) }, icon("drift"),
    h("span", "v-what", x.entity_type + " " + x.entity + " ", h("span", "v-name", words(x.attribute || x.drift_type)), x.effect === "warn" && [" ", badge("does not block", "wait")]),
    h("span", "v-vals", change(x.before, x.after, percent(x.change_percent)), x.condition && h("span", "v-cond", x.condition + " needed")), h("span", "v-also", words(x.drift_type)));
}

/**
 * quietLine has the values of an entity that have not changed, or that nobody knows now.
 * @param {App} app @param {Rested} e @param {Value[]} values
 */
function quietLine(app, e, values) {
  const look = outcomeOf(e.outcome);
  return h("li", "v-row", entityLink(app, e.key, e.type, e.value),
    h("span", "v-list", values.map(only)),
    h("span", "v-state", mark({ ...look, label: look.label.toLowerCase() }),
      e.unseen && [" ", badge("not shown to the approver", "warn", "warning")]),
    seenAge(e));
}

/** amount reads the number in a text such as "$52,000"; NaN if there is none. @param {string} text */
function amount(text) {
  const m = /-?\d[\d,]*(\.\d+)?/.exec(text || "");
  return m ? Number(m[0].replace(/,/g, "")) : NaN;
}

/** costOf compares what it costs with the budget. @param {Cost} c */
function costOf(c) {
  const others = c.others ? amount(c.others) : 0;
  const limit = amount(c.limit), is = amount(c.now || c.seen) + others, before = amount(c.seen) + others;
  const top = Math.max(limit, is, Number.isNaN(before) ? 0 : before);
  const known = top > 0 && !Number.isNaN(is) && !Number.isNaN(limit);
  const over = is - limit;
  let apart = known ? "nothing left" : "";
  if (known && over !== 0) {
    const much = numberFormat.format(Math.round(Math.abs(over) * 100) / 100);
    apart = c.limit.replace(/-?\d[\d,]*(\.\d+)?/, much) + (over > 0 ? " over" : " left after it");
  }
  /** @type {Child} */
  let then = c.seen ? "As it was asked; its present cost is not known." : "Its cost is not known.";
  if (c.now) then = "The cost is the same as when it was asked.";
  if (c.seen && c.now && c.seen !== c.now) then = ["Cost seen → now: ", change(c.seen, c.now)];
  const name = c.budget_type + " " + c.budget;
  const text = (c.now || c.seen || "an unknown cost") + (c.others ? ", and " + c.others + " of other requests," : "") + " of " + c.limit + " (" + name + ")";
  const bar = h("span", { class: "c-bar", "aria-hidden": "true" });
  if (known) {
    const part = (/** @type {string} */ cls, /** @type {number} */ from, /** @type {number} */ to) => {
      const el = h("span", cls);
      el.style.left = (100 * from) / top + "%";
      el.style.width = (100 * Math.max(0, to - from)) / top + "%";
      return el;
    };
    append(bar, [part("c-used", 0, Math.min(is, limit)), over > 0 && part("c-over", limit, is), part("c-limit", limit, limit)]);
  }
  return h("li", { class: "c-cost" + (c.exceeded ? " over" : "") },
    h("p", "c-sum", h("strong", {}, text), apart && [": ", h("strong", "c-apart", apart)]),
    known && bar,
    h("p", "muted", then),
    c.unavailable && h("p", "warn-text", icon("warning"), "The sum has " + c.unavailable + ", which cannot be had now."));
}

/** costs shows each budget. @param {Approval} a */
function costs(a) {
  return a.costs.length > 0 && h("section", "c-part", h("h3", {}, "Cost and budget"), h("ul", "c-costs", a.costs.map(costOf)));
}
