"""Security where the browser itself decides: other servers, other pages and other names of this machine."""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error, expect

from tests.browser.conftest import CHROMIUM, WITHIN, Windows
from tests.frontends.web.server import WebServer

pytestmark = pytest.mark.spec("X8")
expect.set_options(timeout=WITHIN)


class Other:
    """Another server of this machine, as an agent may have started one; it keeps what it is sent."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.page = "<title>other</title>"
        other = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                other.heard.append(f"{self.requestline}\n{self.headers}")
                content = other.page.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *words: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def other() -> Iterator[Other]:
    made = Other()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_another_port_of_this_machine_gets_neither_key_nor_cookie(
    windows: Windows, web: WebServer, other: Other
) -> None:
    page = windows.open("/")
    expect(page.locator(".live")).to_have_text("● live")
    assert page.context.cookies() == []
    elsewhere = page.context.browser
    assert elsewhere is not None
    window = elsewhere.new_context(
        storage_state=page.context.storage_state()
    )  # the same browser, as it is now
    try:
        tab = window.new_page()
        tab.goto(other.url)
        assert tab.evaluate("() => localStorage.length + document.cookie.length") == 0
        tab.goto(web.url)
        expect(tab.locator(".live")).to_have_text("● live")  # it is signed in here
    finally:
        window.close()
    assert other.heard
    assert all(web.key not in each and "cookie" not in each.lower() for each in other.heard)


@pytest.mark.parametrize("how", ["cors", "no-cors"])
def test_a_page_of_another_server_changes_and_reads_nothing(
    windows: Windows, web: WebServer, other: Other, how: str
) -> None:
    page = windows.context().new_page()
    page.goto(other.url)
    tasks = [row["id"] for row in web.get("/api/light-tasks").json["rows"]]
    asked = """
    async ([url, mode, key]) => {
      const body = JSON.stringify({ command: "echo planted" });
      const all = [["POST", "/api/tasks"], ["GET", "/api/tasks"], ["GET", "/"]];
      const tries = all.map(async ([method, path]) => {
        const headers = { "Content-Type": mode === "cors" ? "application/json" : "text/plain" };
        if (mode === "cors") headers.Authorization = `Bearer ${key}`;
        const more = method === "POST" ? { body } : {};
        const answer = await fetch(url + path, { method, mode, headers, credentials: "include", ...more });
        return answer.text();
      });
      return (await Promise.allSettled(tries)).map((each) => each.value || "");
    }
    """
    # Even with the key, which it does not have.
    assert page.evaluate(asked, [web.url, how, web.key]) == ["", "", ""]
    assert [row["id"] for row in web.get("/api/light-tasks").json["rows"]] == tasks


def test_a_form_of_another_server_changes_nothing(windows: Windows, web: WebServer, other: Other) -> None:
    other.page = (
        f'<form method=post enctype=text/plain action="{web.url}/api/tasks">'
        """<input name='{"command": "echo planted", "x": "' value='"}'></form>"""
        "<script>document.forms[0].submit()</script>"
    )
    page = windows.context().new_page()
    with page.expect_response(f"{web.url}/api/tasks") as sent:
        page.goto(other.url)
    assert sent.value.status == 403
    assert "planted" not in web.get("/api/light-tasks").body.decode()


def test_the_page_is_shown_in_no_frame_and_its_script_runs_nowhere_else(
    windows: Windows, web: WebServer, other: Other
) -> None:
    script = web.get("/").body.decode().partition('<script type="module" src="')[2].partition('"')[0]
    other.page = (
        f'<iframe src="{web.url}/"></iframe><script type=module src="{web.url}{script}" '
        "onload=\"document.title='ran'\" onerror=\"document.title='refused'\"></script>"
    )
    page = windows.context().new_page()
    page.goto(other.url)
    expect(page).to_have_title("refused")
    assert [frame.url for frame in page.frames if frame.url.startswith(web.url)] == []


def test_a_page_that_opens_ours_has_no_hold_of_it(windows: Windows, web: WebServer, other: Other) -> None:
    page = windows.context().new_page()
    page.goto(other.url)
    with page.context.expect_page() as opened:
        page.evaluate("(url) => { window.held = open(url); }", web.url)
    expect(opened.value.locator(".live")).to_have_text("● live")
    assert opened.value.evaluate("() => window.opener") is None
    assert page.evaluate("() => window.held.closed") is True  # to its opener it is gone


def test_a_script_that_is_put_into_the_page_does_not_run(browser: Browser, web: WebServer) -> None:
    context = browser.new_context(base_url=web.url)  # not one that takes a refusal of the policy for trouble
    try:
        page = context.new_page()
        page.goto("/")
        expect(page.get_by_text("This browser is not signed in")).to_be_visible()
        for attempt in (
            "document.body.innerHTML = '<img src=x onerror=\"window.ran = 1\">'",
            "document.body.appendChild(document.createElement('script')).text = 'window.ran = 1'",
            "document.body.insertAdjacentHTML('beforeend', '<svg onload=\"window.ran = 1\">')",
        ):
            with pytest.raises(Error, match="Trusted"):
                page.evaluate(f"() => {{ {attempt} }}")
        assert page.evaluate("() => window.ran") is None
    finally:
        context.close()


def test_another_name_that_leads_here_is_refused(browser: Browser, web: WebServer) -> None:
    """A site can let its own name lead to this machine; its pages would then be of our origin."""
    assert CHROMIUM is not None
    rebound = browser.browser_type.launch(
        executable_path=CHROMIUM,
        args=[
            "--host-resolver-rules=MAP rebound.test 127.0.0.1",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
        ],
    )
    try:
        page = rebound.new_page()
        answer = page.goto(f"http://rebound.test:{web.port}/")
        assert answer is not None
        assert answer.status == 421
        assert "another host name" in answer.text()
    finally:
        rebound.close()
