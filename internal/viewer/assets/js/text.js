// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// How wide texts of a drawing are, and what of them fits. SVG breaks no lines by itself.

/** @type {CanvasRenderingContext2D|null} */ let pen = null;
let family = "";
/** @type {Map<string, number>} */ const knownWidths = new Map();

/** textWidth is the width of a text in one line, in pixels. @param {string} text
 * @param {number} size @param {boolean} [bold] */
function textWidth(text, size, bold) {
  const font = (bold ? "600 " : "") + size + "px ", key = font + text;
  let w = knownWidths.get(key);
  if (w !== undefined) return w;
  if (knownWidths.size > 20000) knownWidths.clear();
  pen = pen || sure(document.createElement("canvas").getContext("2d"));
  family = family || getComputedStyle(document.body).fontFamily;
  pen.font = font + family;
  w = pen.measureText(text).width;
  knownWidths.set(key, w);
  return w;
}

/** fitting is how many characters of a text fit, with what stands behind them. @param {string} s
 * @param {string} tail @param {number} width @param {number} size @param {boolean} [bold] */
function fitting(s, tail, width, size, bold) {
  let low = 0, high = s.length;
  while (low < high) {
    const half = (low + high + 1) >> 1;
    if (textWidth(s.slice(0, half).trimEnd() + tail, size, bold) <= width) low = half;
    else high = half - 1;
  }
  return low;
}

/** fitText cuts a text to a width, with a mark where it was cut. @param {any} text
 * @param {number} width @param {number} size @param {boolean} [bold] */
function fitText(text, width, size, bold) {
  const s = clip(text, 300);
  if (textWidth(s, size, bold) <= width) return s;
  return s.slice(0, fitting(s, "…", width, size, bold)).trimEnd() + "…";
}

/** wrapText breaks a text into at most so many lines, between words or behind the marks within
 * names. @param {string} text @param {number} width @param {number} size @param {number} rows
 * @param {boolean} [bold] @returns {string[]} */
function wrapText(text, width, size, rows, bold) {
  /** @type {string[]} */ const out = [];
  let rest = clip(text, 2000);
  while (out.length < rows - 1 && textWidth(rest, size, bold) > width) {
    const most = Math.max(1, fitting(rest.slice(0, 400), "", width, size, bold));
    const line = rest.slice(0, most), space = rest.lastIndexOf(" ", most);
    let cut = space >= most * 0.4 ? space : line.search(/[_\-./:][^_\-./:]*$/) + 1;
    if (cut < most * 0.4) cut = most;
    out.push(rest.slice(0, cut).trimEnd());
    rest = rest.slice(cut).trimStart();
  }
  return rest ? [...out, fitText(rest, width, size, bold)] : out;
}
