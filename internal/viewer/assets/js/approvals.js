// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The view of the requests of a session: one large, the others as lines that open.

/** @type {ViewSpec} */
const approvalsView = {
  id: "approvals",
  title: "Approvals",
  mount(root, app) {
    /** @type {Map<number, Card>} */ let cards = new Map();
    /** @type {Session|null} */ let session = null;
    let large = -1;
    /** @type {Set<number>} the lines that are open */ let unfolded = new Set();
    /** @type {HTMLDetailsElement[]} */ let opened = [];
    const off = onPrint(() => {
      for (let b = root.querySelector("button.more"); b instanceof HTMLElement;
        b = root.querySelector("button.more")) b.click();
      opened = [...root.querySelectorAll("details")].filter((d) => !d.open && !d.closest(".json"));
      for (const d of opened) d.open = true;
    }, () => {
      for (const d of opened) d.open = false;
    });
    const offDesk = app.on("desk", () => session && !root.hidden && keepPlace(root, draw));

    /** cardOf draws the card of a request. @param {number} i */
    function cardOf(i) {
      const card = cards.get(i) || new Card(app, i);
      cards.set(i, card);
      card.draw(/** @type {Session} */ (session).approvals[i]);
      return card.root;
    }

    /** line is a request that opens when it is pressed. @param {Approval} a @param {number} i */
    function line(a, i) {
      const body = h("div", {}, unfolded.has(i) && cardOf(i));
      const d = details({ class: "card-line", open: unfolded.has(i) },
        [chip(a.status), h("span", "clip", actionOf(a)),
        h("span", "muted", "asked ", agoEl(a.requested_at))], body);
      d.addEventListener("toggle", () => {
        if (d.open) unfolded.add(i);
        else unfolded.delete(i);
        if (d.open && !body.firstChild) body.append(cardOf(i));
      });
      return d;
    }

    function draw() {
      const s = /** @type {Session} */ (session);
      const others = s.approvals.map((_, i) => i).filter((i) => i !== large).reverse();
      const open = others.filter((i) => waits(s.approvals[i].status)),
        over = others.filter((i) => !waits(s.approvals[i].status));
      /** @param {string} title @param {number[]} list */
      const group = (title, list) => list.length > 0 && h("section", "card-lines",
        h("h2", {}, title, h("span", "count", String(list.length))),
        list.map((i) => line(s.approvals[i], i)));
      replace(root, h("div", "cards", cardOf(large), group("Also waiting", open),
        group("Other requests of this session", over)));
    }

    return {
      /** @param {Session} s */
      show(s) {
        const same = sameSession(session && session.session, s.session);
        session = s;
        if (!same) {
          cards = new Map();
          unfolded = new Set();
        }
        if (s.approvals.length === 0) {
          session = null;
          large = -1;
          replace(root, empty("hitl", "Nobody was asked for anything",
            "An approval appears here when a tool asks for a confirmation, or a tool under "
              + "guard.tools is called."));
          return;
        }
        if (!same || large < 0) large = firstOf(s, app.selected);
        if (same) keepPlace(root, draw);
        else {
          draw();
          root.scrollTop = 0;
        }
      },
      select(ref) {
        if (!session || !ref || ref.type !== "approval") return;
        const i = firstOf(session, ref);
        if (i === large) return;
        large = i;
        unfolded.delete(i);
        draw();
        root.scrollTop = 0;
      },
      destroy() {
        off();
        offDesk();
        root.replaceChildren();
      },
    };
  },
};

/** firstOf is the index of the request to show large: the selected one, else one that waits,
 * else the last. @param {Session} s @param {Ref|null} ref */
function firstOf(s, ref) {
  if (ref && ref.type === "approval" && s.approvals[Number(ref.key)]) return Number(ref.key);
  const open = s.approvals.findIndex((a) => waits(a.status));
  return open >= 0 ? open : s.approvals.length - 1;
}
