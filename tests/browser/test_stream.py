"""One stream for all tabs of a browser, and what the page shows when it breaks."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, Request, expect

from tests.browser.conftest import WITHIN, Windows
from tests.frontends.web.server import WebServer

pytestmark = pytest.mark.spec("X8")
expect.set_options(timeout=WITHIN)
TABS = 12
_KINDS = ("held", "pending")


def _streams(context: BrowserContext) -> list[Request]:
    """Collect the streams that the tabs of a browser open."""
    found: list[Request] = []
    context.on("request", lambda request: found.append(request) if "/api/stream" in request.url else None)
    return found


def _readings(context: BrowserContext) -> list[str]:
    """Collect the readings of whole lists."""
    found: list[str] = []
    context.on("request", lambda request: found.append(request.url) if "limit=" in request.url else None)
    return found


def _locks(page: Page) -> tuple[int, int]:
    """Count the tabs that hold the lock of the stream, and those that wait for it."""
    found = page.evaluate("() => navigator.locks.query()")
    held, pending = ([each for each in found[kind] if each["name"] == "errands.stream"] for kind in _KINDS)
    return len(held), len(pending)


def test_twelve_tabs_share_one_stream_and_another_tab_takes_over(windows: Windows, web: WebServer) -> None:
    context = windows.context()
    streams = _streams(context)
    tabs = []
    for _ in range(TABS):
        page = context.new_page()
        page.goto("/tasks")
        tabs.append(page)
    for page in tabs:
        expect(page.locator(".live")).to_have_text("● live")
    assert len(streams) == 1
    first = web.run("--", "echo", "for all tabs")
    for page in tabs:
        expect(page.get_by_text(first).first).to_be_visible()
    assert _locks(tabs[1]) == (1, TABS - 1)  # one reads, the others stand in line for it
    readings = _readings(context)
    began = time.monotonic()
    with context.expect_event("request", lambda request: "/api/stream" in request.url):
        tabs[0].close()  # it was the first, so it reads the stream
    assert time.monotonic() - began <= 1
    second = web.run("--", "echo", "after the first tab")
    for page in tabs[1:]:
        expect(page.get_by_text(second).first).to_be_visible()
    assert len(streams) == 2
    assert (
        streams[1].frame.page is tabs[1]
    )  # the next in line, by the lock alone: nothing waits for a time to pass
    assert _locks(tabs[1]) == (1, TABS - 2)
    assert readings == []  # the stream goes on: lists that are read again would be in its way


_AWAY = """
Object.defineProperty(document, "hidden", { get: () => Boolean(window.away) });
window.look = (away) => { window.away = away; document.dispatchEvent(new Event("visibilitychange")); };
"""


def test_a_tab_in_the_background_reads_only_once_it_is_looked_at(windows: Windows, web: WebServer) -> None:
    context = windows.context()
    context.add_init_script(_AWAY)
    page, front = context.new_page(), context.new_page()
    page.goto("/")
    front.goto("/")
    expect(page.locator(".live")).to_have_text("● live")
    expect(page.locator("main .loading")).to_have_count(0)
    page.evaluate("() => window.look(true)")
    for name in ("earlier", "unseen"):  # the page may show what it was reading when it was hidden
        task = web.run("--name", name, "--", "sh", "-c", "exit 3")
        expect(front.get_by_text(task).first).to_be_visible()  # so both have heard of it
    expect(page.locator(".live")).to_have_text("● live")
    assert page.get_by_text(task).count() == 0
    page.evaluate("() => window.look(false)")
    expect(page.get_by_text(task).first).to_be_visible()


def _kill_daemon(web: WebServer) -> None:
    os.kill(json.loads(web.errands("daemon", "status", "--json"))["pid"], signal.SIGKILL)


def test_without_a_daemon_that_something_waits_for_the_page_says_so_and_starts_one(
    own_web: WebServer, make_windows: Callable[[WebServer], Windows]
) -> None:
    windows = make_windows(own_web)
    page = windows.open("/")
    expect(page.get_by_text("Nothing has run yet")).to_be_visible()
    expect(page.locator(".bar")).to_have_count(0)  # the first task starts one
    own_web.errands("run", "--every", "1h", "--yes", "--", "echo", "tick")
    page.reload()
    expect(page.locator(".live")).to_have_text("● live")
    began = time.monotonic()
    _kill_daemon(own_web)
    bar = page.locator(".bar")
    expect(bar).to_contain_text("No daemon is running")
    assert time.monotonic() - began <= 25
    bar.get_by_role("button", name="Start it").click()
    expect(bar).to_have_count(0)
    task = own_web.run("--name", "back", "--", "sh", "-c", "exit 3")
    expect(page.get_by_text(task).first).to_be_visible()


def test_a_page_is_right_again_within_two_seconds_of_the_return_of_the_daemon(
    own_web: WebServer, make_windows: Callable[[WebServer], Windows]
) -> None:
    windows = make_windows(own_web)
    own_web.errands("run", "--every", "1h", "--yes", "--", "echo", "tick")
    page = windows.open("/tasks")
    expect(page.locator(".live")).to_have_text("● live")
    _kill_daemon(own_web)
    bar = page.locator(".bar")
    expect(bar).to_contain_text("No daemon is running")
    own_web.errands("daemon", "start")
    began = time.monotonic()
    expect(bar).to_have_count(0)
    task = own_web.post("/api/tasks", {"command": "sleep 600", "name": "after-it"}).json["row"]["id"]
    expect(page.get_by_role("listitem").filter(has_text=task)).to_contain_text("running")
    assert time.monotonic() - began <= 2
    own_web.errands("cancel", task, check=False)


def test_a_server_that_hangs_leaves_a_page_that_says_it_is_not_live(
    own_web: WebServer, make_windows: Callable[[WebServer], Windows]
) -> None:
    windows = make_windows(own_web)
    page = windows.open("/tasks")
    expect(page.locator(".live")).to_have_text("● live")
    own_web.process.send_signal(signal.SIGSTOP)
    try:
        expect(page.locator(".bar")).to_contain_text("Not live since")
        expect(page.locator(".live")).to_have_text("● not live")
    finally:
        own_web.process.send_signal(signal.SIGCONT)
    expect(page.locator(".live")).to_have_text("● live")
    expect(page.get_by_text("Not live since")).to_have_count(0)
    task = own_web.run("--", "echo", "after the break")
    expect(page.get_by_text(task).first).to_be_visible()


# Breaks the stream, and never calls back in time, as a tab in the background may not for a minute.
_BREAK = """
const [real, later] = [window.fetch, window.setTimeout];
const over = new AbortController();
window.fetch = (path, more) => {
  if (!path.startsWith("/api/stream") || over.signal.aborted) return real(path, more);
  return real(path, { ...more, signal: over.signal });
};
window.setTimeout = (act, wait) => (over.signal.aborted ? 0 : later(act, wait));
window.breakStream = () => over.abort();
"""


def test_a_tab_that_only_listens_can_have_the_stream_tried_again(windows: Windows) -> None:
    context = windows.context()
    context.add_init_script(_BREAK)
    reads, listens = context.new_page(), context.new_page()
    for page in (reads, listens):
        page.goto("/tasks")
        expect(page.locator(".live")).to_have_text("● live")
    reads.evaluate("() => window.breakStream()")
    listens.get_by_role("button", name="Try now").click()
    expect(listens.locator(".live")).to_have_text("● live")
    expect(listens.get_by_text("Not live since")).to_have_count(0)


def test_signing_out_reaches_every_tab(
    own_web: WebServer, make_windows: Callable[[WebServer], Windows]
) -> None:
    windows = make_windows(own_web)
    context = windows.context()
    one, two = context.new_page(), context.new_page()
    one.goto("/settings")
    two.goto("/tasks")
    expect(two.locator(".live")).to_have_text("● live")
    one.get_by_role("button", name="Sign out").click()
    for page in (one, two):
        expect(page.get_by_text("This browser is not signed in")).to_be_visible()
    assert own_web.get("/api/me").status == 401
