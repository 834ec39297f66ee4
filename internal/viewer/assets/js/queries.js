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
      return h("li", {}, h("button", { "aria-current": name === chosen ? "true" : null, onclick: () => {
        chosen = name;
        draw();
        body.scrollTop = 0;
      } }, h("span", {}, title), sub));
    }

    function draw() {
      /** @param {QueryText} q */
      const found = (q) => !want || [q.title, q.name, q.category, q.language, ...(q.tags || []), q.text].join("\n").toLowerCase().includes(want);
      const groups = groupBy(queries.filter(found), (q) => q.category);
      replace(list,
        h("h2", {}, "Program"), h("ul", {}, entry("code", "Go, for this session", badge("Go"))),
        [...groups].map(([cat, qs]) => [h("h2", {}, cat), h("ul", {}, qs.map((q) => entry(q.name, q.title, badge(q.language))))]),
        groups.size === 0 && h("p", "muted", want ? "No statement matches." : "This page holds no statements."));
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
  const where = q.language === "SQLite" ? "Runs in the journal, with any SQLite shell." : "Runs in BigQuery, in the dataset that rows are streamed to.";
  return h("article", "q-card",
    h("header", {}, h("div", {}, h("h2", {}, q.title), h("p", "muted", where)), copyButton(() => q.text, "statement", true)),
    h("p", "tags", badge(q.category, "accent"), badge(q.language), (q.tags || []).map((t) => badge(t))),
    codeBlock(q.text, "sql"));
}

/** @param {App} app */
function codeSteps(app) {
  if (!app.session) return empty("info", "No session is open", "Open one: the program is filled in with its ids and names.");
  if (app.code.length === 0) return empty("info", "No program for this session", "The page was written without one.");
  const all = app.code.map((c) => "// " + c.title + "\n" + c.text).join("\n\n");
  return h("article", "q-card",
    h("header", {}, h("div", {}, h("h2", {}, "The same in Go, step by step"), h("p", "muted", "Filled in with the ids and names of " + app.session.session.id + ".")), copyButton(() => all, "all steps", true)),
    h("ol", "code-steps", app.code.map((c) => h("li", {}, h("div", "payload-head", h("h3", {}, c.title), copyButton(() => c.text, "this step")), codeBlock(c.text, "go")))));
}

/** @param {string} text @param {"sql"|"go"} language */
function codeBlock(text, language) {
  return h("pre", { class: "code", tabindex: "0" }, h("code", {}, highlight(text, language)));
}

/** wrapSwitch wraps the long lines of all code, or lets them run out of their box. @param {HTMLElement} root */
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

const LEXERS = {
  sql: {
    token: /(--[^\n]*|#[^\n]*|\/\*[\s\S]*?\*\/)|([rRbB]?"""[\s\S]*?"""|[rRbB]?'(?:[^'\\]|\\[\s\S]|'')*'|"(?:[^"\\]|\\[\s\S])*")|(\x60[^\x60]*\x60)|([@$:][A-Za-z_]\w*)|(\d[\w.]*)|([A-Za-z_]\w*)|([\s\S])/g,
    words: new Set("ALL AND ANY ARRAY AS ASC BEGIN BETWEEN BY CASE CAST CLUSTER COLUMNS COMMIT CREATE CROSS CURRENT_TIMESTAMP DATE DECLARE DEFAULT DELETE DESC DESTINATION DISTINCT EDGE ELSE END EXCEPT EXISTS EXTRACT FALSE FIRST FOR FROM FULL GRAPH GRAPH_TABLE GROUP HAVING IF IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN KEY LABEL LAST LEFT LET LIKE LIMIT MATCH MATCHED MERGE NEXT NODE NOT NULL NULLS OFFSET ON OPTIONS OR ORDER OUTER OVER PARTITION PROPERTIES PROPERTY QUALIFY RECURSIVE REFERENCES REPLACE RETURN RETURNING RIGHT ROWS SELECT SET SHORTEST SOURCE STRUCT TABLE TABLES TEMP THEN TRAIL TRANSACTION TRUE UNION UNNEST UPDATE USING VALUES VIEW WALK WHEN WHERE WINDOW WITH".split(" ")),
  },
  go: {
    token: /(\/\/[^\n]*|\/\*[\s\S]*?\*\/)|("(?:[^"\\\n]|\\.)*"|\x60[^\x60]*\x60|'(?:[^'\\\n]|\\.)+')|(\0)|(\0)|(\d[\w.]*)|([A-Za-z_]\w*)|([\s\S])/g,
    words: new Set("break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false error string bool int int64 float64 any byte".split(" ")),
  },
};

/** highlight gives a text as spans by kind of token; it decides nothing but colours. @param {string} text @param {"sql"|"go"} language */
function highlight(text, language) {
  const lx = LEXERS[language];
  const out = document.createDocumentFragment();
  let plain = "";
  const flush = () => {
    if (plain) out.append(plain);
    plain = "";
  };
  for (const m of text.matchAll(lx.token)) {
    const after = text[(m.index || 0) + m[0].length];
    const word = m[6];
    let cls = ["c-comment", "c-string", "c-name", "c-param", "c-number"].find((_, i) => m[i + 1]);
    if (word && lx.words.has(word)) cls = "c-key";
    else if (word && after === "(") cls = "c-func";
    if (!cls) {
      plain += m[0];
      continue;
    }
    flush();
    out.append(h("span", { class: cls }, m[0]));
  }
  flush();
  return out;
}
