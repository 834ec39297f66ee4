// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Payloads: copied, folded, and shown as a tree.

/** copyText puts a text on the clipboard, also on pages from a disk. @param {string} text */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "sr-only", readonly: true, "aria-hidden": "true" });
    area.value = text;
    const host = document.querySelector("dialog[open]") || document.body;
    const focused = document.activeElement;
    host.append(area);
    area.select();
    const ok = document.execCommand("copy");
    area.remove();
    if (focused instanceof HTMLElement) focused.focus();
    return ok;
  }
}

/** copyButton copies what text gives. @param {() => string|Promise<string>} text
 * @param {string} what @param {boolean} [wide] */
function copyButton(text, what, wide) {
  const label = h("span", { class: wide ? "" : "sr-only" }, wide ? "Copy" : "Copy " + what);
  const b = h("button", { class: wide ? "btn small" : "iconbtn small", title: "Copy " + what },
    icon("copy"), label);
  b.addEventListener("click", async (ev) => {
    ev.stopPropagation();
    const ok = await Promise.resolve(text()).then(copyText, () => false);
    b.replaceChildren(icon(ok ? "check" : "error"), label);
    announce(ok ? "Copied " + what : "The browser refused to copy " + what);
    setTimeout(() => b.replaceChildren(icon("copy"), label), 1400);
  });
  return b;
}

/** mono is an identifier in full with a copy button. @param {string|undefined} text
 * @param {string} what @param {number} [max] */
function mono(text, what, max) {
  if (!text) return h("span", "muted", "–");
  const short = max && text.length > max ? text.slice(0, max) + "…" : text;
  return h("span", "mono-copy", h("code", { title: short === text ? null : text }, short),
    copyButton(() => text, what));
}

/** announce tells people who listen to the page. @param {string} text */
function announce(text) {
  const el = document.getElementById("cg-announce");
  if (el) el.textContent = text;
}

/** empty says that there is nothing, and what to do. @param {IconName} ic @param {string} title
 * @param {Child[]} body */
function empty(ic, title, ...body) {
  return h("div", "empty", icon(ic), h("p", "empty-title", title),
    body.length > 0 && h("p", {}, ...body));
}

/** facts is a list of names and values; those without a value are left out.
 * @param {[string, Child][]} items @param {string} [cls] */
function facts(items, cls) {
  return h("dl", { class: "facts" + (cls ? " " + cls : "") },
    items.filter(([, v]) => v !== null && v !== undefined && v !== "" && v !== false)
    .map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v))));
}

/** moreButton is pressed once. @param {string} text @param {() => void} fn */
function moreButton(text, fn) {
  const b = h("button", { class: "linkbtn", onclick: () => {
    b.remove();
    fn();
  } }, text);
  return b;
}

/** overflows makes a stop of Tab out of each element that has more than its box shows, so that
 * keys can scroll it. */
const overflows = new ResizeObserver((seen) => {
  for (const { target: el } of seen) {
    if (el.scrollHeight > el.clientHeight || el.scrollWidth > el.clientWidth) el.setAttribute(
      "tabindex", "0");
    else el.removeAttribute("tabindex");
  }
});

/** scroller is an element whose box may be too small for it. @template {HTMLElement} T
 * @param {T} el @returns {T} */
function scroller(el) {
  overflows.observe(el);
  return el;
}

/** longText shows the beginning of a long text, and all of it when asked. @param {string} text
 * @param {number} [max] @param {string} [cls] */
function longText(text, max, cls) {
  const limit = max || 1200;
  const pre = scroller(h("pre", { class: "text" + (cls ? " " + cls : "") }));
  if (text.length <= limit * 1.2) {
    pre.textContent = text;
    return pre;
  }
  const box = h("div", "longtext", pre);
  pre.textContent = text.slice(0, limit) + "…";
  box.append(moreButton("Show all " + fmtInt(text.length) + " characters",
    () => (pre.textContent = text)));
  return box;
}

/** jsonTree shows a value as a tree. What is closed is made when it is opened, and long lists in
 * chunks, so that a large payload costs nothing until someone looks at it. @param {any} value
 * @param {number} [open] how many levels are open @returns {HTMLElement} */
function jsonTree(value, open) {
  return h("div", "json", jsonNode(null, value, open === undefined ? 2 : open));
}

/** @param {string|null} name @param {any} value @param {number} open @returns {HTMLElement} */
function jsonNode(name, value, open) {
  const key = name === null ? null : [h("span", "j-key", name), ": "];
  if (value === null || typeof value !== "object") return h("div", "j-leaf", key, jsonLeaf(value));
  const list = Array.isArray(value);
  const entries = list ? value.map((v) => /** @type {[string|null, any]} */ ([null, v]))
    : Object.entries(value);
  if (entries.length === 0) return h("div", "j-leaf", key,
    h("span", "j-punct", list ? "[]" : "{}"));
  const body = h("div", "j-body");
  let shown = 0;
  const more = () => {
    const until = Math.min(entries.length, shown + 100);
    for (; shown < until; shown++) body.append(jsonNode(entries[shown][0], entries[shown][1],
      open - 1));
    if (shown < entries.length) body.append(moreButton(plural(entries.length - shown, "more value"),
      more));
  };
  const hint = list ? "[" + entries.length + "]" : "{" + clip(entries.map(([k]) => k).join(", "),
    60) + "}";
  const d = h("details", "j-node", h("summary", {}, key, h("span", "j-punct", hint)), body);
  d.addEventListener("toggle", () => {
    if (d.open && shown === 0) more();
  });
  if (open > 0) {
    more();
    d.open = true;
  }
  return d;
}

/** @param {any} v @returns {HTMLElement} */
function jsonLeaf(v) {
  if (typeof v === "string") {
    if (v.length > 600) return h("div", "j-long", longText(v, 500, "j-str"));
    return h("span", "j-str", v.includes("\n") ? v : JSON.stringify(v));
  }
  return h("span", (v === null && "j-null") || (typeof v === "boolean" ? "j-bool" : "j-num"),
    String(v));
}

/** details opens when its title is pressed. @param {Props} props @param {Child} title
 * @param {Child[]} body */
function details(props, title, ...body) {
  return h("details", props, h("summary", {}, icon("chevron"), title), body);
}

/** payloads are what a row holds, but for its names. @param {Row} row @param {number} open how
 * many levels are open */
function payloads(row, open) {
  return [payload("Content", row.content, 3), Array.isArray(row.content_parts)
    && row.content_parts.length > 0 && payload("Content parts", row.content_parts, open),
    payload("Attributes", row.attributes, open), payload("Latency", row.latency_ms, open)];
}

/** waiting stands for payloads until they are there; then show is called. @param {App} app
 * @param {number[]} rows @param {() => void} show */
function waiting(app, rows, show) {
  const el = h("p", { class: "muted", role: "status" }, "Reading the payload…");
  app.load(rows).then(show, (err) =>
    (el.textContent = "The payload could not be read: " + said(err)));
  return el;
}

/** errorBox shows what an error says. @param {string} text @param {number} max how much of it at
 * first */
function errorBox(text, max) {
  return h("div", "callout bad", icon("error"), longText(text, max));
}

/** payload is a value as a tree with a copy button, and a title. @param {string} title
 * @param {any} value @param {number} [open] */
function payload(title, value, open) {
  if (value === null || value === undefined) return null;
  const body = typeof value === "string" ? longText(value) : jsonTree(value, open);
  return h("section", "payload", h("div", "payload-head", h("h3", {}, title),
    copyButton(() => pretty(value), title.toLowerCase())), body);
}
