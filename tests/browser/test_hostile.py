"""Hostile texts, in every view: no script runs, the policy refuses nothing, and the text is there to read."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import WITHIN, Windows
from tests.frontends.web.server import WebServer

pytestmark = [pytest.mark.spec("X8"), pytest.mark.timeout(600)]
expect.set_options(timeout=WITHIN)

_RUN = ("alert(1)", "window.hacked=1", "document.title='hacked'")
_SHAPES = (
    "<script>{0}</script>",
    "<img src=x onerror={0}>",
    "<svg onload={0}>",
    "<svg><script>{0}</script></svg>",
    "<iframe srcdoc='<script>{0}</script>'></iframe>",
    "<iframe src=javascript:{0}>",
    "<body onload={0}>",
    "<input autofocus onfocus={0}>",
    "<details open ontoggle={0}>",
    "<video><source onerror={0}></video>",
    "<a href=javascript:{0}>click</a>",
    "javascript:{0}",
    "javascript:{0}//http://example.org",
    "data:text/html,<script>{0}</script>",
    '"><script>{0}</script>',
    "'><img src=x onerror={0}>",
    "</title><script>{0}</script>",
    "</textarea><script>{0}</script>",
    "</style><script>{0}</script>",
    "</pre></div><script>{0}</script>",
    "--><script>{0}</script>",
    "]]><script>{0}</script>",
    "${{{0}}}",
    "{{{{{0}}}}}",
    "`;{0};`",
    "';{0};//",
    '\\";{0};//',
    "<math href=javascript:{0}>CLICK",
    "<base href=javascript:{0}//>",
    "<link rel=stylesheet href=data:,*%7bx:expression({0})%7d>",
    "<meta http-equiv=refresh content=0;url=javascript:{0}>",
    "<object data=javascript:{0}>",
    "<embed src=javascript:{0}>",
    "<form action=javascript:{0}><button>x</button></form>",
    "<template><script>{0}</script></template>",
    "<x onclick={0} autofocus tabindex=1>x",
    "<style>@import 'x';</style>{0}",
)
_ODD = (
    '{"__proto__":{"hacked":1}}',
    "constructor.prototype.hacked",
    "#code=stolen",
    "/tasks/../api/sign-out",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;img src=x onerror=alert(1)&#62;",
    "A" * 300,
    "שלום עולם",
    "漢字かな交じり文",
)
TEXTS = [shape.format(run) for run in _RUN for shape in _SHAPES] + list(_ODD)


@pytest.fixture(scope="module")
def hostile(web: WebServer) -> Iterator[dict[str, Any]]:
    """Tasks of every kind, full of such texts."""
    whole = "\n".join(TEXTS)
    ids = []
    for text in TEXTS:
        reply = web.post(
            "/api/tasks", {"command": ["printf", "%s\n", text], "description": text, "batch": text[:60]}
        )
        if reply.status == 400:  # not a label
            reply = web.post("/api/tasks", {"command": ["printf", "%s\n", text], "description": text})
        assert reply.status == 201, reply.body
        ids.append(reply.json["row"]["id"])
    program = ["sh", "-c", 'printf "%s\\n" "$1"; printf "%s\\n" "$1" >&2; exit 3', "sh", whole]
    proposed = web.propose("--description", TEXTS[1], "--", "rm", "-rf", *TEXTS[:60])
    found = {
        "failed": web.post("/api/tasks", {"command": program, "description": TEXTS[0]}).json["row"]["id"],
        "agent": web.post("/api/tasks", {"prompt": f"{whole}\nrun `echo '{TEXTS[0]}'`"}).json["row"]["id"],
        "recurring": web.post(
            "/api/tasks", {"command": ["echo", TEXTS[1]], "description": TEXTS[2], "every": "1h"}
        ).json["row"]["id"],
        "files": web.run("--", "sh", "-c", 'touch "$ERRANDS_RUN_DIR/<img src=x onerror=alert(1)>"'),
        "proposed": proposed,
        "question": web.get(f"/api/tasks/{proposed}").json["row"]["question"],
    }
    # The agent takes some of them for commands, and asks about those: it waits for an answer.
    deadline = time.monotonic() + WITHIN / 1000
    for each in (*ids, found["failed"]):
        while (row := web.get(f"/api/tasks/{each}").json["row"])["live"]:
            assert time.monotonic() < deadline, row
            time.sleep(0.05)
    yield found
    for name in ("agent", "recurring", "proposed"):
        web.post(f"/api/tasks/{found[name]}/cancel")


def shown(page: Page, path: str) -> str:
    """Show a view; return its text."""
    page.goto(path)
    expect(page.locator(".loading")).to_have_count(0)
    expect(page.locator("main")).to_be_visible()
    assert page.evaluate("() => window.hacked") is None
    assert "hacked" not in page.title().replace("document.title", "") or page.title().endswith("Errands")
    text: str = page.evaluate("() => document.querySelector('main').textContent")
    return text


def test_there_are_enough_of_them() -> None:
    assert len(set(TEXTS)) >= 120


def test_lists_show_every_text_as_text(windows: Windows, web: WebServer, hostile: dict[str, Any]) -> None:
    page = windows.open("/tasks", viewport={"width": 1600, "height": 1000})
    seen = shown(page, "/tasks")
    rows = {row["id"]: row["what"] for row in web.get("/api/light-tasks").json["rows"]}
    assert len(rows) >= 120
    for place in range(0, len(rows) * 40, 600):
        page.locator(".rows").evaluate("(list, place) => list.scrollTo(0, place)", place)
        page.wait_for_function(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
        )
        seen += str(page.evaluate("() => document.querySelector('main').textContent"))
    # A row that changes meanwhile shows more of its text than a row of the long list does.
    missing = [what for what in rows.values() if what.removesuffix("…") not in seen]
    assert missing == []
    assert page.locator("main script, main iframe, main img, main object, main base").count() == 0


def test_every_view_shows_hostile_text_as_text(
    windows: Windows, web: WebServer, hostile: dict[str, Any]
) -> None:
    page = windows.open("/")
    task = hostile["failed"]
    for path, wanted in {
        "/": TEXTS[0],
        f"/tasks/{task}?tab=facts": TEXTS[0],
        f"/tasks/{task}?tab=runs": "failed",
        f"/tasks/{task}?tab=trace": "",
        f"/tasks/{hostile['agent']}?tab=conversation": TEXTS[-3],
        f"/tasks/{hostile['recurring']}?tab=schedule": TEXTS[2],
        f"/tasks/{hostile['proposed']}": TEXTS[5],
        f"/ask/{hostile['question']}": TEXTS[5],
        "/schedules": TEXTS[2],
        "/notices": TEXTS[0],
        "/agents": TEXTS[0],
        "/timeline?group=batch": "",
        "/figures": "",
        "/settings": "",
    }.items():
        assert wanted in shown(page, path), (path, wanted)
        assert page.locator("main script, main iframe, main img, main object, main base").count() == 0, path
    for path in (
        "/tasks/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "/tasks?text=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&batch=%22%3E%3Csvg%20onload%3Dalert(1)%3E",
    ):
        assert "<" in shown(page, path)


# What is never a text of people: names of ours, times, and what the page asks for again by its name.
_OURS = {
    "state", "kind", "type", "level", "outcome", "verdict", "undo", "can", "id", "task", "digest", "parent",
    "before", "day", "choices", "session", "event", "cause",
}  # fmt: skip
_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
_MOST = 3
ALL = " ".join(TEXTS)


def poisoned(value: Any, key: str = "", path: str = "") -> Any:
    """Return an answer of the server whose every text is all of the hostile ones; of a list, the first."""
    if isinstance(value, dict):
        return {name: poisoned(each, name, path) for name, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each, key, path) for each in value[:_MOST]] + value[_MOST:]
    is_option = key == "name" and path.endswith("/options")
    if not isinstance(value, str) or key in _OURS or is_option or _TIME.match(value):
        return value
    return ALL


def poison(route: Route) -> None:
    answer = route.fetch()
    path = answer.url.partition("?")[0]
    if "/output" in path:  # which has a test of its own
        return route.fulfill(response=answer)
    return route.fulfill(response=answer, json=poisoned(answer.json(), path=path))


def test_every_field_of_every_view_shows_every_text_as_text(
    windows: Windows, web: WebServer, hostile: dict[str, Any]
) -> None:
    page = windows.context().new_page()
    page.route(re.compile(r"/api/(?!stream)"), poison)
    failed, missing = hostile["failed"], {}
    for path, pressed in {
        "/": "",
        "/tasks": "",
        "/tasks?state=failed": "",
        "/timeline": "",
        "/timeline?group=name": "as a table",
        "/agents": "",
        "/schedules": "",
        "/notices": "",
        "/figures": "",
        "/new": "",
        "/new?kind=agent": "",
        "/settings": "Check the installation",
        f"/ask/{hostile['question']}": "",
        f"/tasks/{hostile['proposed']}": "",
        f"/tasks/{hostile['agent']}?tab=conversation": "",
        f"/tasks/{hostile['recurring']}?tab=schedule": "",
        f"/tasks/{hostile['files']}?tab=files": "",
        **{f"/tasks/{failed}?tab={tab}": "" for tab in ("runs", "trace", "facts", "output")},
        "/tasks/never-was": "",
    }.items():
        page.goto(path)
        if pressed:
            page.get_by_role("button", name=pressed).click()
        for text in ("<script>alert(1)</script>", TEXTS[-1]):
            expect(page.locator("main")).to_contain_text(text)
        shown = page.evaluate("() => document.querySelector('main').textContent")
        missing[path] = [each for each in TEXTS if each not in shown]
        assert page.evaluate("() => window.hacked") is None
        assert page.locator("main script, main iframe, main img, main object, main base").count() == 0, path
    assert {path: gone for path, gone in missing.items() if gone} == {}


def test_what_a_verb_answers_is_shown_as_text(
    windows: Windows, web: WebServer, hostile: dict[str, Any]
) -> None:
    page = windows.open(f"/tasks/{hostile['recurring']}")
    page.route(re.compile("/api/tasks/.*/(pause|fire)"), poison)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".toast")).to_contain_text(TEXTS[0])
    web.post(f"/api/tasks/{hostile['recurring']}/unpause")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    assert page.locator(".toast script, .toast img").count() == 0
    page.goto("/tasks/%E0%A4%A")  # not even an address
    expect(page.get_by_role("alert")).to_contain_text("%E0%A4%A")


def test_output_shows_every_text(windows: Windows, web: WebServer, hostile: dict[str, Any]) -> None:
    page = windows.open(f"/tasks/{hostile['failed']}?tab=output", viewport={"width": 1600, "height": 1000})
    expect(page.locator(".log .line").first).to_be_visible()
    seen = ""
    height = page.locator(".log").evaluate("(log) => log.scrollHeight")
    for place in range(0, height + 400, 400):
        page.locator(".log").evaluate("(log, place) => log.scrollTo(0, place)", place)
        page.wait_for_function(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
        )
        seen += "\n".join(page.locator(".log .line").all_inner_texts())
    missing = [text for text in TEXTS if len(text) < 150 and text not in seen]
    assert missing == [], json.dumps(missing)
