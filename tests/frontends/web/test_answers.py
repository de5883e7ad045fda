"""The answers: what the engine knows, in the shapes of the table, and verbs that do what they say."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from errands.frontends.web.api.operations import OPERATIONS
from tests.frontends.web.server import WITHIN, WebServer
from tests.frontends.web.test_table import matches

pytestmark = pytest.mark.spec("X24")


@pytest.fixture(scope="module")
def tasks(web: WebServer) -> dict[str, str]:
    """Tasks of every kind, by what they are."""
    web.errands("template", "save", "greet", "--", "echo", "hello {{name}}")
    found = {
        "failed": web.run("--name", "fails", "--", "sh", "-c", "echo oops; exit 3"),
        "completed": web.run("--batch", "b1", "--", "echo", "fine"),
        "proposed": web.propose("rm -rf /nowhere/x"),
        "recurring": web.post("/api/tasks", {"command": "true", "every": "1h"}).json["row"]["id"],
        "held": web.post("/api/tasks", {"command": "true", "hold": True}).json["row"]["id"],
    }
    asked = web.post("/api/tasks", {"prompt": "run `echo hi`"}).json["row"]["id"]
    ended(web, asked)
    return {**found, "agent": asked}


def ended(web: WebServer, task: str) -> dict[str, Any]:
    """Wait until a task has ended; return its row."""
    return until(web, task, lambda row: not row["live"])


def until(web: WebServer, task: str, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    deadline = time.monotonic() + WITHIN
    while not fits(row := web.get(f"/api/tasks/{task}").json["row"]):
        assert time.monotonic() < deadline, row
        time.sleep(0.02)
    found: dict[str, Any] = row
    return found


READING = [each for each in OPERATIONS if each.method == "GET" and "/" not in each.answer]


@pytest.mark.parametrize("operation", READING, ids=lambda each: each.name)
def test_every_answer_has_its_shape_for_every_kind_of_task(
    web: WebServer, tasks: dict[str, str], operation: Any
) -> None:
    needed = {"output-find": {"text": "o"}}.get(operation.name, {})
    path = operation.path.replace("{number}", "1")
    for kind, task in tasks.items() if "{id}" in path else [("", "")]:
        reply = web.get(path.replace("{id}", task), **needed)
        if reply.status == 200:
            matches(operation.answer, reply.json)
        else:
            # Only what has no output, no schedule or no conversation is refused.
            assert reply.status in (400, 404), (kind, reply.body)
            assert operation.name in ("slots", "conversation", "output", "output-end", "output-find"), kind
    if operation.name == "conversation":
        assert web.get(path.replace("{id}", tasks["agent"])).status == 200
    if operation.name == "slots":
        assert web.get(path.replace("{id}", tasks["recurring"]), month="2026-11").status == 200


def test_the_overview_has_what_waits_and_what_failed(web: WebServer, tasks: dict[str, str]) -> None:
    found = web.get("/api/overview").json
    assert tasks["proposed"] in [row["id"] for row in found["waiting"]]
    assert tasks["failed"] in [row["id"] for row in found["failed"]]
    assert tasks["recurring"] in [each["task"] for each in found["coming"]]
    assert found["counts"]["waiting"] == 1
    later = web.get("/api/overview", failed_since="2199-01-01T00:00:00Z").json
    assert later["failed"] == []


def test_the_overview_has_the_current_run_of_a_recurring_task(web: WebServer) -> None:
    task = web.post("/api/tasks", {"command": "read line", "every": "1h", "input": "pipe"}).json["row"]["id"]
    web.errands("fire", task)
    row = until(web, task, lambda row: row["live"] and row["started_at"])

    running = [each["id"] for each in web.get("/api/overview").json["running"]]
    web.errands("cancel", task)
    assert task in running, row


def test_a_row_says_what_the_command_line_says(web: WebServer, tasks: dict[str, str]) -> None:
    row = web.get(f"/api/tasks/{tasks['failed']}").json["row"]
    assert row["said"] == {"state": "failed", "more": "exit 3"}
    assert row["what"] == "sh -c 'echo oops; exit 3'"


def test_a_list_is_filtered_paged_and_counted(web: WebServer, tasks: dict[str, str]) -> None:
    def ids(**query: Any) -> list[str]:
        return [row["id"] for row in web.get("/api/tasks", **query).json["rows"]]

    assert ids(state="failed") == [tasks["failed"]]
    assert ids(state="proposed,failed") == [tasks["proposed"], tasks["failed"]]
    assert ids(batch="b1") == [tasks["completed"]]
    assert ids(kind="agent") == [tasks["agent"]]
    assert ids(text="OOPS") == [tasks["failed"]]
    assert ids(ids=f"{tasks['failed']},{tasks['held']}") == [tasks["held"], tasks["failed"]]
    first = web.get("/api/tasks", limit=2).json
    rest = web.get("/api/tasks", limit=500, before=first["before"]).json
    assert len(first["rows"]) == 2
    assert first["total"] == 2 + len(rest["rows"])
    assert rest["before"] is None
    empty = web.get("/api/tasks", batch="none").json
    assert (empty["rows"], empty["total"], empty["hidden"]) == ([], 0, first["total"])


@pytest.mark.parametrize(
    "window",
    [
        {"until": "0001-01-01T00:02:00Z"},
        {"since": "0187-01-28T00:03:00Z", "until": "0001-01-01T00:02:00Z"},
        {"since": "9999-12-31T23:59:59Z"},
        {"since": "0001-01-01T00:00:00+14:00", "until": "0001-01-01T00:00:00+14:00"},
    ],
)
def test_a_timeline_that_ends_before_it_begins_is_refused(web: WebServer, window: dict[str, str]) -> None:
    reply = web.get("/api/timeline", **window)
    assert reply.status == 400, reply.body
    assert "since must be before until" in reply.detail


def test_light_rows_are_light(web: WebServer, tasks: dict[str, str]) -> None:
    rows = web.get("/api/light-tasks").json["rows"]
    assert [row["id"] for row in rows] == [row["id"] for row in web.get("/api/tasks").json["rows"]]
    assert max(len(json.dumps(row)) for row in rows) <= 400
    assert [row["more"] for row in rows if row["id"] == tasks["failed"]] == ["exit 3"]


def test_verbs_change_what_they_name(web: WebServer, tasks: dict[str, str]) -> None:
    task = web.post("/api/tasks", {"command": "sleep 1000", "hold": True}).json["row"]["id"]

    def act(verb: str, body: Any = None) -> dict[str, Any]:
        reply = web.post(f"/api/tasks/{task}/{verb}", body)
        assert reply.status == 200, reply.body
        matches("Changed", reply.json)
        found: dict[str, Any] = reply.json["row"]
        return found

    def can() -> list[str]:
        found: list[str] = web.get(f"/api/tasks/{task}").json["can"]
        return found

    assert {"release", "cancel", "move"} <= set(can())
    assert act("release")["state"] in ("pending", "running")
    until(web, task, lambda row: row["state"] == "running")
    assert {"cancel", "pause"} <= set(can())
    assert "stop" not in can()  # which would be the same as to cancel it
    act("pause")
    assert "unpause" in can()
    act("unpause")
    act("cancel")
    assert ended(web, task)["state"] == "cancelled"
    assert {"restart", "clear"} <= set(can())
    act("restart")
    act("cancel")
    ended(web, task)
    assert web.ask("DELETE", f"/api/tasks/{task}").json["said"]["text"] == f"cleared {task}"
    assert web.get(f"/api/tasks/{task}").status == 404


def test_input_reaches_a_running_task(web: WebServer) -> None:
    script = "import sys; print('got', sys.stdin.readline())"
    body = {"command": [sys.executable, "-c", script], "input": "pipe"}
    task = web.post("/api/tasks", body).json["row"]["id"]
    until(web, task, lambda row: row["state"] == "running")
    assert "send" in web.get(f"/api/tasks/{task}").json["can"]
    assert web.post(f"/api/tasks/{task}/send", {"text": "marmalade\n"}).status == 200
    ended(web, task)
    assert "got marmalade" in web.get(f"/api/tasks/{task}/output").json["text"]


def test_an_agent_is_resumed_and_its_conversation_shown(web: WebServer, tasks: dict[str, str]) -> None:
    task = tasks["agent"]
    found = web.get(f"/api/tasks/{task}/conversation").json
    assert found["resumable"]
    calls = found["exchanges"][0]["calls"]
    assert [call["failed"] for call in calls] == [False]
    assert web.get(f"/api/tasks/{calls[0]['task']}").json["parent"]["id"] == task
    assert web.post(f"/api/tasks/{task}/resume", {"prompt": "and again?"}).status == 200
    ended(web, task)
    prompts = [each["prompt"] for each in web.get(f"/api/tasks/{task}/conversation").json["exchanges"]]
    assert prompts == ["run `echo hi`", "and again?"]


def test_a_batch_acts_on_all_that_match_if_they_are_as_many_as_expected(web: WebServer) -> None:
    for _ in range(3):
        web.post("/api/tasks", {"command": "sleep 1000", "batch": "many", "hold": True})
    body: dict[str, Any] = {"verb": "cancel", "query": {"batch": "many"}, "expected": 2}
    refused = web.post("/api/batch", body)
    assert refused.status == 409
    assert refused.json["kind"] == "Changed"
    assert "more than 2" in refused.detail
    assert len(web.get("/api/tasks", batch="many", state="pending").json["rows"]) == 3
    done = web.post("/api/batch", {**body, "expected": 3})
    matches("BatchDone", done.json)
    assert len(done.json["done"]) == 3
    assert web.get("/api/tasks", batch="many", state="cancelled").json["total"] == 3
    again = web.post("/api/batch", {**body, "verb": "pause", "expected": 3}).json
    assert (again["done"], [each["kind"] for each in again["refused"]]) == ([], ["IllegalMove"] * 3)


def test_a_person_approves_what_was_shown(web: WebServer, tmp_path: Path) -> None:
    task = web.propose("rm -rf /nowhere/y")
    number = web.get(f"/api/tasks/{task}").json["row"]["question"]
    found = web.get(f"/api/questions/{number}").json
    matches("AnyQuestion", found)
    question = found["open"]
    assert {"name": "command", "value": "rm -rf /nowhere/y"} in question["facts"]
    assert question["lasting"]
    assert [each["name"] for each in question["answers"]] == ["once", "always", "no"]
    answer = {"question": question["id"], "digest": question["digest"], "answer": "once"}
    reply = web.post(f"/api/tasks/{task}/approve", answer)
    assert reply.status == 200, reply.body
    assert ended(web, task)["state"] == "completed"
    entry = web.get("/api/audit", task=task).json["entries"][0]
    assert (entry["state"], entry["door"]) == ("granted", "web")
    assert web.get(f"/api/questions/{number}").json["said"]["state"].startswith("approved by ")


def test_a_question_hides_nothing(web: WebServer) -> None:
    task = web.propose("rm", "-rf", "/nowhere/\u202etxt.exe", "/nowhere/a\nb\x1b[2J")
    found = web.get("/api/questions").json["questions"]
    question = next(each for each in found if each["task"] == task)
    shown = json.dumps(question["facts"], ensure_ascii=False)
    assert "<U+202E>" in shown
    assert "\u202e" not in shown
    assert "<U+001B>" in shown


def test_what_was_typed_into_a_browser_is_approved_by_that_but_not_lasting_harm(web: WebServer) -> None:
    outside = web.folder / "typed"
    task = web.post("/api/tasks", {"command": f"touch {outside}", "cwd": "/"}).json["row"]
    assert task["state"] != "proposed"
    ended(web, task["id"])
    assert outside.exists()
    harm = web.post("/api/tasks", {"command": "rm -rf /nowhere/z"}).json["row"]
    assert harm["state"] == "proposed"


def test_a_draft_is_judged_without_being_started(web: WebServer) -> None:
    before = web.get("/api/tasks").json["total"]
    found = web.post("/api/judge", {"command": "rm -rf /nowhere/x", "cron": "0 3 * * *"}).json
    matches("Judgement", found)
    assert (found["verdict"], found["starts"]) == ("ask", False)
    assert len(found["next_runs"]) == 5
    assert web.get("/api/tasks").json["total"] == before


def test_what_a_person_typed_is_not_said_to_run_in_a_sandbox(web: WebServer) -> None:
    """A person who types it has approved it, so it has all their rights, whatever the judge says."""
    typed = {"command": "readlink /proc/self/ns/mnt && date >> noted.txt"}
    found = web.post("/api/judge", typed).json
    assert found["starts"]
    assert "with all your rights" in found["said"]["text"]
    assert "sandbox" not in found["said"]["text"]
    task = web.post("/api/tasks", typed).json["row"]["id"]
    ended(web, task)
    output = web.get(f"/api/tasks/{task}/output").json["text"]
    assert output.strip() == os.readlink("/proc/self/ns/mnt")


def test_a_template_is_started(web: WebServer, tasks: dict[str, str]) -> None:
    reply = web.post("/api/templates/greet", {"values": {"name": "Ada"}})
    assert reply.status == 201, reply.body
    task = reply.json["row"]["id"]
    ended(web, task)
    assert web.get(f"/api/tasks/{task}/output").json["text"] == "hello Ada\n"
    assert web.post("/api/templates/none").status == 404


def test_the_width_of_a_lane_is_set(web: WebServer) -> None:
    found = {each["name"]: each for each in web.post("/api/lanes/shell", {"width": 7}).json["lanes"]}
    assert found["shell"]["width"] == 7
    found = {each["name"]: each for each in web.post("/api/lanes/shell", {"width": None}).json["lanes"]}
    assert found["shell"]["width"] == found["shell"]["configured"]


def test_output_is_read_in_windows_and_searched(web: WebServer) -> None:
    script = "for n in range(60000): print(f'line {n} of the log')"
    task = web.run("--", sys.executable, "-c", script)
    path = f"/api/tasks/{task}/output"
    offset, whole = 0, ""
    while True:
        found = web.get(path, offset=offset, limit=262144).json
        if not found["text"]:
            break
        assert (found["offset"], found["missing"]) == (offset, 0)
        whole += found["text"]
        offset = found["next_offset"]
    assert whole == "".join(f"line {n} of the log\n" for n in range(60000))
    assert offset == found["end"]
    end = web.get(f"{path}/end", lines=2).json["text"]
    assert end == "line 59998 of the log\nline 59999 of the log\n"
    hits = web.get(f"{path}/find", text="LINE 4242 ").json
    assert [each["line"] for each in hits["matches"]] == ["line 4242 of the log"]
    at = web.get(path, offset=hits["matches"][0]["offset"], limit=9).json
    assert at["text"] == "line 4242"
    some = web.get(f"{path}/find", text="of the log", limit=10).json
    more = web.get(f"{path}/find", text="of the log", limit=1, offset=some["next_offset"]).json
    assert [each["line"] for each in more["matches"]] == ["line 10 of the log"]
    assert web.get(path, limit=262145).status == 400
    assert web.get(f"{path}/raw").body.decode() == whole


@pytest.mark.parametrize("text", ["second", "SECOND line", "größe", "GRÖSSE"])
def test_a_text_is_found_in_any_case_and_script(web: WebServer, text: str) -> None:
    task = web.run("--", "printf", "first\nthe Second line: GRÖSSE und größe\nthird")
    found = web.get(f"/api/tasks/{task}/output/find", text=text).json
    assert [each["line"] for each in found["matches"]] == ["the Second line: GRÖSSE und größe"]
    assert found["matches"][0]["offset"] == len("first\n")


def test_notices_are_shown_and_stay_unread(web: WebServer, tasks: dict[str, str]) -> None:
    task = web.post("/api/tasks", {"command": "false"}).json["row"]["id"]
    ended(web, task)
    first = web.get("/api/notices").json
    said = [each["said"]["text"] for each in first["inbox"] if each["task"] == task]
    assert len(said) == 1
    assert said[0].startswith(f"{task} failed")
    assert web.get("/api/notices").json == first
    assert web.post("/api/notices/retry", {"ids": [10**6]}).status == 404
    assert web.post("/api/notices/retry", {"ids": None}).status == 200


def test_the_doctor_answers(web: WebServer) -> None:
    found = web.get("/api/doctor").json
    assert {each["level"] for each in found["findings"]} <= {"ok", "warn", "fail"}
    assert found["said"]["verdict"]


def test_figures_count_what_ended(web: WebServer, tasks: dict[str, str]) -> None:
    found = web.get("/api/figures", name="fails").json
    assert [(each["task"], each["state"]) for each in found["points"]] == [(tasks["failed"], "failed")]
    assert sum(each["failed"] for each in found["days"]) == 1
    assert "fails" in [each["name"] for each in web.get("/api/figures").json["names"]]


def test_a_timeline_has_bars(web: WebServer, tasks: dict[str, str]) -> None:
    found = web.get("/api/timeline", group="name").json
    bars = {row["label"]: row["bars"] for row in found["rows"]}
    assert [(bar["state"], bar["count"]) for bar in bars["fails"]] == [("failed", 1)]
    assert web.get("/api/timeline", since="2026-01-02T00:00:00Z", until="2026-01-01T00:00:00Z").status == 400
