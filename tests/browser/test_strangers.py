"""What someone who sees the page for the first time looks for: it is there, in words that say it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, WITHIN, Windows
from tests.frontends.web.server import WebServer

pytestmark = pytest.mark.spec("X8")
expect.set_options(timeout=WITHIN)


def test_the_first_screen_says_why_a_task_failed_and_what_has_just_completed(
    windows: Windows, web: WebServer
) -> None:
    script = "echo 'ValueError: no such table'; echo cleaning up; exit 3"
    failed = web.run("--name", "fails", "--", "sh", "-c", script)
    done = web.run("--name", "works", "--", "true")
    page = windows.open("/")
    row = page.get_by_role("region", name="Failed in the last day").locator("li", has_text=failed)
    expect(row.locator(".cause")).to_have_text("ValueError: no such table")
    expect(page.get_by_role("region", name="Completed in the last hour")).to_contain_text(done)


def test_what_has_ended_is_not_followed(windows: Windows, web: WebServer) -> None:
    task = web.run("--", "sh", "-c", "seq 500")
    page = windows.open(f"/tasks/{task}")
    expect(page.locator(".log .line").last).to_have_text("500")
    expect(page.locator(".log-foot")).to_contain_text("ended")
    expect(page.get_by_role("button", name="follow")).to_have_count(0)
    end = page.get_by_role("button", name="end ↓")
    expect(end).to_be_disabled()  # it is there
    page.locator(".log").focus()
    page.keyboard.press("g")
    expect(page.locator(".log .line").first).to_have_text("1")
    end.click()
    expect(page.locator(".log .line").last).to_have_text("500")


def test_every_view_is_in_reach_on_a_phone(windows: Windows) -> None:
    page = windows.open("/", viewport=PHONE, has_touch=True, is_mobile=True)
    views = page.get_by_role("navigation", name="views")
    expect(views.get_by_role("link")).to_have_text(["Now", "Tasks", "Timeline", "Schedules"])
    views.get_by_text("More").tap()
    expect(views.get_by_role("link")).to_have_text(
        ["Now", "Tasks", "Timeline", "Schedules", "Agents", "Notices", "Figures", "Settings"]
    )
    views.get_by_role("link", name="Notices").tap()
    expect(page.get_by_role("heading", name="Notices", level=1)).to_be_visible()
    expect(views.locator("summary")).to_have_text("Notices")  # where the reader is
    expect(views.get_by_role("link", name="Figures")).to_have_count(0)


def test_a_new_task_is_described_in_words_and_rare_options_are_folded(windows: Windows) -> None:
    page = windows.open("/new")
    for label in ("Folder", "Repeat every", "Start later", "Name"):
        expect(page.get_by_label(label, exact=True)).to_be_visible()
    zone = page.get_by_label("Time zone")
    expect(zone).to_be_hidden()
    page.get_by_text("More about the schedule").click()
    expect(zone).to_be_visible()
    page.get_by_role("button", name="A prompt to an agent").click()
    expect(page.get_by_label("Model", exact=True)).to_be_visible()


def test_a_longer_approval_says_what_it_covers(windows: Windows, web: WebServer) -> None:
    task = web.propose("--name", "covers", "--", "git", "push", "origin", "main")
    number = web.get(f"/api/tasks/{task}").json["row"]["question"]
    page = windows.open(f"/ask/{number}")
    page.get_by_text("Approve for longer").click()
    expect(page.locator(".wide")).to_contain_text(f"Exactly this command in {web.folder}")
    page.evaluate("() => scrollTo(0, document.body.scrollHeight)")  # the configuration of git may be long
    expect(page.get_by_role("button", name="Always approve")).to_be_enabled()
    web.errands("cancel", task, check=False)


def test_a_recurring_task_is_approved_with_one_button(windows: Windows, web: WebServer) -> None:
    task = web.propose("--name", "nightly", "--every", "1d", "--", "git", "push", "origin", "main")
    number = web.get(f"/api/tasks/{task}").json["row"]["question"]
    page = windows.open(f"/ask/{number}")
    expect(page.get_by_text("Every run of this recurring task")).to_be_visible()
    page.evaluate("() => scrollTo(0, document.body.scrollHeight)")  # the configuration of git may be long
    approve = page.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_enabled()
    approve.click()
    expect(page.locator(".answered")).to_contain_text("approved")
    web.errands("cancel", task, check=False)
