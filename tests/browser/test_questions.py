"""A question can be approved once its end was to be seen, whatever else is on the screen."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import WITHIN, Windows
from tests.frontends.web.server import WebServer

pytestmark = pytest.mark.spec("X8")
expect.set_options(timeout=WITHIN)

_LESS = (-20, 40, 140)  # pixels that a window is lower than the question
# Whether what is to be read ends above the bar with the answers.
_IS_READ = """() => {
  const last = [...document.querySelectorAll(".whole pre")].at(-1).getBoundingClientRect();
  const bar = document.querySelector(".answers").getBoundingClientRect();
  return last.bottom <= bar.top && last.bottom <= innerHeight;
}"""


def test_a_question_whose_end_lies_behind_its_answers_cannot_be_approved(
    windows: Windows, web: WebServer
) -> None:
    more = [word for number in range(2) for word in ("--env", f"NUMBER_{number}=a value")]
    task = web.propose("--name", "publish", *more, "--", "curl", "-X", "POST", "https://example.com/hook")
    number = web.get(f"/api/tasks/{task}").json["row"]["question"]
    context = windows.context()
    pages: list[Page] = []
    for width in (390, 1280):
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 300})
        page.goto(f"/ask/{number}")
        expect(page.get_by_text("Read on to its end")).to_be_visible()
        whole = page.evaluate("() => document.documentElement.scrollHeight")
        for less in _LESS:
            page.set_viewport_size({"width": width, "height": whole - less})
            page.goto(f"/ask/{number}")
            expect(page.locator(".answers")).to_be_visible()
            pages.append(page)
            page = context.new_page()
    pages[-1].wait_for_timeout(1500)  # longer than a question has to stand still
    covered = [page for page in pages if not page.evaluate(_IS_READ)]
    assert 0 < len(covered) < len(pages)
    for page in pages:
        approve = page.get_by_role("button", name="Approve", exact=True)
        if page not in covered:
            expect(approve).to_be_enabled()
            continue
        expect(page.get_by_text("Read on to its end")).to_be_visible()
        expect(approve).to_be_disabled()
    covered[2].get_by_text("Approve for longer").click()  # the bar grows, over more of it
    expect(covered[2].get_by_role("button", name="Always approve")).to_be_disabled()
    covered[0].set_viewport_size({"width": 390, "height": 3000})
    expect(covered[0].get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    assert covered[0].evaluate(_IS_READ)
    covered[1].keyboard.press("y")  # shows its end
    expect(covered[1].get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    assert covered[1].evaluate(_IS_READ)
    web.errands("cancel", task, check=False)
