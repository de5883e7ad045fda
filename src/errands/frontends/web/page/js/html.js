// The one place that knows the libraries: everything else imports from here.
import * as hooks from "../vendor/hooks.mjs";
import htm from "../vendor/htm.mjs";
import * as preact from "../vendor/preact.mjs";

/** @type {any} */
const library = preact;
/** @type {any} */
const more = hooks;

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = /** @type {any} */ (htm).bind(library.h);
/** @type {(tree: any, where: Element) => void} */
export const render = library.render;
/** @type {<T>(first: T | (() => T)) => [T, (next: T | ((before: T) => T)) => void]} */
export const useState = more.useState;
/** @type {(effect: () => any, on?: any[]) => void} */
export const useEffect = more.useEffect;
/** @type {(effect: () => any, on?: any[]) => void} */
export const useLayoutEffect = more.useLayoutEffect;
/** @type {<T>(first: T) => { current: T }} */
export const useRef = more.useRef;
/** @type {<T>(make: () => T, on: any[]) => T} */
export const useMemo = more.useMemo;
/** @type {(handle?: (error: any) => void) => [any, () => void]} */
export const useErrorBoundary = more.useErrorBoundary;
