// Time in words. What is not live does not age: its times stand still.
import { useEffect, useState } from "./html.js";
import { stream, watchStream } from "./stream.js";

let frozen = 0;
watchStream(() => {
  frozen = stream.begun && !stream.live ? stream.since : 0;
});

/** The time of the server, in milliseconds. */
export const now = () => (frozen || Date.now()) + stream.skew;

/** @type {Set<() => void>} */
const tickers = new Set();
setInterval(() => {
  if (!document.hidden) for (const each of [...tickers]) each();
}, 1000);

/** Draw again every second. */
export function useTick() {
  const [, draw] = useState(0);
  useEffect(() => {
    const tick = () => draw((before) => before + 1);
    tickers.add(tick);
    return () => tickers.delete(tick);
  }, []);
}

/** @param {number} seconds */
export function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${whole % 60}s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)}h ${Math.floor((whole % 3600) / 60)}m`;
  return `${Math.floor(whole / 86_400)}d ${Math.floor((whole % 86_400) / 3600)}h`;
}

/** The same, more exactly where it was short. @param {number} seconds */
export function exact(seconds) {
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))}ms`;
  return seconds < 10 ? `${seconds.toFixed(1)}s` : duration(seconds);
}

/** @param {number} seconds */
const rough = (seconds) => duration(seconds).split(" ")[0];

/** @param {string | null} time */
export const ago = (time) => (time ? `${rough((now() - new Date(time).getTime()) / 1000)} ago` : "");

/** How long until a time, as the command line says it. @param {string | null} time */
export function until(time) {
  if (!time) return "";
  const seconds = Math.round((new Date(time).getTime() - now()) / 1000);
  if (seconds <= 0) return "now";
  if (seconds < 60) return `in ${seconds} s`;
  if (seconds < 300 && seconds % 60) return `in ${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `in ${minutes} min`;
  if (minutes < 1440) return `in ${Math.floor(minutes / 60)} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
  const days = Math.round(seconds / 86_400);
  return `in ${days} day${days === 1 ? "" : "s"}`;
}

/** How long something took, or has taken so far. @param {string | null} from @param {string | null} to */
export function took(from, to) {
  if (!from) return "";
  const begun = new Date(from).getTime();
  return to ? exact((new Date(to).getTime() - begun) / 1000) : duration((now() - begun) / 1000);
}

const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const FULL = new Intl.DateTimeFormat(undefined, {
  weekday: "short",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const SHORT = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

/** @param {string | number | null} time */
export const clock = (time) => (time === null ? "" : CLOCK.format(new Date(time)));
/** @param {string | null} time */
export const full = (time) => (time === null ? "" : FULL.format(new Date(time)));
/** @param {string | null} time */
export const short = (time) => (time === null ? "" : SHORT.format(new Date(time)));
