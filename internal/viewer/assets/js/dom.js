// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// What all views share: making elements, events, and lists that grow. All texts of a record
// become text nodes.

/** fill sets attributes and appends children. A prop "on<event>" is a listener, "class" the
 * class, "data" an object of data attributes; true is an attribute without a value; null,
 * undefined and false leave it out. There is no way to give it markup. @param {Element} el
 * @param {Props} props @param {Child[]} children */
function fill(el, props, children) {
  const all = typeof props === "string" ? { class: props } : props || {};
  for (const [k, v] of Object.entries(all)) {
    if (v === null || v === undefined || v === false) continue;
    if (typeof v === "function") el.addEventListener(k.slice(2), v);
    else if (k === "data") {
      for (const [d, t] of Object.entries(v)) el.setAttribute("data-" + d, String(t));
    } else if (k === "style") throw new Error("set styles from script: " + k);
    else el.setAttribute(k, v === true ? "" : String(v));
  }
  append(el, children);
}

/** @param {Element|DocumentFragment} el @param {Child} child */
function append(el, child) {
  if (Array.isArray(child)) for (const c of child) append(el, c);
  else if (child !== null && child !== undefined && typeof child !== "boolean") el.append(
    child instanceof Node ? child : String(child));
}

/** h makes an HTML element. A button is one that sends nothing unless its type says so.
 * @template {keyof HTMLElementTagNameMap} K @param {K} tag @param {Props} [props]
 * @param {Child[]} children */
function h(tag, props, ...children) {
  const el = document.createElement(tag);
  if (el instanceof HTMLButtonElement) el.type = "button";
  fill(el, props, children);
  return el;
}

/** svg makes an SVG element. @template {keyof SVGElementTagNameMap} K @param {K} tag
 * @param {Props} [props] @param {Child[]} children */
function svg(tag, props, ...children) {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(el, props, children);
  return el;
}

/** sure is what must be there. @template T @param {T|null|undefined} x */
function sure(x) {
  if (x === null || x === undefined) throw new Error("something that must be there is missing");
  return x;
}

/** @param {Element} el @param {Child[]} children */
function replace(el, ...children) {
  el.replaceChildren();
  append(el, children);
}

/** keepPlace draws something again and leaves the reader where they were: how far they had
 * scrolled, what was open, and where the focus stood. @param {HTMLElement} root
 * @param {() => void} draw */
function keepPlace(root, draw) {
  const top = root.scrollTop;
  const open = [...root.querySelectorAll("details")].map((d) => d.open);
  const active = /** @type {HTMLElement} */ (document.activeElement);
  const focused = root.contains(active) ? active : null;
  const list = "a, button, input, select, summary, [tabindex]";
  const stops = () => /** @type {HTMLElement[]} */ ([...root.querySelectorAll(list)]);
  const at = focused ? stops().indexOf(focused) : -1;
  draw();
  const now = root.querySelectorAll("details");
  if (now.length === open.length) now.forEach((d, i) => (d.open = open[i]));
  // An element that was put back is the one; else the one at its place.
  if (focused) (root.contains(focused) ? focused : stops()[at])?.focus({ preventScroll: true });
  root.scrollTop = top;
}

/** onPrint calls one function before the page is printed, and another afterwards.
 * @param {() => void} before @param {() => void} after @returns {() => void} ends that */
function onPrint(before, after) {
  window.addEventListener("beforeprint", before);
  window.addEventListener("afterprint", after);
  return () => {
    window.removeEventListener("beforeprint", before);
    window.removeEventListener("afterprint", after);
  };
}

/** groupBy keeps the order of the items. @template T, K @param {T[]} items
 * @param {(item: T) => K} key */
function groupBy(items, key) {
  /** @type {Map<K, T[]>} */ const groups = new Map();
  for (const x of items) {
    const k = key(x), group = groups.get(k);
    if (group) group.push(x);
    else groups.set(k, [x]);
  }
  return groups;
}

/** Emitter calls listeners by name. */
class Emitter {
  constructor() {
    /** @type {Map<string, Set<(arg: any) => void>>} */ this.listeners = new Map();
  }

  /** @param {string} name @param {(arg: any) => void} fn @returns {() => void} unsubscribes */
  on(name, fn) {
    const set = this.listeners.get(name) || new Set();
    this.listeners.set(name, set.add(fn));
    return () => void set.delete(fn);
  }

  /** @param {string} name @param {any} [arg] */
  emit(name, arg) {
    for (const fn of [...(this.listeners.get(name) || [])]) fn(arg);
  }
}

/** chunked fills a container with the elements of many items, some at a time, with a button for
 * more that presses itself when it is scrolled to, and one for what is before the first.
 * @template T @param {HTMLElement} root @param {T[]} items
 * @param {(item: T, index: number) => Child} make @param {number} [step] @param {number} [from]
 * the first that is made
 * @returns {{until: (index: number) => void, near: (index: number) => boolean}} until makes
 * everything up to an index; near says whether that is little to make */
function chunked(root, items, make, step = 100, from = 0) {
  let first = Math.min(from, items.length), shown = first;
  /** @param {number} a @param {number} b */ const made = (a, b) => {
    const part = document.createDocumentFragment();
    for (let i = a; i < b; i++) append(part, make(items[i], i));
    return part;
  };
  /** more is a button in what the container may hold. @param {() => void} onclick */
  const more = (onclick) => {
    const button = h("button", { class: "btn more", onclick });
    if (root.tagName === "TBODY") return {
      button, box: h("tr", {}, h("td", { colspan: 20 }, button)) };
    return { button, box: ["UL", "OL"].includes(root.tagName) ? h("li", {}, button) : button };
  };
  const later = more(() => add(step));
  const seen = new IntersectionObserver((es) => {
    if (es.some((e) => e.isIntersecting)) add(step);
  }, { rootMargin: "300px" });
  /** @param {number} n */
  function add(n) {
    seen.unobserve(later.button);
    later.box.remove();
    const until = Math.min(items.length, shown + n);
    root.append(made(shown, until));
    shown = until;
    if (shown === items.length) return;
    later.button.textContent = "Show more (" + fmtInt(items.length - shown) + " left)";
    root.append(later.box);
    seen.observe(later.button);
  }
  const earlier = more(() => {
    const start = Math.max(0, first - step);
    earlier.box.after(made(start, first));
    first = start;
    label();
  });
  const label = () => {
    earlier.button.textContent = "Show earlier (" + fmtInt(first) + ")";
    if (first === 0) earlier.box.remove();
  };
  root.append(earlier.box);
  label();
  add(step);
  return {
    until: (i) => i >= shown && add(i - shown + 1),
    near: (i) => i >= first && i < shown + 3 * step,
  };
}
