// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// What an approval rests on, as it was seen and as it is now, and what it costs.

/** valuesOf has each value of an entity. @param {Rested} e @param {Alert[]} alerts
 * @returns {Value[]} */
function valuesOf(e, alerts) {
  const [seen, now, conditions] = [e.seen, e.now, e.conditions].map((x) =>
    new Map(Object.entries(x || {})));
  const names = new Set([...seen.keys(), ...now.keys(), ...conditions.keys()]);
  // That a thing is there says nothing; that it is gone does.
  if ([seen, now].every((x) => [undefined, "true"].includes(x.get("exists")))) names.delete(
    "exists");
  return [...names].map((name) => ({
    e, name, seen: seen.get(name), now: now.get(name), condition: conditions.get(name) || "",
    changed: !!e.now && seen.get(name) !== now.get(name) && e.outcome !== "unchanged",
    alert: alerts.find((a) => a.entity_type === e.type && a.entity === e.value
      && a.attribute === name),
  }));
}

/** change shows a value that is another one now. @param {string} was @param {string} now
 * @param {Child[]} more */
function change(was, now, ...more) {
  return h("span", "change", h("del", {}, was), icon("arrow"), h("span", "sr-only", "is now"),
    h("ins", {}, now), more);
}

/** percent shows by how much. @param {number|null|undefined} pct */
function percent(pct) {
  if (pct === undefined || pct === null) return null;
  const sign = { "1": "+", "-1": "−" }[Math.sign(pct)] || "";
  return h("span", "pct", sign + Math.abs(Math.round(pct * 10) / 10) + " %");
}

/** seenAge says when it was seen. @param {{seen_at?: string}} e */
function seenAge(e) {
  return h("span", "v-age", !Number.isNaN(millis(e.seen_at)) && ["seen ", agoEl(e.seen_at)]);
}

/** needed is the condition that a value has to meet. @param {string} [condition] */
function needed(condition) {
  return condition && h("span", "v-cond", " " + condition + " needed");
}

/** named shows a value with its name, and the condition that it has to meet.
 * @param {string} name @param {string} value @param {string} [condition] */
function named(name, value, condition) {
  return h("span", {}, h("span", "v-name", words(name)), " ", h("span", "v-val", value),
    needed(condition));
}

/** only shows a value that has not changed, or that nobody knows now. @param {Value} v */
function only(v) {
  if (v.name === "exists" && v.seen === "not seen") return h("span", "v-val", v.seen);
  // What a look-up showed in all.
  if (v.name === "names" && v.e.type.startsWith("all ")) {
    const all = v.seen || "";
    return h("span", "v-val", all === "[]" ? "none" : "only " + all.slice(1, -1));
  }
  return named(v.name, v.seen ?? v.now ?? "not seen", v.condition);
}

/** seenNow shows what has changed first and large, then what it costs, and below that what has
 * not changed. @param {App} app @param {Approval & {last: Check|undefined}} a */
function seenNow(app, a) {
  if (a.entities.length === 0) {
    return [h("section", "c-part", h("h3", {}, "Seen → now"),
      h("p", "muted", "Nothing was found that it rests on. A check of nothing fails.")), costs(a)];
  }
  const alerts = a.last ? [...a.last.alerts, ...a.last.warnings] : [];
  const values = a.entities.flatMap((e) => valuesOf(e, alerts));
  /** @param {Value} v */
  const weight = (v) => v.alert?.severity ?? (v.e.outcome === "warned" ? 0 : 0.5);
  const changed = values.filter((v) => v.changed).sort((x, y) => weight(y) - weight(x));
  const moved = new Set(changed.map((v) => v.e));
  // A change that is none of a value of an entity, such as one of the sum, which the costs may
  // show.
  const others = alerts.filter((x) => !changed.some((v) => v.alert === x)
    && !(a.costs.length > 0 && x.drift_type === "budget_exceeded"));
  const order = ["failed", "", "warned", "changed", "skipped", "unchanged"];
  /** @param {Rested} e */ const rank = (e) => order.indexOf(e.outcome || "");
  const quiet = a.entities.filter((e) => !moved.has(e)).sort((x, y) => rank(x) - rank(y));
  const list = h("ul", "v-quiet");
  chunked(list, quiet, (e) => quietLine(app, e, values.filter((v) => v.e === e)), 40);
  const of = " of " + a.entities.length;
  const failed = a.entities.filter((e) => e.outcome === "failed").length;
  const found = [
    (moved.size > 0 || failed === 0) && moved.size + of + " changed",
    failed > 0 && failed + of + " could not be checked",
  ].filter(Boolean).join(", ");
  const title = h("h3", {}, "Seen → now",
    h("span", "count", a.entities.some((e) => e.outcome) ? found : "not checked"),
    a.last && h("span", "v-when", "checked ", agoEl(a.last.at), " ",
      wordOf("stage", a.last.stage).name));
  if (changed.length + others.length === 0) {
    return [h("section", "c-part", title, list), costs(a)];
  }
  const told = new Set();
  const lines = changed.map((v) => {
    const rest = told.has(v.e) ? [] : values.filter((x) => x.e === v.e && !x.changed);
    told.add(v.e);
    return changedLine(app, v, rest);
  });
  return [
    h("section", "c-part", title, h("ul", "v-changed", lines, others.map(otherLine))),
    costs(a),
    quiet.length > 0 && h("section", "c-part",
      h("h3", {}, "The others", h("span", "count", String(quiet.length))), list),
  ];
}

