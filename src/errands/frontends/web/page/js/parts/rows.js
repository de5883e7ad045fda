// A list of any length: only the rows in view exist.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";

const AROUND = 8; // rows beyond the edges

/** The height of a row, which depends on the width of the window. */
export const rowHeight = () => (matchMedia("(max-width: 719px)").matches ? 60 : 40);

/**
 * @param {{ rows: any[], draw: (row: any, index: number) => any, cursor: number, label: string }} props
 */
export function VirtualRows({ rows, draw, cursor, label }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [seen, setSeen] = useState([0, 40]);
  const [height, setHeight] = useState(rowHeight);
  const look = () => {
    const list = box.current;
    if (!list) return;
    const first = Math.max(0, Math.floor(list.scrollTop / height) - AROUND);
    const last = Math.ceil((list.scrollTop + list.clientHeight) / height) + AROUND;
    setSeen((before) => (before[0] === first && before[1] === last ? before : [first, last]));
  };
  useLayoutEffect(look, [height, rows.length]);
  useEffect(() => {
    const resized = () => {
      setHeight(rowHeight());
      look();
    };
    addEventListener("resize", resized);
    return () => removeEventListener("resize", resized);
  }, [height]);
  useLayoutEffect(() => {
    const list = box.current;
    if (!list || cursor < 0) return;
    const top = cursor * height;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + height > list.scrollTop + list.clientHeight) list.scrollTop = top + height - list.clientHeight;
    look();
  }, [cursor]);
  const [first, last] = seen;
  const shown = rows.slice(first, last);
  return html`<div class="rows" ref=${box} onScroll=${look} tabindex="-1">
    <div role="list" aria-label=${label} class="rows-all" style=${{ height: `${rows.length * height}px` }}>
      ${shown.map(
        (row, at) => html`<div key=${row.id} role="listitem" aria-setsize=${rows.length} aria-posinset=${first + at + 1}
          class="row ${first + at === cursor ? "cursor" : ""}" style=${{ transform: `translateY(${(first + at) * height}px)`, height: `${height}px` }}>
          ${draw(row, first + at)}</div>`,
      )}
    </div>
  </div>`;
}
