// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// What stands around the views: the top bar, the head of a session, keys and help.

/** @param {App} app */
function buildTop(app) {
  const page = app.page;
  const logo = svg("svg", { class: "logo", viewBox: "0 0 20 20", "aria-hidden": "true" },
    svg("path", { d: "M5.5 5.5 14.5 10 5.5 14.5" }), svg("circle", { cx: 5, cy: 5, r: 2.5 }),
    svg("circle", { cx: 15, cy: 10, r: 2.5 }), svg("circle", { cx: 5, cy: 15, r: 2.5 }));
  const narrow = window.matchMedia("(max-width: 860px)");
  const toggle = iconButton("panel", "Sessions",
    () => setNav(document.body.classList.contains("nav-closed")));
  toggle.setAttribute("aria-controls", "cg-nav");
  /** @param {boolean} on */ const setNav = (on) => {
    document.body.classList.toggle("nav-closed", !on);
    toggle.setAttribute("aria-expanded", String(on));
  };
  setNav(!narrow.matches && (page.live || page.list.length !== 1));
  // Where it is narrow, the list lies over the session: it goes when one is chosen, and stays
  // when the one that is shown has new rows.
  let shown = "";
  app.on("session", () => {
    const key = JSON.stringify(app.key);
    if (narrow.matches && key !== shown) setNav(false);
    shown = key;
  });
  narrow.addEventListener("change", () => {
    if (narrow.matches) setNav(false);
  });

  const about = h("p", "about");
  if (page.live) {
    const state = h("span", {}, "Live");
    append(about, [sourceName(page.source, ""),
      h("span", "live", h("span", { class: "dot", "aria-hidden": "true" }), state),
      h("span", {}, page.decisions ? "approvals can be answered here" : "read only")]);
    app.data.events.on("online", (on) => {
      about.classList.toggle("offline", !on);
      state.textContent = on ? "Live" : "No connection, trying again";
    });
  } else {
    append(about, [sourceName(page.source, plural(page.list.length, "session") + " of "),
      h("span", {}, "written ", timeEl(page.generated), " " + zone()), h("span", {}, "read only"),
      h("span", page.complete ? "note-text" : "note-text partial",
        page.note || (page.complete ? "all of its sessions" : "not all of its sessions"))]);
  }
  about.title = [page.source, page.note].filter(Boolean).join(". ");

  const theme = h("button", "iconbtn");
  /** What each theme looks like, and which one comes after it.
   * @type {Record<string, [ic: IconName, text: string, next: string]>} */
  const themes = {
    auto: ["auto", "as the system", "light"],
    light: ["sun", "light", "dark"],
    dark: ["moon", "dark", "auto"],
  };
  const drawTheme = () => {
    const [ic, text] = themes[app.theme] || themes.auto;
    theme.title = "Colours: " + text;
    replace(theme, icon(ic), h("span", "sr-only", theme.title));
  };
  theme.addEventListener("click", () => {
    app.setTheme((themes[app.theme] || themes.auto)[2]);
    drawTheme();
    announce(theme.title);
  });
  drawTheme();
  const tz = h("button", { class: "btn quiet small", title: "Show times in UTC or in local time" },
    clockSettings.utc ? "UTC" : "Local");
  tz.addEventListener("click", () => {
    clockSettings.utc = !clockSettings.utc;
    remember("zone", clockSettings.utc ? "utc" : "local");
    tz.textContent = clockSettings.utc ? "UTC" : "Local";
    app.refresh();
  });
  const help = iconButton("keyboard", "Keys and symbols (?)", () => showHelp(app),
    "Keys and symbols");
  const print = iconButton("print", "Print this view", () => window.print());
  replace(byId("cg-top"), toggle, logo, h("span", "brand", "contextgraph"), about,
    h("div", "top-actions", app.desk.offersInbox() && inboxLink(app), tz, print, theme, help));
}

/** sourceName names a source by its file, without the way to it. @param {string} source
 * @param {string} before */
function sourceName(source, before) {
  const at = source.lastIndexOf(" ") + 1;
  return h("strong", { title: source }, h("span", {}, before + source.slice(0, at)),
    source.slice(at).split("/").pop());
}

/** @param {HTMLElement} root @param {App} app */
function renderHeader(root, app) {
  const s = app.session;
  if (!s) {
    replace(root, h("div", "head-line", h("h1", {}, app.key ? app.key.id : "contextgraph")));
    return;
  }
  const title = s.title || s.session.id, agents = s.agents.join(", "),
    about = "Facts about the session";
  const toggle = () => {
    root.classList.toggle("open", app.headOpen);
    fold.setAttribute("aria-expanded", String(app.headOpen));
  };
  // Where it is narrow, the facts are behind a button.
  const fold = h("button", { class: "iconbtn small head-more", title: about, onclick: () => {
    app.headOpen = !app.headOpen;
    toggle();
  } }, icon("chevron"), h("span", "sr-only", about));
  toggle();
  const models = s.models.length > 0 ? "; " + s.models.join(", ") : "";
  const count = s.problems.reduce((n, p) => n + (p.count || 1), 0);
  replace(root,
    h("div", "head-line", h("h1", { title }, title), chip(s.status), fold, copyLink()),
    facts([
      ["Session", mono(s.session.id, "session id", 40)],
      ["User", s.session.user],
      ["App", s.session.app],
      ["Agents", h("span", { title: agents }, clip(agents, 48))],
      ["Started", agoEl(s.start)],
      ["Duration", fmtDuration(millis(s.end) - millis(s.start))],
      ["Turns", String(s.turns)],
      ["Tokens", h("span", { title: tokensOf(s.tokens) + models }, fmtInt(s.tokens.total))],
      ["Waited for people", s.approvals.length > 0 && fmtDuration(s.waited_ms)],
      ["Rows with an error", s.errors > 0 && h("span", "bad-text", icon("error"),
        fmtInt(s.errors))],
    ], "line"),
    s.left.map((l) => h("p", "left-note", h("span", "left-mark"), h("span", {}, leftBy(l),
      ": what is grey does not count for what came after."))),
    s.problems.length > 0 && h("details", "problems",
      h("summary", {}, icon("warning"),
        h("strong", {}, "The record has " + plural(count, "problem")),
        h("span", "muted", clip(s.problems.map((p) => words(p.kind)).join(", "), 80))),
      h("ul", {}, s.problems.map((p) => h("li", {}, h("strong", {}, sentence(p.kind)),
        p.count > 1 && " (" + p.count + ")", ": " + p.detail,
        (p.rows || []).slice(0, 20).map((r) => [" ", rowLink(app, r)]))))));
}

