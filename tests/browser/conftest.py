"""A real Chromium, and a server of each module whose page it shows."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.web.server import WebServer

pytest.importorskip("playwright")

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

WITHIN = 60_000  # milliseconds: the machine may be busy
PHONE = {"width": 390, "height": 780}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Says in the console what the policy refused, which a test then finds.
_REPORT = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
# Once: a browser that signs out stays so. An empty page has no storage.
_SEED = """
if (location.protocol.startsWith("http") && !localStorage.getItem("seeded")) {
  localStorage.setItem("seeded", "yes");
  localStorage.setItem("errands.key", KEY);
}
"""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium of the system; nothing is downloaded."""
    if CHROMIUM is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no Chromium: tools/apt chromium installs it")
        pytest.skip("there is no Chromium: tools/apt chromium installs it")
    # Its own sandbox needs rights that a container does not have.
    words = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=words)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """A server with a signed-in browser."""
    server = WebServer(tmp_path_factory.mktemp("web"))
    assert server.sign_in().status == 201
    yield server
    server.close()


class Windows:
    """Makes windows of signed-in browsers; what broke in any of them fails the test."""

    def __init__(self, browser: Browser, web: WebServer) -> None:
        self._browser = browser
        self._web = web
        self._contexts: list[BrowserContext] = []
        self.trouble: list[str] = []

    def context(self, *, key: str | None = None, **more: Any) -> BrowserContext:
        context = self._browser.new_context(base_url=self._web.url, **more)
        context.set_default_timeout(WITHIN)
        self._contexts.append(context)
        context.add_init_script(_REPORT)
        key = self._web.key if key is None else key
        if key:
            seeded = _SEED.replace("KEY", json.dumps(key))
            context.add_init_script(seeded)
        context.on("page", self._watch)
        return context

    def _watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("dialog", lambda dialog: self.trouble.append(f"a script ran: {dialog.message}"))
        page.on("console", self._hear)

    def _hear(self, said: ConsoleMessage) -> None:
        if said.text.startswith("policy:"):
            self.trouble.append(said.text)

    def open(self, path: str, **more: Any) -> Page:
        page = self.context(**more).new_page()
        page.goto(path)
        return page

    def close(self) -> None:
        for each in self._contexts:
            for page in each.pages:
                page.unroute_all(behavior="ignoreErrors")  # an answer may be on its way
            each.close()
        assert self.trouble == []


@pytest.fixture
def windows(browser: Browser, web: WebServer) -> Iterator[Windows]:
    made = Windows(browser, web)
    yield made
    made.close()


@pytest.fixture
def make_windows(browser: Browser) -> Iterator[Callable[[WebServer], Windows]]:
    """Make windows of a server of the test's own."""
    made: list[Windows] = []

    def make(server: WebServer) -> Windows:
        made.append(Windows(browser, server))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def own_web(tmp_path: Path) -> Iterator[WebServer]:
    """A server of the test's own, with a signed-in browser."""
    server = WebServer(tmp_path)
    assert server.sign_in().status == 201
    yield server
    server.close()
