// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Controls that several parts of the page have: to press, to search, to filter, to choose.

/** iconButton is a button that shows no text. @param {IconName} ic @param {string} title
 * @param {() => void} fn @param {string} [name] for a screen reader, if it is another one */
function iconButton(ic, title, fn, name) {
  return h("button", { class: "iconbtn", title, onclick: fn }, icon(ic),
    h("span", "sr-only", name || title));
}

/** smallButton @param {Child} text @param {() => void} fn @param {string} [title] */
function smallButton(text, fn, title) {
  return h("button", { class: "btn small", title, onclick: fn }, text);
}

/** linkButton looks like a link. @param {Child} text @param {() => void} onclick */
function linkButton(text, onclick) {
  return h("button", { class: "linkbtn", onclick }, text);
}

/** segments are buttons side by side. @param {string} label @param {Child[]} buttons */
function segments(label, ...buttons) {
  return h("div", { class: "seg", role: "group", "aria-label": label }, buttons);
}

/** barOf stands above a drawing or a time axis. @param {string} label */
function barOf(label) {
  return h("div", { class: "gv-bar no-print", role: "toolbar", "aria-label": label });
}

/** searchBox is a field to search in, with what stands behind it. It calls fn when nobody has
 * typed for a while. @param {Record<string, any>} props with the label as aria-label
 * @param {number} wait in milliseconds @param {(input: HTMLInputElement) => void} fn
 * @param {Child[]} more */
function searchBox(props, wait, fn, ...more) {
  const input = h("input", { type: "search", placeholder: props["aria-label"], autocomplete: "off",
    spellcheck: "false", ...props });
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => fn(input), wait);
  });
  return { input, box: h("div", "searchbox", icon("search"), input, ...more) };
}

/** filterChip is a filter that is pressed or not. @param {IconName} ic @param {Child} label
 * @param {string} tone @param {(on: boolean) => void} fn */
function filterChip(ic, label, tone, fn) {
  const b = h("button", { class: "chip filter" + (tone ? " tone-" + tone : ""),
    "aria-pressed": "false" }, icon(ic), label);
  b.addEventListener("click", () => {
    const on = b.getAttribute("aria-pressed") !== "true";
    b.setAttribute("aria-pressed", String(on));
    fn(on);
  });
  return b;
}

/** toggled is a list with a value, or without it. @template T @param {T[]} list @param {T} value
 * @param {boolean} on */
function toggled(list, value, on) {
  return on ? [...list, value] : list.filter((x) => x !== value);
}

/** selectBox offers values, and calls fn with the chosen one. @param {string} label
 * @param {[value: string, text: string][]} list @param {(value: string) => void} fn */
function selectBox(label, list, fn) {
  const el = h("select", { "aria-label": label }, options(list));
  el.addEventListener("change", () => fn(el.value));
  return el;
}

/** options are what a select offers. @param {[value: string, text: string][]} list */
function options(list) {
  return list.map(([value, text]) => h("option", { value }, text));
}
