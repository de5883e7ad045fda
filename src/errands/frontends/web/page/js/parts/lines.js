// The lines of a log that were read, laid out in rows of equal height.
import { laidOut, PLAIN } from "./ansi.js";

const LONGEST = 10_000; // characters of a row that is not wrapped
const MOST = 1 << 19; // characters that are kept; what is far from the reader is let go

/** @typedef {{ offset: number, next_offset: number, missing: number, end: number, live: boolean, text: string }} Part */

export class Lines {
  constructor() {
    /** @type {Part[]} */
    this.parts = [];
    /** @type {(import("./ansi.js").Row & { gap?: number })[]} */
    this.rows = [];
    this.columns = LONGEST;
    this._open = "";
    this._openAt = 0;
    this._style = PLAIN;
  }

  get first() {
    return this.parts[0]?.offset ?? 0;
  }

  get next() {
    return this.parts.at(-1)?.next_offset ?? 0;
  }

  get missing() {
    return this.parts[0]?.missing ?? 0;
  }

  /** @param {number} columns */
  lay(columns) {
    this.columns = columns || LONGEST;
    this._layAll();
  }

  /** @param {Part} part */
  reset(part) {
    this.parts = [part];
    this._layAll();
  }

  /** Add what comes after; return whether rows at the beginning went. @param {Part} part */
  append(part) {
    if (part.next_offset <= this.next) return false;
    const last = this.parts.at(-1);
    if (last && !part.missing && last.text.length < 65_536) {
      last.text += part.text;
      last.next_offset = part.next_offset;
    } else this.parts.push(part);
    if (this._size() > MOST && this.parts.length > 1) {
      this.parts.shift();
      this._layAll();
      return true;
    }
    if (part.missing) this._gap(part.missing);
    this._lay(part.text);
    return false;
  }

  /** Add what comes before; return how many rows that adds. @param {Part} part */
  prepend(part) {
    const before = this.rows.length;
    this.parts.unshift(part);
    this._layAll();
    const added = this.rows.length - before;
    let gone = false;
    while (this._size() > MOST && this.parts.length > 1) {
      this.parts.pop();
      gone = true;
    }
    if (gone) this._layAll();
    return added;
  }

  _size() {
    return this.parts.reduce((sum, each) => sum + each.text.length, 0);
  }

  _layAll() {
    this.rows = [];
    this._open = "";
    this._openAt = 0;
    this._style = PLAIN;
    for (const part of this.parts) {
      if (part.missing) this._gap(part.missing);
      this._lay(part.text);
    }
  }

  /** @param {number} bytes */
  _gap(bytes) {
    this.rows.push({ text: `── ${bytes.toLocaleString("en")} bytes were not kept ──`, spans: null, gap: bytes });
    this._open = "";
    this._openAt = this.rows.length;
  }

  /** @param {string} text */
  _lay(text) {
    if (!text) return;
    this.rows.length = this._openAt;
    const lines = (this._open + text).split("\n");
    this._open = lines.pop() ?? "";
    for (const line of lines) {
      const done = laidOut(line.endsWith("\r") ? line.slice(0, -1) : line, this.columns, this._style);
      for (const row of done.rows) this.rows.push(row);
      this._style = done.style;
    }
    this._openAt = this.rows.length;
    if (this._open) for (const row of laidOut(this._open, this.columns, this._style).rows) this.rows.push(row);
  }
}
