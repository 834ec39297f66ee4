// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The inbox: the requests of all sessions that wait for people, in the order of the server.

/** @type {ViewSpec} */
const inboxView = {
  id: "inbox",
  title: "Inbox",
  everywhere: true,
  mount(root, app) {
    const box = h("div", "inbox");
    replace(root, box);
    const links = () => /** @type {HTMLAnchorElement[]} */ ([...box.querySelectorAll("a.in-open")])
      .filter((l) => !l.closest("details:not([open])"));
    /** @param {InboxItem[]} items */
    const list = (items) => h("ul", "in-list", items.map((i) => h("li", {}, inboxItem(app, i))));

    function draw() {
      const items = app.desk.answerable(), vain = app.desk.inbox.filter((i) => i.hopeless);
      const title = items.length === 0 ? "Inbox"
        : plural(items.length, "request waits for a person", "requests wait for people");
      const order = "The riskiest first, then the oldest.";
      const live = app.page.live;
      replace(box,
        h("header", "in-head", h("h1", {}, title),
          h("p", "muted", live ? "All sessions. " + order : [
            "As it was ", agoEl(app.page.generated), ", when this file was written. ", order])),
        app.desk.inboxError && h("p", "callout bad", icon("error"), "The inbox could not be read: "
          + app.desk.inboxError),
        items.length > 0 && list(items),
        items.length === 0 && !app.desk.inboxError && empty("inbox", "Nobody is waiting for you",
          live ? "A request appears here by itself as soon as an agent asks a person."
            : "No request of these sessions waited for a person when this file was written."),
        vain.length > 0 && details("in-rest", plural(vain.length, "request that no yes can let run",
          "requests that no yes can let run"), list(vain)));
    }
    const again = () => !root.hidden && keepPlace(root, draw);
    const offs = [app.on("inbox", again), app.on("desk", again)];
    return {
      // The view is shown again without another session.
      show() {},
      select: draw,
      key(ev) {
        const by = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[ev.key];
        if (!by) return false;
        const all = links();
        const item = document.activeElement && document.activeElement.closest(".in-item");
        const at = all.findIndex((l) => l.closest(".in-item") === item);
        const next = all[Math.max(0, Math.min(all.length - 1, at + by))];
        next?.focus();
        next?.closest("li")?.scrollIntoView({ block: "nearest" });
        return !!next;
      },
      destroy() {
        for (const off of offs) off();
        root.replaceChildren();
      },
    };
  },
};

/** inboxItem is a request. @param {App} app @param {InboxItem} i */
function inboxItem(app, i) {
  const desk = app.desk;
  const f = desk.findings.get(i.approval_id), error = desk.errors.get(i.approval_id),
    busy = desk.busy.has(i.approval_id);
  const look = i.known ? foundOf(i.known) : outcomeOf("");
  const need = Math.max(1, i.approvers || 0);
  const yesno = i.kind === "confirmation";
  const what = i.action || i.tool || i.kind;
  return h("article", { class: "in-item edge-" + look.tone },
    h("div", "in-main",
      h("p", "in-state", yesno ? mark(look) : badge(i.kind, "idle", "message"),
        !Number.isNaN(millis(i.known_at)) && h("span", "muted", "checked ", agoEl(i.known_at)),
        !i.enforced && yesno && badge("observed only", "wait", "info"), countdownEl(i.expires_at)),
      h("h2", {}, h("a", { class: "in-open", href: "#s=" + sessionPath(i.session)
        + "&v=approvals&request=" + encodeURIComponent(i.confirmation_id || i.approval_id) },
        marked(what, i.tool))),
      !i.hopeless && i.findings.length > 0
        && h("ul", "in-changes", i.findings.slice(0, 4)
        .map((c) => h("li", {}, icon(c.effect === "fail" ? "shieldx" : "drift"), c.text)),
        i.findings.length > 4 && h("li", "muted", "and " + (i.findings.length - 4) + " more")),
      i.hopeless && h("p", "bad-text in-vain", icon("error"), i.hopeless),
      error && h("p", "bad-text", icon("error"), "It could not be checked: " + error),
      i.warnings.length > 0 && h("ul", "in-warnings",
        i.warnings.map((w) => h("li", {}, icon("warning"), w))),
      h("p", "in-meta", h("span", "in-title", i.title || i.session.id),
        h("span", {}, "asked ", agoEl(i.requested_at), i.agent && " by " + i.agent),
        yesno && h("span", {}, i.consents.length + " of " + need + " approved"
        + (i.consents.length > 0 ? ": " + i.consents.join(", ") : "")))),
    app.page.checks && yesno && i.approval_id
      && h("button", { class: "btn", "aria-disabled": String(busy),
      "aria-label": (f ? "Check again: " : "Check now: ") + clip(what, 80), onclick: () =>
      desk.check(i.session, i.approval_id) }, checkLabel(busy, !!f)));
}

/** inboxLink stands in the top bar with the number of requests, also where the page is not in
 * front. @param {App} app */
function inboxLink(app) {
  const count = h("span", "in-count");
  const link = h("a", { class: "inbox-link", href: "#v=inbox", title: "Inbox (i)" }, icon("inbox"),
    h("span", "in-word", "Inbox"), count);
  app.on("inbox", () => {
    const n = app.desk.answerable().length;
    count.hidden = n === 0;
    replace(count, String(n), h("span", "sr-only", n === 1 ? " request waits" : " requests wait"));
    app.drawTitle();
    drawIcon(n);
  });
  return link;
}

/** drawIcon puts a number on the icon of the page. @param {number} n */
function drawIcon(n) {
  const el = /** @type {HTMLLinkElement|null} */ (document.querySelector("link[rel=icon]"));
  if (!el) return;
  el.dataset.plain = el.dataset.plain || el.getAttribute("href") || "";
  const text = n > 99 ? "99" : String(n);
  const drawing = svg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: "0 0 16 16" },
    svg("rect", { width: 16, height: 16, rx: 4, fill: "#b3261e" }),
    svg("text", { x: 8, y: 12, fill: "#fff", "font-family": "sans-serif", "font-weight": 700,
    "font-size": text.length > 1 ? 10 : 12, "text-anchor": "middle" }, text));
  el.setAttribute("href", n === 0 ? el.dataset.plain : "data:image/svg+xml,"
    + encodeURIComponent(new XMLSerializer().serializeToString(drawing)));
}
