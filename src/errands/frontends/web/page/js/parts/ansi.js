// Colours of output: the server leaves only SGR sequences; they become classes, or colours of the CSSOM.

/** @typedef {{ fg: string, bg: string, bold: boolean, dim: boolean, italic: boolean, under: boolean, inverse: boolean }} Style */
/** @type {Style} */
export const PLAIN = { fg: "", bg: "", bold: false, dim: false, italic: false, under: false, inverse: false };

const STEPS = [0, 95, 135, 175, 215, 255];

/** @param {number} index a colour of the 256 */
function indexed(index) {
  if (index < 16) return `c${index}`;
  if (index > 231)
    return `rgb(${Array(3)
      .fill(8 + (index - 232) * 10)
      .join(",")})`;
  const cube = index - 16;
  return `rgb(${STEPS[Math.floor(cube / 36)]},${STEPS[Math.floor(cube / 6) % 6]},${STEPS[cube % 6]})`;
}

/** @param {Style} style @param {string} codes @returns {Style} */
export function styled(style, codes) {
  const next = { ...style };
  const numbers = codes.split(/[;:]/).map((each) => Number(each) || 0);
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at];
    if (code === 0) Object.assign(next, PLAIN);
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code === 4) next.under = true;
    else if (code === 7) next.inverse = true;
    else if (code === 22) next.bold = next.dim = false;
    else if (code === 23) next.italic = false;
    else if (code === 24) next.under = false;
    else if (code === 27) next.inverse = false;
    else if (code >= 30 && code <= 37) next.fg = `c${code - 30}`;
    else if (code >= 90 && code <= 97) next.fg = `c${code - 82}`;
    else if (code === 39) next.fg = "";
    else if (code >= 40 && code <= 47) next.bg = `c${code - 40}`;
    else if (code >= 100 && code <= 107) next.bg = `c${code - 92}`;
    else if (code === 49) next.bg = "";
    else if (code === 38 || code === 48) {
      const where = code === 38 ? "fg" : "bg";
      if (numbers[at + 1] === 5) {
        next[where] = indexed(numbers[at + 2] & 255);
        at += 2;
      } else if (numbers[at + 1] === 2) {
        next[where] = `rgb(${numbers.slice(at + 2, at + 5).map((each) => each & 255)})`;
        at += 4;
      }
    }
  }
  return next;
}

/** How a style is drawn. @param {Style} style */
export function look(style) {
  const names = [];
  /** @type {Record<string, string>} */
  const css = {};
  const [fg, bg] = style.inverse ? [style.bg || "back", style.fg || "front"] : [style.fg, style.bg];
  if (fg.startsWith("rgb")) css.color = fg;
  else if (fg) names.push(`fg-${fg}`);
  if (bg.startsWith("rgb")) css.background = bg;
  else if (bg) names.push(`bg-${bg}`);
  if (style.bold) names.push("bold");
  if (style.dim) names.push("dim");
  if (style.italic) names.push("italic");
  if (style.under) names.push("under");
  return { class: names.join(" "), style: css };
}

/** @param {number} code the code of a character; whether it is two columns wide */
const isWide = (code) =>
  code >= 0x1100 &&
  (code <= 0x115f ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd));

/** @typedef {{ text: string, spans: [string, Style][] | null }} Row */

/**
 * Lay a line out in rows of at most `columns`; a row without colours has no spans.
 * @param {string} line @param {number} columns @param {Style} style the style that it begins with
 * @returns {{ rows: Row[], style: Style }}
 */
export function laidOut(line, columns, style) {
  if (style === PLAIN && !/[^\x20-\x7e]/.test(line)) {
    if (line.length <= columns) return { rows: [{ text: line, spans: null }], style };
    const rows = [];
    for (let at = 0; at < line.length; at += columns) rows.push({ text: line.slice(at, at + columns), spans: null });
    return { rows, style };
  }
  /** @type {Row[]} */
  const rows = [];
  /** @type {[string, Style][]} */
  let spans = [];
  let text = "";
  let whole = "";
  let width = 0;
  const cut = () => {
    if (text) spans.push([text, style]);
    whole += text;
    text = "";
  };
  const end = () => {
    cut();
    rows.push({ text: whole, spans: spans.some(([, each]) => each !== PLAIN) ? spans : null });
    spans = [];
    whole = "";
    width = 0;
  };
  for (let at = 0; at < line.length; at++) {
    if (line[at] === "\x1b" && line[at + 1] === "[") {
      const close = line.indexOf("m", at);
      if (close > 0) {
        cut();
        style = styled(style, line.slice(at + 2, close));
        if (Object.keys(PLAIN).every((name) => !style[/** @type {keyof Style} */ (name)])) style = PLAIN;
        at = close;
        continue;
      }
    }
    const code = line.codePointAt(at) ?? 0;
    let shown = String.fromCodePoint(code);
    if (code > 0xffff) at += 1;
    let wide = isWide(code) ? 2 : 1;
    if (shown === "\t") {
      wide = 8 - (width % 8);
      shown = " ".repeat(wide);
    }
    if (width + wide > columns) end();
    text += shown;
    width += wide;
  }
  end();
  return { rows, style };
}
