"""What people do on the page, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, WITHIN, Windows
from tests.frontends.web.server import WebServer

pytestmark = pytest.mark.spec("X8")
expect.set_options(timeout=WITHIN)


def test_the_link_of_the_terminal_signs_a_browser_in_once(
    make_windows: Callable[[WebServer], Windows], tmp_path: Path
) -> None:
    web = WebServer(tmp_path)
    try:
        windows = make_windows(web)
        page = windows.open("/", key="")
        expect(page.get_by_text("This browser is not signed in")).to_be_visible()
        page.goto(f"/tasks#code={web.code}")
        expect(page.get_by_text("There are no tasks yet")).to_be_visible()
        assert web.code not in page.url  # nor in the history
        again = windows.open(f"/#code={web.code}", key="")
        expect(again.get_by_role("alert")).to_contain_text("was used")
    finally:
        web.close()


def test_a_command_is_started_and_its_output_arrives(
    windows: Windows, web: WebServer, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    page = windows.open("/new")
    page.get_by_label("Command, as in a shell").fill(
        f"echo the first line; while ! [ -e {go} ]; do sleep 0.05; done; echo the second line"
    )
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_enabled()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text("the first line", exact=True)).to_be_visible()
    expect(page.locator(".log .line", has_text=re.compile("^the second line$"))).to_have_count(0)
    go.touch()
    # It comes by itself.
    expect(page.locator(".log .line", has_text=re.compile("^the second line$"))).to_be_visible()
    expect(page.locator(".task-name")).to_contain_text("completed")


def test_a_running_task_is_cancelled_after_a_question(windows: Windows, web: WebServer) -> None:
    task = web.post("/api/tasks", {"command": "sleep 600"}).json["row"]["id"]
    page = windows.open(f"/tasks/{task}")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("heading", name=f"Cancel {task}?")).to_be_visible()
    expect(page.get_by_role("dialog").get_by_role("button")).to_have_text(
        ["Cancel the task", "Keep it running"]
    )
    page.get_by_role("dialog").get_by_role("button", name="Cancel the task").click()
    expect(page.locator(".task-name")).to_contain_text("cancelled")


def test_a_question_is_approved_at_the_desk(windows: Windows, web: WebServer) -> None:
    task = web.propose("--name", "desk", "--", "git", "push", "--force", "origin", "main")
    page = windows.open("/")
    card = page.locator(".question", has_text=task)
    expect(card).to_contain_text("git push --force origin main")
    approve = card.get_by_role("button", name="Approve", exact=True)
    approve.scroll_into_view_if_needed()
    if card.get_by_label("Type yes to approve").count():
        expect(approve).to_be_disabled()
        card.get_by_label("Type yes to approve").fill("yes")
    approve.click()
    expect(card).to_have_count(0)
    assert web.get(f"/api/tasks/{task}").json["row"]["state"] != "proposed"


def test_an_approval_on_a_phone_needs_the_whole_text_in_view_and_at_most_three_taps(
    windows: Windows, web: WebServer
) -> None:
    lines = "\n".join(f"echo step {number} && make install" for number in range(80))
    task = web.propose("--name", "long", "--", "sudo", "sh", "-c", lines)
    number = web.get(f"/api/tasks/{task}").json["row"]["question"]
    page = windows.open(f"/ask/{number}", viewport=PHONE, has_touch=True, is_mobile=True)
    approve = page.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_visible()
    expect(page.get_by_text("Read on to its end")).to_be_visible()
    expect(approve).to_be_disabled()
    for button in (approve, page.get_by_role("button", name="Reject")):
        box = button.bounding_box()
        assert box is not None
        assert min(box["height"], box["width"]) >= 44
    page.evaluate("() => scrollTo(0, document.body.scrollHeight)")
    taps = 0
    field = page.get_by_label("Type yes to approve")
    if field.count():
        field.tap()
        taps += 1
        page.keyboard.type("yes")
    expect(approve).to_be_enabled()
    approve.tap()
    taps += 1
    assert taps <= 3
    expect(page.locator(".answered")).to_contain_text("approved")
    web.errands("cancel", task, check=False)


def test_a_question_is_rejected_with_a_note_by_keys_alone(windows: Windows, web: WebServer) -> None:
    task = web.propose("--name", "keys", "--", "rm", "-rf", "/nowhere/at/all")
    number = web.get(f"/api/tasks/{task}").json["row"]["question"]
    page = windows.open(f"/ask/{number}")
    expect(page.get_by_role("button", name="Reject")).to_be_visible()
    page.keyboard.press("n")
    page.keyboard.type("not today")
    page.keyboard.press("Enter")
    expect(page.locator(".answered")).to_contain_text("rejected")
    entry = web.get("/api/audit", task=task).json["entries"][0]
    assert (entry["state"], entry["note"]) == ("refused", "not today")


def test_a_key_answers_no_question_that_only_happens_to_be_on_the_screen(
    windows: Windows, web: WebServer
) -> None:
    tasks = [web.propose("--name", name, "--", "sh", f"/nowhere/{name}.sh") for name in ("one", "two")]
    page = windows.open("/")
    for task in tasks:
        card = page.locator(".question", has_text=task)
        card.scroll_into_view_if_needed()
        expect(card.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    page.keyboard.press("y")  # shows one of them alone
    expect(page).to_have_url(re.compile(r"/ask/\d+$"))
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    assert {web.get(f"/api/tasks/{task}").json["row"]["state"] for task in tasks} == {"proposed"}
    page.keyboard.press("y")
    expect(page.locator(".answered")).to_contain_text("approved")
    states = [web.get(f"/api/tasks/{task}").json["row"]["state"] for task in tasks]
    assert states.count("proposed") == 1


def test_an_agent_is_resumed(windows: Windows, web: WebServer) -> None:
    task = web.post("/api/tasks", {"prompt": "run `echo hi`"}).json["row"]["id"]
    page = windows.open(f"/tasks/{task}")
    expect(page.get_by_text("run `echo hi`").last).to_be_visible()
    call = page.locator("details.call").first
    expect(call).to_be_visible()
    call.locator("summary").click()
    expect(call.get_by_text("Arguments")).to_be_visible()
    page.get_by_label("The next prompt").fill("run `echo again`")
    page.get_by_role("button", name="Resume").last.click()
    expect(page.locator(".exchange")).to_have_count(2)
    expect(page.locator(".exchange").last.locator(".answer")).to_be_visible()


def test_a_schedule_ticks(windows: Windows, web: WebServer) -> None:
    task = web.post("/api/tasks", {"command": "echo tick", "every": "2s", "name": "ticks"}).json["row"]["id"]
    page = windows.open("/schedules")
    card = page.locator(".card", has_text=task)
    expect(card).to_contain_text(re.compile(r"next (in \d+ s|now)"))
    expect(card).to_contain_text(re.compile(r"· [2-9] runs"))  # by itself
    card.get_by_role("button", name="Pause").click()
    expect(card.get_by_role("button", name="Unpause")).to_be_visible()
    card.get_by_role("link", name=task).click()
    expect(page.locator(".slots li").first).to_contain_text("ran")
    web.errands("cancel", task, check=False)


def test_another_schedule_is_one_click_away_and_can_be_typed_at_once(
    windows: Windows, web: WebServer
) -> None:
    task = web.post("/api/tasks", {"command": "echo tock", "every": "1h"}).json["row"]["id"]
    page = windows.open("/schedules")
    expect(page.locator(".card", has_text=task)).to_be_visible()
    page.get_by_role("link", name="Schedule something").click()
    expect(page.get_by_label("Command, as in a shell")).to_be_focused()
    expect(page.get_by_label("Repeat every")).to_have_value("30m")
    page.get_by_role("button", name="A prompt to an agent").click()
    expect(page.get_by_label("Prompt", exact=True)).to_be_focused()
    page.get_by_role("button", name="A command").click()
    page.keyboard.type("echo in half an hour")
    expect(page.get_by_text("First runs: ")).to_be_visible()
    page.get_by_role("button", name="Schedule", exact=True).click()
    expect(page.get_by_role("tab", name="Schedule")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".next li").first).to_contain_text("in 30 min")
    other = page.locator("h1").inner_text()
    web.errands("cancel", task, other, check=False)


def test_tasks_are_found_filtered_and_removed_together(windows: Windows, web: WebServer) -> None:
    tasks = [web.run("--batch", "many", "--", "echo", f"number {number}") for number in range(3)]
    other = web.run("--", "echo", "another")
    page = windows.open("/tasks?batch=many")
    expect(page.get_by_role("listitem")).to_have_count(3)
    page.get_by_label("search tasks").last.fill("number 1")
    expect(page.get_by_role("listitem")).to_have_count(1)
    expect(page).to_have_url(re.compile("text=number"))
    page.get_by_label("search tasks").last.fill("nothing has this")
    expect(page.get_by_text("No task matches.")).to_contain_text(
        "are hidden by text: nothing has this, batch: many"
    )
    newer = web.run("--", "echo", "news that do not fit either")
    with page.expect_response(re.compile(f"light-tasks.*{newer}")):
        web.errands("restart", newer, check=False)
    page.evaluate("() => new Promise((drawn) => setTimeout(() => requestAnimationFrame(drawn), 200))")
    assert (
        "are hidden by" in page.get_by_text("No task matches.").inner_text()
    )  # at once: it is read again later
    page.get_by_role("button", name="Clear the filters").click()
    expect(page.get_by_text(other).first).to_be_visible()
    page.goto("/tasks?batch=many")
    page.get_by_label(f"select {tasks[0]}").check()
    page.get_by_role("button", name="all 3 that match").click()
    page.get_by_role("button", name="remove", exact=True).click()
    expect(page.get_by_role("heading", name="Remove 3 tasks?")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Yes, remove").click()
    expect(page.get_by_text("No task matches.")).to_be_visible()
    assert web.get(f"/api/tasks/{tasks[0]}").status == 404
    assert web.get(f"/api/tasks/{other}").status == 200


def test_a_list_of_many_pages_is_read_whole(windows: Windows, web: WebServer) -> None:
    tasks = [web.run("--batch", "pages", "--", "echo", f"page {number}") for number in range(8)]
    page = windows.context().new_page()
    # The server's own pages, but of two or three rows.
    small = lambda route: route.continue_(url=re.sub(r"limit=\d+", "limit=3", route.request.url))  # noqa: E731
    page.route(re.compile(r"light-tasks.*limit="), small)
    page.goto("/tasks?batch=pages")
    expect(page.get_by_text("8 tasks", exact=True)).to_be_visible()
    assert page.locator(".row .id").all_inner_texts() == tasks[::-1]
    page.get_by_label(f"select {tasks[0]}").check()
    expect(page.get_by_role("button", name="all 8 that match")).to_be_visible()


def test_a_text_is_found_in_output_that_was_not_read_yet(windows: Windows, web: WebServer) -> None:
    task = web.run("--", "sh", "-c", "echo needle in front; seq 1 40000")
    page = windows.open(f"/tasks/{task}")
    expect(page.locator(".log .line", has_text="40000")).to_be_visible()
    assert page.locator(".log .line").count() < 120
    page.keyboard.press("/")
    page.keyboard.type("needle")
    page.keyboard.press("Enter")
    expect(page.locator(".log mark")).to_have_text("needle")
    expect(page.get_by_text("1 of 1")).to_be_visible()
    page.keyboard.press("G")
    expect(page.locator(".log .line", has_text="40000")).to_be_visible()


def test_of_output_only_what_matches_is_shown_and_each_line_leads_to_its_place(
    windows: Windows, web: WebServer
) -> None:
    task = web.run("--", "sh", "-c", "seq 1 20000 | sed 's/^\\(.*00\\)$/\\1 round/'; echo end")
    page = windows.open(f"/tasks/{task}")
    expect(page.locator(".log .line", has_text="end")).to_be_visible()
    page.get_by_label("find in the output").fill("ROUND")
    page.keyboard.press("Enter")
    expect(page.get_by_text("200 of 200")).to_be_visible()  # the last one, as the reader was at the end
    page.get_by_role("button", name="only matches").click()
    expect(page.locator(".log .line").first).to_have_text("100 round")
    expect(page.locator(".log .line").nth(1)).to_have_text("200 round")
    expect(page.locator(".log-foot")).to_contain_text("200 lines of")
    page.get_by_role("button", name="300 round", exact=True).click()
    expect(page.get_by_text("3 of 200")).to_be_visible()
    expect(page.locator(".log .line", has_text=re.compile("^301$"))).to_be_visible()
    # More than one answer has: the others are read when the reader gets there.
    page.get_by_label("find in the output").fill("1")
    page.keyboard.press("Enter")
    expect(page.get_by_text("of 500+")).to_be_visible()
    page.get_by_role("button", name="only matches").click()
    page.locator(".log").evaluate("(log) => log.scrollTo(0, log.scrollHeight)")
    expect(page.locator(".log-foot")).to_contain_text("1,000+ lines of")


def test_the_keyboard_alone_leads_to_a_task_and_back(windows: Windows, web: WebServer) -> None:
    task = web.run("--", "echo", "by keys")
    page = windows.open("/")
    expect(page.locator(".live")).to_have_text("● live")
    page.keyboard.press("2")
    expect(page.get_by_text(task).first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=task)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("/tasks$"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("cancel (asks)")
    assert page.get_by_role("dialog").evaluate("(dialog) => dialog.scrollTop") == 0


def test_a_task_that_is_removed_says_so(windows: Windows, web: WebServer) -> None:
    task = web.run("--", "echo", "gone soon")
    page = windows.open(f"/tasks/{task}")
    expect(page.get_by_role("heading", name=task)).to_be_visible()
    web.errands("clear", task, check=False)
    expect(page.get_by_role("alert")).to_be_visible()


def test_dark_and_light(windows: Windows) -> None:
    def ground(page: Page) -> str:
        expect(page.locator(".live")).to_have_text("● live")
        found: str = page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")
        return found

    dark = windows.open("/settings", color_scheme="dark")
    assert ground(dark) == "rgb(15, 18, 22)"
    assert ground(windows.open("/settings", color_scheme="light")) == "rgb(255, 255, 255)"
    dark.get_by_role("button", name="light", exact=True).click()
    assert ground(dark) == "rgb(255, 255, 255)"
    dark.reload()
    assert ground(dark) == "rgb(255, 255, 255)"
