// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// What the tests ask the page with. It runs before the scripts of the page.
(() => {
  const t = {};
  Object.defineProperty(window, "__t", { value: t });

  // Texts are compared without regard to how they are broken into lines.
  t.plain = (s) => s.replace(/\s+/g, " ").trim();
  t.seen = (el) => {
    const r = el.getBoundingClientRect();
    return r.width > 0 && r.height > 0 && el.checkVisibility({ visibilityProperty: true });
  };
  t.all = (sel, text) => [...document.querySelectorAll(sel)].filter((el) => t.seen(el) && (!text || t.plain(el.textContent + " " + (el.getAttribute("aria-label") || "")).includes(text)));
  t.text = (sel) => t.all(sel).map((el) => t.plain(el.innerText === undefined ? el.textContent : el.innerText)).join("\n");
  t.point = (sel, text) => {
    for (const el of t.all(sel, text)) {
      if (el instanceof HTMLElement) el.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
      const shape = el.querySelector(".gn-shape, .tn-box") || el;
      const r = shape.getBoundingClientRect();
      const at = [r.x + Math.min(r.width / 2, 60), r.y + r.height / 2];
      const hit = document.elementFromPoint(at[0], at[1]);
      if (hit && (el.contains(hit) || hit.contains(el))) return at;
    }
    return null;
  };
  t.until = async (fn, ms) => {
    for (const end = performance.now() + ms; performance.now() < end; await new Promise((r) => setTimeout(r, 15))) if (await fn()) return true;
    return false;
  };
  // frame waits until what was done is on the screen.
  t.frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r)));

  // steady is a point once it stays where it is: a page that is being drawn still moves.
  t.steady = async (sel, text) => {
    const was = t.point(sel, text);
    await t.frame();
    const now = t.point(sel, text);
    return was && now && Math.abs(was[0] - now[0]) + Math.abs(was[1] - now[1]) < 1 ? now : null;
  };

  // The page never makes any of these, and only so many of the others.
  const never = ["img", "iframe", "frame", "object", "embed", "video", "audio", "source", "base", "foreignobject", "math", "mi", "animate", "animatetransform", "set", "use", "image", "feimage", "applet", "marquee", "template", "portal"];
  const counts = { script: 2, style: 1, link: 1, meta: 5, form: 1, title: Infinity };
  const made = new Set();
  new MutationObserver((list) => {
    for (const m of list) {
      for (const n of m.addedNodes) {
        if (!(n instanceof Element)) continue;
        for (const el of [n, ...n.querySelectorAll("*")]) {
          const name = el.localName.toLowerCase();
          if (never.includes(name)) made.add("the page made a <" + name + ">: " + el.outerHTML.slice(0, 200));
        }
      }
    }
  }).observe(document, { childList: true, subtree: true });
  addEventListener("securitypolicyviolation", (e) => made.add("the policy was broken: " + e.violatedDirective + " " + e.blockedURI));
  for (const name of ["alert", "confirm", "prompt", "open"]) window[name] = () => made.add("the page called " + name);

  t.foreign = () => {
    const out = [...made];
    for (const [name, most] of Object.entries(counts)) {
      const n = document.getElementsByTagName(name).length;
      if (n > most) out.push(n + " <" + name + ">, more than " + most);
    }
    for (const el of document.querySelectorAll("*")) {
      for (const a of el.attributes) {
        const v = a.value.replace(/[\s\u0000-\u001f]/g, "").toLowerCase();
        if (a.name.toLowerCase().startsWith("on")) out.push("a handler in markup: " + el.localName + " " + a.name);
        if (["href", "xlink:href", "src", "action", "formaction", "srcdoc", "background", "poster", "ping"].includes(a.name.toLowerCase()) && !(v.startsWith("#") || (el.localName === "link" && v.startsWith("data:image/svg+xml,")))) out.push("an address: " + el.localName + " " + a.name + "=" + a.value.slice(0, 100));
      }
    }
    if (window.__xss !== undefined) out.push("a script of a record ran: " + window.__xss);
    if (({}).polluted !== undefined || Object.prototype.hasOwnProperty.call(Object.prototype, "isAdmin")) out.push("the prototype of all objects was changed");
    return out;
  };
})();
