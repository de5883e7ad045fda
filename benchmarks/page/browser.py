"""Chromium, asked through its own protocol: when something was painted, how long frames take, and the heap.

A window starts with an empty cache. Its clock begins with the navigation, so the time until something is
painted includes every request for the page's code and data.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.page.server import Server

_FRAMES = 240
# The frame that first has the element is on the screen when a message that was sent in it arrives.
_WATCH = """
localStorage.setItem("errands.key", KEY);
window.seen = (selector, from = 0) => new Promise((done) => {
  const look = () => {
    if (!document.querySelector(selector)) return requestAnimationFrame(look);
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now() - from);
    channel.port2.postMessage(0);
  };
  requestAnimationFrame(look);
});
"""
_SCROLL = """
([selector, frames]) => new Promise((done) => {
  const list = document.querySelector(selector);
  const step = list.scrollTop > 1000 ? -150 : 150;
  const gaps = [];
  let last = 0;
  const next = (time) => {
    if (last) gaps.push(time - last);
    last = time;
    list.scrollTop += step;
    if (gaps.length < frames) requestAnimationFrame(next);
    else done(Math.max(...gaps));
  };
  requestAnimationFrame(next);
})
"""
_FIND = """
(text) => {
  const field = document.querySelector(".log-bar input");
  field.value = text;
  const from = performance.now();
  field.form.requestSubmit();
  return window.seen(".log mark", from);
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Selectors of what is drawn first, of what is there when all was read, and of what scrolls."""

    element: str
    settled: str
    scrolled: str


LIST = View(element=".row", settled=".list-bar .muted:not(:empty)", scrolled=".rows")
LOG = View(element=".log .line", settled=".log-foot", scrolled=".log")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a window showed: seconds, elements and bytes."""

    painted: float
    frame: float
    elements: int
    heap: float
    code: float  # the page's own files, as they were sent
    found: float = 0.0


class Chromium:
    """`with Chromium(server) as browser:`; it takes over the scheduling of this process, as children do."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def __enter__(self) -> Chromium:
        from playwright.sync_api import sync_playwright

        program = shutil.which("chromium") or shutil.which("google-chrome")
        if program is None:
            raise SystemExit("there is no Chromium: tools/apt chromium installs it")
        self._playwright = sync_playwright().start()
        # Its own sandbox needs rights that a container does not have.
        words = ["--no-sandbox"] if os.geteuid() == 0 else []
        self._browser = self._playwright.chromium.launch(executable_path=program, args=words)
        return self

    def __exit__(self, *error: object) -> None:
        self._browser.close()
        self._playwright.stop()

    def _context(self) -> Any:
        context = self._browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(60_000)
        script = _WATCH.replace("KEY", json.dumps(self._server.key))
        context.add_init_script(f'if (location.protocol.startsWith("http")) {{ {script} }}')
        return context

    def look(self, path: str, view: View, *, text: str = "") -> Seen:
        """Show a view in a new window, scroll it once all of it was read, and find a text in it."""
        context = self._context()
        page = context.new_page()
        protocol = context.new_cdp_session(page)
        sizes: dict[str, float] = {}
        urls: dict[str, str] = {}
        protocol.on("Network.requestWillBeSent", lambda sent: urls.update({sent["requestId"]: _url(sent)}))
        # Sizes of the body as it was sent: headers are not code.
        protocol.on("Network.dataReceived", lambda got: _add(sizes, got, "encodedDataLength"))
        protocol.send("Network.enable")
        page.goto(self._server.url + path, wait_until="commit")
        painted = page.evaluate("(selector) => window.seen(selector)", view.element)
        page.wait_for_selector(".live.good")
        page.wait_for_selector(view.settled)
        frame = page.evaluate(_SCROLL, [view.scrolled, _FRAMES])
        found = page.evaluate(_FIND, text) if text else 0.0
        protocol.send("HeapProfiler.collectGarbage")
        protocol.send("Performance.enable")
        metrics = {each["name"]: each["value"] for each in protocol.send("Performance.getMetrics")["metrics"]}
        seen = Seen(
            painted=painted / 1e3,
            frame=frame / 1e3,
            elements=page.locator(view.element).count(),
            heap=metrics["JSHeapUsedSize"],
            code=sum(size for request, size in sizes.items() if "/api/" not in urls.get(request, "")),
            found=found / 1e3,
        )
        context.close()
        return seen

    def takeovers(self, tabs: int, count: int) -> list[float]:
        """Close the tab that reads the stream, again and again; return the seconds until another one does."""
        context = self._context()
        pages = [context.new_page() for _ in range(tabs)]
        for page in pages:
            page.goto(f"{self._server.url}/tasks")
            page.wait_for_selector(".live.good")
        took = []
        for page in pages[:count]:  # the lock is handed on in the order in which they asked for it
            pages[-1].wait_for_timeout(500)  # the one before has the stream by now
            began = time.perf_counter()
            with context.expect_event("response", lambda response: "/api/stream" in response.url):
                page.close()
            took.append(time.perf_counter() - began)
        context.close()
        return took


def _url(sent: dict[str, Any]) -> str:
    return str(sent["request"]["url"])


def _add(sizes: dict[str, float], got: dict[str, Any], name: str) -> None:
    sizes[got["requestId"]] = sizes.get(got["requestId"], 0) + got[name]
