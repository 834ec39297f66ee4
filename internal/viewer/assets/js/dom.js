// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// What all views share: making elements, events, and lists that grow. All texts of a record
// become text nodes.

/**
 * fill sets attributes and appends children. A prop "on<event>" is a listener, "class" the
 * class, "data" an object of data attributes; true is an attribute without a value; null,
 * undefined and false leave it out. There is no way to give it markup.
 * @param {Element} el
 * @param {Props} props
 * @param {Child[]} children
 */
function fill(el, props, children) {
  for (const [k, v] of Object.entries(typeof props === "string" ? { class: props } : props || {})) {
    if (v === null || v === undefined || v === false) continue;
    if (k.startsWith("on") && typeof v === "function") el.addEventListener(k.slice(2), v);
    else if (k === "data") for (const [d, t] of Object.entries(v)) el.setAttribute("data-" + d, String(t));
    else if (k === "style") throw new Error("set styles from script: " + k);
    else el.setAttribute(k, v === true ? "" : String(v));
  }
  append(el, children);
}

/** @param {Element|DocumentFragment} el @param {Child} child */
function append(el, child) {
  if (Array.isArray(child)) for (const c of child) append(el, c);
  else if (child !== null && child !== undefined && typeof child !== "boolean") el.append(child instanceof Node ? child : String(child));
}

/**
 * h makes an HTML element. A button is one that sends nothing unless its type says so.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Props} [props]
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
function h(tag, props, ...children) {
  const el = document.createElement(tag);
  if (el instanceof HTMLButtonElement) el.type = "button";
  fill(el, props, children);
  return el;
}

/**
 * svg makes an SVG element.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Props} [props]
 * @param {Child[]} children
 * @returns {SVGElementTagNameMap[K]}
 */
function svg(tag, props, ...children) {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(el, props, children);
  return el;
}

/** @param {Element} el @param {Child[]} children */
function replace(el, ...children) {
  el.replaceChildren();
  append(el, children);
}

/**
 * keepPlace draws something again and leaves the reader where they were: how far they had
 * scrolled, what was open, and where the focus stood.
 * @param {HTMLElement} root
 * @param {() => void} draw
 */
function keepPlace(root, draw) {
  const top = root.scrollTop;
  const open = [...root.querySelectorAll("details")].map((d) => d.open);
  const focused = root.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement) : null;
  const stops = () => /** @type {HTMLElement[]} */ ([...root.querySelectorAll("a, button, input, select, summary, [tabindex]")]);
  const at = focused ? stops().indexOf(focused) : -1;
  draw();
  const now = root.querySelectorAll("details");
  if (now.length === open.length) now.forEach((d, i) => (d.open = open[i]));
  // An element that was put back is the one; else the one at its place.
  if (focused) (root.contains(focused) ? focused : stops()[at])?.focus({ preventScroll: true });
  root.scrollTop = top;
}

/**
 * onPrint calls one function before the page is printed, and another afterwards.
 * @param {() => void} before @param {() => void} after @returns {() => void} ends that
 */
function onPrint(before, after) {
  window.addEventListener("beforeprint", before);
  window.addEventListener("afterprint", after);
  return () => {
    window.removeEventListener("beforeprint", before);
    window.removeEventListener("afterprint", after);
  };
}

/** groupBy keeps the order of the items. @template T, K @param {T[]} items @param {(item: T) => K} key @returns {Map<K, T[]>} */
function groupBy(items, key) {
  /** @type {Map<K, T[]>} */
  const groups = new Map();
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
    /** @type {Map<string, Set<(arg: any) => void>>} */
    this.listeners = new Map();
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

/**
 * chunked fills a container with the elements of many items, some at a time, with a button
 * for more that presses itself when it is scrolled to, and one for what is before the first.
 * @template T
 * @param {HTMLElement} root
 * @param {T[]} items
 * @param {(item: T, index: number) => Child} make
 * @param {number} [size]
 * @param {number} [from] the first that is made
 * @returns {{until: (index: number) => void, near: (index: number) => boolean}} until makes
 * everything up to an index; near says whether that is little to make
 */
function chunked(root, items, make, size, from) {
  const step = size || 100;
  let first = Math.min(from || 0, items.length);
  let shown = first;
  const hold = (/** @type {HTMLElement} */ b) => {
    if (root.tagName === "TBODY") return h("tr", {}, h("td", { colspan: 20 }, b));
    return ["UL", "OL"].includes(root.tagName) ? h("li", {}, b) : b;
  };
  /** @param {number} a @param {number} b */
  const made = (a, b) => {
    const part = document.createDocumentFragment();
    for (let i = a; i < b; i++) append(part, make(items[i], i));
    return part;
  };
  const later = h("button", { class: "btn more", onclick: () => add(step) });
  const holder = hold(later);
  const seen = new IntersectionObserver((es) => {
    if (es.some((e) => e.isIntersecting)) add(step);
  }, { rootMargin: "300px" });
  /** @param {number} n */
  function add(n) {
    seen.unobserve(later);
    holder.remove();
    const until = Math.min(items.length, shown + n);
    root.append(made(shown, until));
    shown = until;
    if (shown === items.length) return;
    later.textContent = "Show more (" + fmtInt(items.length - shown) + " left)";
    root.append(holder);
    seen.observe(later);
  }
  if (first > 0) {
    const earlier = h("button", { class: "btn more", onclick: () => {
      const start = Math.max(0, first - step);
      above.after(made(start, first));
      first = start;
      label();
    } });
    const above = hold(earlier);
    const label = () => {
      if (first === 0) above.remove();
      else earlier.textContent = "Show earlier (" + fmtInt(first) + ")";
    };
    label();
    root.append(above);
  }
  add(step);
  return { until: (i) => i >= shown && add(i - shown + 1), near: (i) => i >= first && i < shown + 3 * step };
}
