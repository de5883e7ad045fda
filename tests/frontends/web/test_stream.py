"""The stream: every change reaches every page, output as it is printed, and no page can fill the server."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from errands.frontends.web import stream as streaming
from errands.frontends.web.handlers.rows import NO_DAEMON
from tests.frontends.web.server import WebServer
from tests.frontends.web.test_table import DOCUMENT, matches

pytestmark = pytest.mark.spec("X24", "X8")


def submit(web: WebServer, command: Any, **options: Any) -> str:
    reply = web.post("/api/tasks", {"command": command, **options})
    assert reply.status == 201, reply.body
    return str(reply.json["row"]["id"])


def test_the_life_of_a_task_is_heard(web: WebServer) -> None:
    with web.stream() as stream:
        assert stream.answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        matches("HelloEvent", stream.until("hello"))
        task = submit(web, "true", hold=True)
        stream.until_state(task, "held")
        web.post(f"/api/tasks/{task}/release")
        stream.until_state(task, "completed")
        # While the line to a new daemon is being opened, every change is `again`.
        submit(web, "true")
        for name, facts in stream:
            if name == "rows":
                matches("RowsEvent", facts)
                break
            if name == "again":
                submit(web, "true")
        web.ask("DELETE", f"/api/tasks/{task}")
        for name, facts in stream:
            if name == "gone" and task in facts["ids"]:
                matches("GoneEvent", facts)
                break
            if name == "again" and web.get(f"/api/tasks/{task}").status == 404:
                break


def test_a_stream_goes_on_after_the_last_event_of_another(web: WebServer) -> None:
    with web.stream() as stream:
        assert not stream.until("hello")["resumed"]
        first = submit(web, "true")
        stream.until_state(first, "completed")
        known = stream.last
    with web.stream(after=known) as stream:  # nothing read the stream for a moment
        assert stream.until("hello")["resumed"]
        stream.until_state(submit(web, "true"), "completed")
        with web.stream(after=known) as other:
            assert other.until("hello")["resumed"]
            for name, _ in other:
                assert name != "beat", "it did not hear what the first one did"
                if other.last == stream.last:
                    break


@pytest.mark.parametrize("after", ["unknown.1", "unknown", ".", "-1"])
def test_a_stream_that_cannot_go_on_begins_anew(web: WebServer, after: str) -> None:
    with web.stream(after=after) as stream:
        assert not stream.until("hello")["resumed"]


def test_what_was_missed_is_sent_only_if_all_of_it_is_kept() -> None:
    recent = streaming._Recent()
    first = recent.last
    assert recent.after(first) == []
    frames = [recent.add("rows", {"rows": ["x" * 1000, number]}) for number in range(10)]
    assert recent.after(first) == frames
    assert recent.after(recent.last) == []
    for _ in range(10_000):
        latest = recent.add("rows", {"rows": ["x" * 1000]})
        assert recent._size <= streaming.MOST_QUEUED
    assert recent.after(first) is None
    epoch, _, number = recent.last.partition(".")
    assert recent.after(f"{epoch}.{int(number) - 1}") == [latest]
    assert recent.after(f"{epoch}.{int(number) + 1}") is None


def test_questions_are_counted(web: WebServer) -> None:
    with web.stream() as stream:
        before = stream.until("hello")["counts"]["waiting"]
        task = web.propose("rm -rf /nowhere/x")
        stream.until("counts", lambda facts: facts["waiting"] == before + 1)
        web.post(f"/api/tasks/{task}/cancel")
        stream.until("counts", lambda facts: facts["waiting"] == before)


def test_a_lane_that_changes_is_heard(web: WebServer) -> None:
    with web.stream() as stream:
        stream.until("hello")
        web.post("/api/lanes/shell", {"width": 9})
        stream.until("lanes", lambda facts: {"shell": 9}.items() <= widths(facts).items())
        web.post("/api/lanes/shell", {"width": None})


def widths(facts: Any) -> dict[str, int]:
    return {each["name"]: each["width"] for each in facts["lanes"]}


@pytest.mark.spec("O9")
def test_output_arrives_while_it_is_printed_and_ends_with_the_run(web: WebServer) -> None:
    script = "import sys\nfor line in sys.stdin: print('got', line, end='', flush=True)"
    task = submit(web, [sys.executable, "-c", script], input="pipe")
    with web.stream(logs=f"{task}.1@0") as stream:
        for word in ("one", "two"):
            web.post(f"/api/tasks/{task}/send", {"text": f"{word}\n"})
            found = stream.until("output", lambda facts: word in facts["text"])  # noqa: B023
            matches("Output", found)
            assert found["live"]
        web.post(f"/api/tasks/{task}/send", {"text": "", "eof": True})
        last = stream.until("output", lambda facts: not facts["live"])
        while last["next_offset"] != len("got one\ngot two\n"):
            last = stream.until("output")


def test_the_beginning_of_a_line_is_shown_after_a_moment(web: WebServer) -> None:
    script = "import sys; print('password?', end='', flush=True); sys.stdin.readline()"
    task = submit(web, [sys.executable, "-c", script], input="pipe")
    with web.stream(logs=f"{task}.1@0") as stream:
        assert stream.until("output")["text"] == "password?"
    web.post(f"/api/tasks/{task}/cancel")


def test_every_page_hears_of_every_end(web: WebServer) -> None:
    streams = [web.stream() for _ in range(20)]
    for each in streams:
        each.until("hello")
    tasks = {submit(web, "true") for _ in range(20)}
    heard: list[set[str]] = []

    def listen(stream: Any) -> None:
        left = set(tasks)
        for name, facts in stream:
            if name == "rows":
                left -= {row["id"] for row in facts["rows"] if row["state"] == "completed"}
            if name == "again":
                left -= {row["id"] for row in web.get("/api/tasks").json["rows"] if not row["live"]}
            if not left:
                break
        heard.append(left)

    threads = [threading.Thread(target=listen, args=(each,)) for each in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in streams:
        each.__exit__()
    assert heard == [set()] * 20


def test_a_beat_says_that_the_stream_is_alive(make_web: Callable[..., WebServer]) -> None:
    web = make_web(limits={"errands.frontends.web.stream.BEAT": 0.5})
    web.sign_in()
    with web.stream() as stream:
        matches("BeatEvent", stream.until("beat"))


def test_a_daemon_that_stops_and_starts_is_heard(make_web: Callable[..., WebServer]) -> None:
    web = make_web()
    web.sign_in()
    submit(web, "true", every="1h")  # which starts one, and needs it
    with web.stream() as stream:
        stream.until("daemon", lambda facts: facts["live"])
        web.errands("daemon", "stop")
        matches("DaemonEvent", gone := stream.until("daemon", lambda facts: not facts["live"]))
        assert gone["said"]["why"] == NO_DAEMON
        assert web.post("/api/daemon").json["live"]
        stream.until("daemon", lambda facts: facts["live"])


def test_what_cannot_be_followed_is_refused(web: WebServer) -> None:
    assert web.get("/api/stream", logs="nothing-222222.1").status == 404
    assert web.get("/api/stream", logs="x@y").status == 400
    assert web.get("/api/stream", logs=",".join(["x.1"] * 9)).status == 400


class _NoStreams:
    """Stands for the part of the server that a single queue does not use."""


async def test_a_page_that_does_not_read_is_told_to_read_everything_again() -> None:
    nothing: Any = _NoStreams()
    one = streaming._Stream(nothing, nothing, {}, [])
    frame = streaming.event("rows", {"rows": ["x" * 1000]})
    for _ in range(10_000):
        one.put(frame)
        assert one._size <= streaming.MOST_QUEUED
    frames = b"".join(one._frames)
    assert frames.startswith(b"event: again\n")
    assert frames.count(b"event: again\n") == 1
    await asyncio.sleep(0)


def test_every_event_is_described() -> None:
    from errands.frontends.web.api.view_shapes import FRAMES

    for name in FRAMES:
        assert f"{name.capitalize()}Event" in DOCUMENT["components"]["schemas"]
