// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// How wide texts of a drawing are, and what of them fits. SVG breaks no lines by itself.

/** @type {{pen: CanvasRenderingContext2D|null, family: string, known: Map<string, number>}} */
const ruler = { pen: null, family: "", known: new Map() };

/** textWidth is the width of a text in one line. @param {string} text @param {number} size in pixels @param {boolean} [bold] */
function textWidth(text, size, bold) {
  const key = size + (bold ? "b" : "n") + text;
  let w = ruler.known.get(key);
  if (w !== undefined) return w;
  if (!ruler.pen) {
    ruler.pen = document.createElement("canvas").getContext("2d");
    ruler.family = getComputedStyle(document.body).fontFamily;
  }
  if (ruler.known.size > 20000) ruler.known.clear();
  if (!ruler.pen) w = text.length * size * 0.6;
  else {
    ruler.pen.font = (bold ? "600 " : "") + size + "px " + ruler.family;
    w = ruler.pen.measureText(text).width;
  }
  ruler.known.set(key, w);
  return w;
}

/** fitText cuts a text to a width, with a mark where it was cut. @param {any} text @param {number} width @param {number} size @param {boolean} [bold] */
function fitText(text, width, size, bold) {
  const s = clip(text, 300);
  if (textWidth(s, size, bold) <= width) return s;
  let low = 0, high = s.length;
  while (low < high) {
    const half = (low + high + 1) >> 1;
    if (textWidth(s.slice(0, half).trimEnd() + "…", size, bold) <= width) low = half;
    else high = half - 1;
  }
  return s.slice(0, low).trimEnd() + "…";
}

/**
 * wrapText breaks a text into at most so many lines, between words or behind the marks within names.
 * @param {string} text @param {number} width @param {number} size @param {number} rows @param {boolean} [bold] @returns {string[]}
 */
function wrapText(text, width, size, rows, bold) {
  /** @type {string[]} */
  const out = [];
  let rest = clip(text, 2000);
  while (out.length < rows - 1 && textWidth(rest, size, bold) > width) {
    let low = 1, high = Math.min(rest.length, 400);
    while (low < high) {
      const half = (low + high + 1) >> 1;
      if (textWidth(rest.slice(0, half), size, bold) <= width) low = half;
      else high = half - 1;
    }
    let cut = rest.lastIndexOf(" ", low);
    if (cut < low * 0.4) {
      cut = low;
      for (let i = low; i > low * 0.4; i--) {
        if (!/[_\-./:]/.test(rest[i - 1])) continue;
        cut = i;
        break;
      }
    }
    out.push(rest.slice(0, cut).trimEnd());
    rest = rest.slice(cut).trimStart();
  }
  return rest ? [...out, fitText(rest, width, size, bold)] : out;
}