/** foldHead folds the head of the session while a panel is scrolled, where the style wants that.
 * @param {HTMLElement} panel */
function foldHead(panel) {
  const low = panel.scrollTop > 24;
  // A panel that is little longer than the screen would jump.
  if (!low || panel.scrollHeight - panel.clientHeight > 240) document.body.classList.toggle(
    "scrolled", low);
}

/** hintAtMore marks on which side there are more tabs than are seen. @param {HTMLElement} tabs */
function hintAtMore(tabs) {
  const look = () => {
    tabs.classList.toggle("more-left", tabs.scrollLeft > 4);
    tabs.classList.toggle("more-right", tabs.scrollLeft + tabs.clientWidth < tabs.scrollWidth - 4);
  };
  tabs.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(tabs);
}

/** copyLink copies the address of what is shown. */
function copyLink() {
  const b = copyButton(() => location.href, "link to what is shown");
  b.querySelector("svg")?.replaceWith(icon("link"));
  return b;
}

/** shortcuts are keys for the whole page. @param {App} app @param {KeyboardEvent} ev */
function shortcuts(app, ev) {
  if (ev.ctrlKey || ev.metaKey || ev.altKey || ev.defaultPrevented) return;
  const t = /** @type {HTMLElement} */ (ev.target);
  const typing = t instanceof HTMLElement
    && (t.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(t.tagName));
  if (document.querySelector("dialog[open]")) return;
  if (ev.key === "Escape") {
    if (typing) t.blur();
    else if (app.selected) app.select(null);
    else if (app.whyIndex !== null) app.why(null);
    return;
  }
  if (typing) return;
  const n = Number(ev.key), tabs = tabbed();
  if (app.views.get(app.viewId)?.view?.key?.(ev)) return ev.preventDefault();
  if (ev.key === "/") app.list?.focusSearch();
  else if (ev.key === "i" && app.desk.offersInbox()) app.navigate("#v=inbox");
  else if (ev.key === "j") app.list?.step(1);
  else if (ev.key === "k") app.list?.step(-1);
  else if (ev.key === "?") showHelp(app);
  else if (n >= 1 && n <= tabs.length && app.key) app.go(tabs[n - 1].id);
  else return;
  ev.preventDefault();
}

/** showHelp shows keys and symbols in a dialog; Esc and the close button end it.
 * @param {App} app */
function showHelp(app) {
  /** @type {[string, string][]} */ const keys = [
    ["/", "Search sessions"],
    ["i", "Inbox: all requests that wait for people"],
    ["j  k", "Next, previous session; in the inbox, request"],
    ["1 – " + tabbed().length, tabbed().map((v) => v.title).join(", ")],
    ["← →", "In the tabs: next view"],
    ["↑ ↓", "In Timeline and Trajectory: the step above, the step below"],
    ["Enter", "On a node or a row: its details"],
    ["Esc", "Close the details, then leave “why”"],
    ["?", "This help"],
  ];
  const types = [...typeLooks.values()];
  const about = types.length === 0 ? "This page has met none."
    : "Each type has two letters of its own. Product, Targeting, Budget and Campaign have their "
      + "colours; others have one in the order in which the page met them. After " + TYPE_COLOURS
      + " types the colours come again.";
  /** @param {string} title @param {Child[]} body */
  const section = (title, ...body) => h("section", {}, h("h3", {}, title), body);
  /** @param {string} cls @param {Child[][]} lines */
  const list = (cls, lines) => h("ul", cls, lines.map((x) => h("li", {}, x)));
  const statuses = Object.keys(STATUSES).filter((s) => s !== "none");
  const d = h("dialog", { class: "dialog", "aria-labelledby": "cg-dialog-title" });
  append(d, [
    h("div", "dialog-head", h("h2", { id: "cg-dialog-title" }, "Keys and symbols"),
      iconButton("close", "Close (Esc)", () => d.close(), "Close")),
    h("div", "dialog-body", h("div", "help",
      section("Keys", plainTable(keys.map(([k, t]) =>
        [k.split("  ").map((x) => [h("kbd", {}, x), " "]), t]))),
      section("Where an approval stands", list("legend",
        statuses.map((s) => [chip(s), h("span", {}, wordOf("status", s).says)]))),
      section("Steps", list("legend cols", Object.keys(CLASSES).map((k) => [kindMark(k)]))),
      section("Business entities", list("legend cols", types.map((t) =>
        [h("span", "kind entity " + t.cls, typeMark(t.name), t.name)])), h("p", "muted", about))),
      h("p", "muted", ["contextgraph " + (app.page.version || ""), app.page.note].filter(Boolean)
        .join(" · "))),
  ]);
  d.addEventListener("close", () => d.remove());
  d.addEventListener("click", (ev) => {
    if (ev.target === d) d.close();
  });
  document.body.append(d);
  d.showModal();
}