/** driftLine is a change. @param {number} severe @param {boolean|undefined} soft
 * @param {Child} what @param {Child} values @param {Child} also */
function driftLine(severe, soft, what, values, also) {
  return h("li", "v-line sev-" + severity(severe), icon("drift"),
    h("span", "v-what", what, soft && [" ", badge("does not block", "wait")]),
    h("span", "v-vals", values), h("span", "v-also", also));
}

/** changedLine is a value that is another one now, with the values of the same thing that are
 * not. Of a set it says what came and what went. @param {App} app @param {Value} v
 * @param {Value[]} rest */
function changedLine(app, v, rest) {
  const { e, alert } = v, soft = e.outcome === "warned" || alert?.effect === "warn";
  const isSet = v.now?.startsWith("[") && alert && / (came|went)$/.test(alert.after);
  return driftLine(soft ? 0.4 : alert?.severity ?? 0.5, soft,
    [entityLink(app, e.key, e.type, e.value), " ", h("span", "v-name", words(v.name)),
      e.unseen && [" ", badge("not shown to the approver", "warn", "warning")]],
    [change(v.seen ?? "not seen", isSet ? alert.after : v.now ?? "no answer",
      percent(alert?.change_percent)), needed(v.condition)],
    [seenAge(e), rest.map((x) => h("span", {}, only(x), " unchanged"))]);
}

/** otherLine is a change that an alert alone shows. @param {Alert} x */
function otherLine(x) {
  return driftLine(x.severity, x.effect === "warn",
    [x.entity_type + " " + x.entity + " ", h("span", "v-name", words(x.attribute || x.drift_type))],
    [change(x.before, x.after, percent(x.change_percent)), needed(x.condition)],
      words(x.drift_type));
}

/** quietLine has the values of an entity that have not changed, or that nobody knows now.
 * @param {App} app @param {Rested} e @param {Value[]} values */
function quietLine(app, e, values) {
  const look = outcomeOf(e.outcome);
  return h("li", "v-row", entityLink(app, e.key, e.type, e.value),
    h("span", "v-list", values.map(only)),
    h("span", "v-state", mark({ ...look, label: look.label.toLowerCase() }),
      e.unseen && [" ", badge("not shown to the approver", "warn", "warning")]),
    seenAge(e));
}

/** NUMBER is the number in a text such as "$52,000". */
const NUMBER = /-?\d[\d,]*(\.\d+)?/;

/** amount reads that number; NaN if there is none. @param {string} text */
function amount(text) {
  return Number(NUMBER.exec(text || "")?.[0].replace(/,/g, "") ?? NaN);
}

/** costOf compares what it costs with the budget. @param {Cost} c */
function costOf(c) {
  const others = c.others ? amount(c.others) : 0, limit = amount(c.limit);
  const is = amount(c.now || c.seen) + others, over = is - limit;
  const top = Math.max(limit, is, amount(c.seen) + others || 0), known = top > 0;
  let apart = known ? "nothing left" : "";
  if (known && over !== 0) {
    const much = numberFormat.format(Math.round(Math.abs(over) * 100) / 100);
    apart = c.limit.replace(NUMBER, much) + (over > 0 ? " over" : " left after it");
  }
  /** @type {Child} */
  let then = c.seen ? "As it was asked; its present cost is not known." : "Its cost is not known.";
  if (c.now) then = "The cost is the same as when it was asked.";
  if (c.seen && c.now && c.seen !== c.now) then = ["Cost seen → now: ", change(c.seen, c.now)];
  const text = (c.now || c.seen || "an unknown cost")
    + (c.others ? ", and " + c.others + " of other requests," : "") + " of " + c.limit
    + " (" + c.budget_type + " " + c.budget + ")";
  /** @param {string} cls @param {number} from @param {number} to */
  const part = (cls, from, to) => {
    const el = h("span", cls);
    el.style.left = (100 * from) / top + "%";
    el.style.width = (100 * Math.max(0, to - from)) / top + "%";
    return el;
  };
  return h("li", { class: "c-cost" + (c.exceeded ? " over" : "") },
    h("p", "c-sum", h("strong", {}, text), apart && [": ", h("strong", "c-apart", apart)]),
    known && h("span", { class: "c-bar", "aria-hidden": "true" },
      part("c-used", 0, Math.min(is, limit)), over > 0 && part("c-over", limit, is),
      part("c-limit", limit, limit)),
    h("p", "muted", then),
    c.unavailable && h("p", "warn-text", icon("warning"),
      "The sum has " + c.unavailable + ", which cannot be had now."));
}

/** costs shows each budget. @param {Approval} a */
function costs(a) {
  return a.costs.length > 0 && h("section", "c-part", h("h3", {}, "Cost and budget"),
    h("ul", "c-costs", a.costs.map(costOf)));
}
