// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Queries: the statements to ask the same elsewhere, and the program for the session shown.

/** @type {ViewSpec} */
const queriesView = {
  id: "queries",
  title: "Queries",
  sessionless: true,
  mount(root, app) {
    const queries = app.page.queries;
    let chosen = app.session || queries.length === 0 ? "code" : queries[0].name;
    let want = "";
    const search = searchBox({ "aria-label": "Search statements" }, 0, (input) => {
      want = input.value.trim().toLowerCase();
      draw();
    });
    const list = h("nav", { class: "q-list", "aria-label": "Statements" });
    const body = h("div", "q-body");
    replace(root, h("div", "q-side", search.box, list, wrapSwitch(root)), body);

    /** @param {string} name @param {string} title @param {Child} sub */
    function entry(name, title, sub) {
      return h("li", {}, h("button", { "aria-current": name === chosen ? "true" : null,
        onclick: () => {
        chosen = name;
        draw();
        body.scrollTop = 0;
      } }, h("span", {}, title), sub));
    }

    function draw() {
      /** @param {QueryText} q */
      const found = (q) => !want || [q.title, q.name, q.category, q.language, ...(q.tags || []),
        q.text].join("\n").toLowerCase().includes(want);
      const groups = groupBy(queries.filter(found), (q) => q.category);
      replace(list,
        h("h2", {}, "Program"), h("ul", {}, entry("code", "Go, for this session", badge("Go"))),
        [...groups].map(([cat, qs]) => [
          h("h2", {}, cat), h("ul", {}, qs.map((q) => entry(q.name, q.title, badge(q.language))))]),
        groups.size === 0 && h("p", "muted", want ? "No statement matches."
          : "This page holds no statements."));
      const q = queries.find((x) => x.name === chosen);
      if (q) replace(body, queryCard(q));
      else replace(body, codeSteps(app));
    }

    return {
      show: draw,
      select() {
        // A statement is the same whatever is selected.
      },
      destroy: () => root.replaceChildren(),
    };
  },
};

/** @param {QueryText} q */
function queryCard(q) {
  const where = q.language === "SQLite" ? "Runs in the journal, with any SQLite shell."
    : "Runs in BigQuery, in the dataset that rows are streamed to.";
  return h("article", "q-card",
    h("header", {}, h("div", {}, h("h2", {}, q.title), h("p", "muted", where)),
      copyButton(() => q.text, "statement", true)),
    h("p", "tags", badge(q.category, "accent"), badge(q.language),
      (q.tags || []).map((t) => badge(t))),
    codeBlock(q.text, "sql"));
}

/** @param {App} app */
function codeSteps(app) {
  if (!app.session) return empty("info", "No session is open",
    "Open one: the program is filled in with its ids and names.");
  if (app.code.length === 0) return empty("info", "No program for this session",
    "The page was written without one.");
  const all = app.code.map((c) => "// " + c.title + "\n" + c.text).join("\n\n");
  return h("article", "q-card",
    h("header", {}, h("div", {}, h("h2", {}, "The same in Go, step by step"),
      h("p", "muted", "Filled in with the ids and names of " + app.session.session.id + ".")),
      copyButton(() => all, "all steps", true)),
    h("ol", "code-steps", app.code.map((c) =>
      h("li", {}, h("div", "payload-head", h("h3", {}, c.title),
      copyButton(() => c.text, "this step")), codeBlock(c.text, "go")))));
}

/** @param {string} text @param {"sql"|"go"} language */
function codeBlock(text, language) {
  return h("pre", { class: "code", tabindex: "0" }, h("code", {}, highlight(text, language)));
}

/** wrapSwitch wraps the long lines of all code, or lets them run out of their box.
 * @param {HTMLElement} root */
function wrapSwitch(root) {
  const wrap = (/** @type {boolean} */ on) => {
    root.classList.toggle("wrapped", on);
    remember("wrap", on ? "on" : "off");
  };
  const on = remember("wrap") === "on";
  const box = h("input", { type: "checkbox", checked: on, onchange: () => wrap(box.checked) });
  root.classList.toggle("wrapped", on);
  return h("label", "q-wrap no-print", box, "Wrap long lines");
}

/** lexer matches comments, strings, quoted names, parameters, numbers, words, and single signs.
 * @param {RegExp[]} parts the first four of them */
function lexer(...parts) {
  const all = [...parts, /\d[\w.]*/, /[A-Za-z_]\w*/, /[\s\S]/];
  return new RegExp(all.map((p) => "(" + p.source + ")").join("|"), "g");
}

/** The key words of SQL are those in capitals. */
const LEXERS = {
  sql: {
    token: lexer(/--[^\n]*|#[^\n]*|\/\*[\s\S]*?\*\//,
      /[rb]?"""[\s\S]*?"""|[rb]?'(?:[^'\\]|\\[\s\S]|'')*'|"(?:[^"\\]|\\[\s\S])*"/,
      /\x60[^\x60]*\x60/, /[@$:][A-Za-z_]\w*/),
    keys: /^[A-Z][A-Z_]+$/,
  },
  go: {
    token: lexer(/\/\/[^\n]*|\/\*[\s\S]*?\*\//,
      /"(?:[^"\\\n]|\\.)*"|\x60[^\x60]*\x60|'(?:[^'\\\n]|\\.)+'/, /\0/, /\0/),
    keys: new RegExp("^(break|case|chan|const|continue|default|defer|else|for|func|go|if|import"
      + "|interface|map|package|range|return|select|struct|switch|type|var|nil|true|false|error"
      + "|string|bool|int|int64|float64|any|byte)$"),
  },
};

/** highlight gives a text as spans by kind of token; it decides nothing but colours.
 * @param {string} text @param {"sql"|"go"} language */
function highlight(text, language) {
  const { token, keys } = LEXERS[language], out = document.createDocumentFragment();
  for (const m of text.matchAll(token)) {
    const calls = text[m.index + m[0].length] === "(",
      kinds = ["comment", "string", "name", "param", "number"];
    let kind = kinds.find((_, i) => m[i + 1]);
    if (m[6] && keys.test(m[6])) kind = "key";
    if (m[6] && calls && (language === "sql" || kind !== "key")) kind = "func";
    append(out, kind ? h("span", "c-" + kind, m[0]) : m[0]);
  }
  out.normalize();
  return out;
}
