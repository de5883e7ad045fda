"""The timeline: zoomed and moved by keys, wheel and pointer, with its window in the address."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, WITHIN, Windows
from tests.frontends.web.server import WebServer

pytestmark = pytest.mark.spec("X8")
expect.set_options(timeout=WITHIN)
BARS = ".bar-group rect"
_BOX = f"document.querySelector('{BARS}').getBoundingClientRect()"


@pytest.fixture(scope="module")
def task(web: WebServer) -> str:
    return web.run("--name", "drawn", "--", "sleep", "0.3")


def window(page: Page) -> str:
    """Return the window that is shown, in words."""
    return page.locator(".window").inner_text()


def test_keys_zoom_and_move_it_and_the_address_has_the_window(
    windows: Windows, web: WebServer, task: str
) -> None:
    page = windows.open("/timeline?window=15m&group=name")
    expect(page.locator(BARS)).to_have_count(1)
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile("window=450s"))
    for seconds in (225, 113, 57, 29):
        page.keyboard.press("+")
        expect(page).to_have_url(re.compile(f"window={seconds}s"))
    page.keyboard.press("-")
    expect(page).to_have_url(re.compile("window=58s"))
    page.keyboard.press("<")
    expect(page).to_have_url(re.compile("until="))  # it no longer follows the time
    shown = window(page)
    page.reload()
    expect(page.locator(".window")).to_have_text(shown)
    page.get_by_role("button", name="now", exact=True).click()
    expect(page).not_to_have_url(re.compile("until="))
    page.get_by_role("button", name="1h", exact=True).click()
    page.get_by_role("button", name="as a table").click()
    expect(page.get_by_role("link", name=task)).to_be_visible()


def test_the_wheel_zooms_at_the_pointer_and_a_drag_moves(windows: Windows, web: WebServer, task: str) -> None:
    until = datetime.now(UTC) + timedelta(minutes=30)  # so that the present is in the middle
    page = windows.open(f"/timeline?window=1h&group=name&until={until:%Y-%m-%dT%H:%M:%SZ}")
    bar = page.locator(BARS).first
    expect(bar).to_be_visible()
    box = bar.bounding_box()
    assert box is not None
    place = box["x"] + 1
    page.mouse.move(place, box["y"] + 5)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -800)
    page.keyboard.up("Control")
    expect(page).to_have_url(re.compile(r"window=\d+s"))
    page.wait_for_function(f"() => {_BOX}.width > 3")
    near = page.locator(BARS).first.bounding_box()
    assert near is not None
    assert abs(near["x"] - place) < 100  # what was under the pointer still is, in a window 50 times as short
    before = page.url
    page.mouse.move(near["x"] - 100, near["y"] + 5)
    page.mouse.down()
    page.mouse.move(near["x"] - 160, near["y"] + 5, steps=4)
    page.mouse.up()
    expect(page).not_to_have_url(before)
    page.wait_for_function(f"(place) => Math.abs({_BOX}.x - place) < 4", arg=near["x"] - 60)
    assert "/tasks/" not in page.url  # a drag is not a click
    page.locator(".bar-group").first.click()
    expect(page.get_by_role("heading", name=task)).to_be_visible()


def test_on_a_phone_it_has_buttons(windows: Windows, web: WebServer, task: str) -> None:
    page = windows.open("/timeline?window=15m", viewport=PHONE, has_touch=True, is_mobile=True)
    expect(page.locator(BARS).first).to_be_visible()
    page.get_by_role("button", name="shorter time").tap()
    expect(page).to_have_url(re.compile("window=450s"))
    page.get_by_role("button", name="earlier").tap()
    expect(page).to_have_url(re.compile("until="))


def test_runs_that_overlap_are_beside_each_other(windows: Windows, web: WebServer) -> None:
    tasks = [
        web.post("/api/tasks", {"command": "sleep 600", "batch": "beside"}).json["row"]["id"]
        for _ in range(3)
    ]
    page = windows.open("/timeline?window=10s&group=batch")
    bars = page.locator(".bar-group.run rect")
    expect(bars).to_have_count(3)
    boxes = [each.bounding_box() for each in bars.all()]
    places = sorted((box["y"], box["y"] + box["height"]) for box in boxes if box)
    assert len(places) == 3
    assert all(one[1] <= other[0] for one, other in pairwise(places))
    web.errands("cancel", *tasks, check=False)
