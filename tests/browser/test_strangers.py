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


def test_a_long_cause_is_whole_on_a_phone_and_what_ended_last_comes_first(
    windows: Windows, web: WebServer
) -> None:
    cause = "ValueError: there is no such table in the database of the shop, and none was ever made there"
    failed = web.run("--name", "phone", "--", "sh", "-c", f"echo '{cause}'; exit 3")
    slow = web.post("/api/tasks", {"command": "read line", "name": "slow", "input": "pipe"}).json["row"]["id"]
    quick = web.run("--name", "quick", "--", "true")
    web.errands("send", slow, "go")
    web.errands("wait", slow)
    page = windows.open("/", viewport=PHONE, has_touch=True, is_mobile=True)
    shown = page.locator("li", has_text=failed).locator(".cause")
    expect(shown).to_have_text(cause)
    assert shown.evaluate("each => each.scrollWidth <= each.clientWidth")
    ids = page.get_by_role("region", name="Completed in the last hour").locator(".id").all_inner_texts()
    assert ids.index(slow) < ids.index(quick)


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
    for label in ("Directory", "Repeat every", "Start later", "Name"):
        expect(page.get_by_label(label, exact=True)).to_be_visible()
    zone = page.get_by_label("Time zone")
    expect(zone).to_be_hidden()
    page.get_by_text("More about the schedule").click()
    expect(zone).to_be_visible()
    page.get_by_role("button", name="A prompt to an agent").click()
    expect(page.get_by_label("Model", exact=True)).to_be_visible()


def test_a_bare_number_is_no_interval(windows: Windows) -> None:
    page = windows.open("/new")
    page.get_by_label("Command, as in a shell").fill("true")
    page.get_by_label("Repeat every").fill("30")
    expect(page.get_by_text("30 what? Write 30s, 30m, 30h or 30d.")).to_be_visible()
    expect(page.get_by_role("button", name="Schedule", exact=True)).to_be_disabled()
    page.get_by_label("Repeat every").fill("30m")
    expect(page.get_by_text("First runs:")).to_be_visible()
    expect(page.get_by_role("button", name="Schedule", exact=True)).to_be_enabled()


def test_a_question_says_that_the_reason_is_ours(windows: Windows, web: WebServer) -> None:
    task = web.propose("--name", "ours", "--", "git", "push", "origin", "main")
    number = web.get(f"/api/tasks/{task}").json["row"]["question"]
    page = windows.open(f"/ask/{number}")
    expect(page.get_by_text("why Errands asks").first).to_be_visible()
    web.errands("cancel", task, check=False)


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


def test_a_long_question_leaves_room_for_the_others_and_is_answered_where_all_of_it_is(
    windows: Windows, web: WebServer
) -> None:
    lines = "\n".join(f"echo step {number}" for number in range(60))
    tasks = [
        web.propose("--name", "lengthy", "--", "sudo", "sh", "-c", lines),
        web.propose("--name", "brief", "--", "sudo", "true"),
    ]
    page = windows.open("/")
    card = page.locator(".question", has_text=tasks[0])
    expect(card).to_contain_text("echo step 3")
    expect(card).not_to_contain_text("echo step 4")
    expect(card.get_by_role("button")).to_have_count(0)  # nothing is approved that is not shown
    expect(page.locator(".question", has_text=tasks[1]).get_by_role("button", name="Reject")).to_be_visible()
    card.get_by_role("link", name="Read all of it and answer").click()
    expect(page.get_by_text("echo step 59")).to_be_attached()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_disabled()
    page.evaluate("() => scrollTo(0, document.body.scrollHeight)")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    web.errands("cancel", *tasks, check=False)


def test_a_list_says_what_each_task_does_or_waits_for(windows: Windows, web: WebServer) -> None:
    first = web.post("/api/tasks", {"command": "sleep 600", "name": "first"}).json["row"]["id"]
    later = web.post("/api/tasks", {"command": "true", "name": "later", "after": [first]}).json["row"]["id"]
    asked = web.propose("--name", "asked", "--", "git", "push", "origin", "main")
    often = web.post("/api/tasks", {"command": "true", "name": "often", "every": "1h"}).json["row"]["id"]
    page = windows.open("/tasks")
    for task, *texts in (
        (first, "running"),
        (later, "pending", "waiting for 1 task"),
        (asked, "proposed", "waiting for approval: "),
        (often, "active", "every 1h", "in "),
    ):
        row = page.get_by_role("listitem").filter(has_text=task)
        for text in texts:
            expect(row).to_contain_text(text)
    web.errands("cancel", first, later, asked, often, check=False)


def test_the_page_of_a_failed_task_tells_why(windows: Windows, web: WebServer) -> None:
    script = "echo 'ValueError: no such table'; seq 300; exit 3"
    page = windows.open(f"/tasks/{web.run('--', 'sh', '-c', script)}")
    expect(page.locator(".task-cause")).to_have_text("ValueError: no such table")
    expect(page.locator(".log .line").last).to_have_text("300")


def test_a_program_that_reads_its_input_is_answered_below_its_output(
    windows: Windows, web: WebServer
) -> None:
    body = {"command": "echo 'Go on?'; read line; echo got $line", "input": "pipe"}
    page = windows.open(f"/tasks/{web.post('/api/tasks', body).json['row']['id']}")
    expect(page.locator(".log .line").last).to_have_text("Go on?")
    page.get_by_label("a line of input").fill("of course")
    page.keyboard.press("Enter")
    expect(page.locator(".log .line").last).to_have_text("got of course")
    expect(page.get_by_label("a line of input")).to_have_count(0)
