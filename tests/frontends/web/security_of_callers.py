"""Checks of callers: codes, keys and tokens, and who can approve."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time

from errands.frontends.web.api.operations import OPERATIONS
from tests.frontends.web.security import (
    SECRET,
    asked,
    check,
    digest,
    leaks,
    minted,
    state,
)
from tests.frontends.web.server import WebServer

# Keys.


@check
def nothing_that_needs_a_key_works_without_one(web: WebServer) -> None:
    for each in OPERATIONS:
        path = re.sub(r"\{\w+\}", "1", each.path)
        reply = web.ask(each.method, path, body=None if each.body is None else {}, key="")
        if each.needs == "nothing":
            assert reply.status != 401, each.name
        else:
            assert (reply.status, reply.json["kind"]) == (401, "NotSignedIn"), each.name


@check
def a_wrong_key_is_refused(web: WebServer) -> None:
    for wrong in ("wrong", web.key[:-1]):
        assert web.get("/api/me", key=wrong).status == 401
    for scheme in ("Basic", "Token", ""):  # which is not even tried as a key
        sent = {"Authorization": f"{scheme} {web.key}".strip()}
        assert web.get("/api/me", key="", headers=sent).status == 401


@check
def a_key_in_the_address_or_in_a_cookie_is_none(web: WebServer) -> None:
    assert web.get("/api/me", key="", authorization=web.key).status == 401
    for name in ("key", "session", "Authorization"):
        assert web.get("/api/me", key="", headers={"Cookie": f"{name}={web.key}"}).status == 401


@check
def no_answer_sets_a_cookie(web: WebServer) -> None:
    code = minted(web)
    replies = [web.sign_in(code), web.get("/"), web.get("/api/me"), web.get("/api/overview")]
    assert replies[0].status == 201
    assert not [each for each in replies if "set-cookie" in each.headers]


@check
def a_code_works_once(web: WebServer) -> None:
    code = minted(web)
    assert web.post("/api/sign-in", {"code": code}, key="").status == 201
    again = web.post("/api/sign-in", {"code": code}, key="")
    assert (again.status, again.json["kind"]) == (403, "WrongCode")


@check
def of_many_who_use_a_code_at_once_one_gets_in(web: WebServer) -> None:
    code, found = minted(web), list[int]()
    start = threading.Barrier(3)

    def use() -> None:
        start.wait()
        found.append(web.post("/api/sign-in", {"code": code}, key="").status)

    threads = [threading.Thread(target=use) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found.count(201) == 1


@check
def a_code_is_void_after_five_minutes(web: WebServer) -> None:
    code = minted(web)
    path = web.home / "web" / "codes" / digest(code)
    old = time.time() - 301
    os.utime(path, (old, old))
    assert web.post("/api/sign-in", {"code": code}, key="").status == 403
    assert not path.exists()


@check
def a_code_that_was_never_made_is_refused(web: WebServer) -> None:
    for code in ("../sessions/x", "\x00"):
        assert web.post("/api/sign-in", {"code": code}, key="").status == 403


@check
def a_code_is_in_no_argument_file_or_log(web: WebServer) -> None:
    code = minted(web)
    assert leaks(web, code) == []


@check
def a_key_is_in_no_argument_file_or_log(web: WebServer) -> None:
    web.get("/api/me")
    web.get("/api/nowhere")
    web.post("/api/tasks", {"command": 1})
    assert leaks(web, web.key) == []


@check
def only_the_owner_can_read_what_is_kept(web: WebServer) -> None:
    web.errands("web", "--token")
    for path in (web.home / "web", *(web.home / "web").rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


@check
def a_key_ends_with_its_session(web: WebServer) -> None:
    signed = web.post("/api/sign-in", {"code": minted(web)}, key="").json
    key = signed["key"]
    assert web.get("/api/me", key=key).status == 200
    assert web.post("/api/sign-out", key=key).status == 200
    assert web.get("/api/me", key=key).status == 401


@check
def a_browser_can_be_signed_out_from_another_one(web: WebServer) -> None:
    signed = web.post("/api/sign-in", {"code": minted(web)}, key="").json
    with web.stream(key=signed["key"]) as stream:
        stream.until("hello")
        reply = web.ask("DELETE", f"/api/sessions/{signed['session']['id']}")
        assert reply.status == 200
        for _ in stream:
            pass  # it ends
    assert web.get("/api/me", key=signed["key"]).status == 401


@check
def a_browser_can_be_signed_out_from_the_terminal(web: WebServer) -> None:
    signed = web.post("/api/sign-in", {"code": minted(web)}, key="").json
    web.errands("web", "--sign-out", signed["session"]["id"])
    assert web.get("/api/me", key=signed["key"]).status == 401
    assert web.get("/api/me").status == 200


@check
def a_browser_that_was_not_used_for_thirty_days_is_signed_out(web: WebServer) -> None:
    key = web.post("/api/sign-in", {"code": minted(web)}, key="").json["key"]
    path = web.home / "web" / "sessions" / digest(key)
    old = time.time() - 30 * 86400 - 60
    os.utime(path, (old, old))
    assert web.get("/api/me", key=key).status == 401
    assert not path.exists()


# Who approves.


@check
def a_program_with_the_token_cannot_approve(web: WebServer) -> None:
    token = web.errands("web", "--token").strip()
    task, answer = asked(web)
    assert web.get("/api/me", key=token).json["kind"] == "program"
    for verb, body in (("approve", {**answer, "answer": "once"}), ("reject", answer)):
        reply = web.post(f"/api/tasks/{task}/{verb}", body, key=token)
        assert (reply.status, reply.json["kind"]) == (403, "NotAPerson")
    assert state(web, task) == "proposed"


@check
def a_program_with_the_token_consents_to_nothing(web: WebServer) -> None:
    token = web.errands("web", "--token").strip()
    touch = {"command": f"touch {web.folder}/outside", "cwd": "/"}
    reply = web.post("/api/tasks", touch, key=token)
    assert (reply.status, reply.json["row"]["state"]) == (201, "proposed")


@check
def a_program_with_the_token_has_no_say_about_browsers(web: WebServer) -> None:
    token = web.errands("web", "--token").strip()
    assert web.get("/api/sessions", key=token).status == 403
    own = web.get("/api/sessions").json["sessions"][0]["id"]
    assert web.ask("DELETE", f"/api/sessions/{own}", key=token).status == 403
    assert web.post("/api/sign-out", key=token).status == 403


@check
def a_program_with_the_token_gets_no_raw_output(web: WebServer) -> None:
    token = web.errands("web", "--token").strip()
    task = web.run("--", "echo", SECRET)
    assert web.get(f"/api/tasks/{task}/output/raw", key=token).status == 403
    assert SECRET.encode() in web.get(f"/api/tasks/{task}/output/raw").body


@check
def an_answer_names_the_question_that_was_shown(web: WebServer) -> None:
    task, answer = asked(web)
    path = f"/api/tasks/{task}/approve"
    assert web.post(path, {"answer": "once"}).status == 400
    assert web.post(path, {"question": answer["question"], "answer": "once"}).status == 400
    other = {**answer, "digest": "0" * 32, "answer": "once"}
    assert (web.post(path, other).status, web.post(path, other).json["kind"]) == (409, "Drifted")
    other = {**answer, "question": answer["question"] + 1000, "answer": "once"}
    assert web.post(path, other).status == 409
    assert state(web, task) == "proposed"


@check
def a_question_is_answered_once_and_the_record_names_the_browser(web: WebServer) -> None:
    task, answer = asked(web)
    assert web.post(f"/api/tasks/{task}/reject", {**answer, "note": "not today"}).status == 200
    assert web.post(f"/api/tasks/{task}/approve", {**answer, "answer": "once"}).status == 409
    entry = web.get("/api/audit", task=task).json["entries"][0]
    assert (entry["state"], entry["door"], entry["note"]) == ("refused", "web", "not today")
    assert "Firefox on Linux" in entry["by"]


@check
def who_consents_is_never_passed_by_the_caller(web: WebServer) -> None:
    for name, value in (
        *(("consent", "yes"), ("door", "terminal"), ("owner", "x"), ("created_by", "ada"), ("yes", True)),
        *(("environ", {}), ("parent", "x"), ("propose", False)),
    ):
        assert web.post("/api/tasks", {"command": "true", name: value}).status == 400, name
    task, answer = asked(web)
    for name in ("by", "door", "scope"):
        sent = {**answer, "answer": "once", name: "terminal"}
        assert web.post(f"/api/tasks/{task}/approve", sent).status == 400, name


# A run that has read everything that its user can read.

RUN = """
import hashlib, http.client, json, os, sys
port, path, body = int(sys.argv[1]), sys.argv[2], sys.argv[3]
folder = os.environ["PLANTED_HOME"] + "/web/"
key = "planted" * 5
session = {"id": "planted", "browser": "x", "address": "x", "created_at": "2026-01-01T00:00:00+00:00"}
with open(folder + "sessions/" + hashlib.sha256(key.encode()).hexdigest(), "w") as file:
    json.dump(session, file)
open(folder + "codes/" + hashlib.sha256(b"planted").hexdigest(), "w").close()
line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
line.request("POST", path, body.encode(), headers)
answer = line.getresponse()
print("status", answer.status, answer.read().decode())
"""


def inside_a_run(web: WebServer, path: str, body: object) -> str:
    """Send a request from inside a run, with a session and a code that the run has planted."""
    words = (sys.executable, "-c", RUN, str(web.port), path, json.dumps(body))
    task = web.run("--env", f"PLANTED_HOME={web.home}", "--", *words)
    text = web.get(f"/api/tasks/{task}/output").json["text"]
    assert "status" in text, text
    return str(text)


@check
def a_run_cannot_approve_whatever_it_planted(web: WebServer) -> None:
    task, answer = asked(web)
    said = inside_a_run(web, f"/api/tasks/{task}/approve", {**answer, "answer": "once"})
    assert "status 403" in said
    assert "part of a run" in said
    assert state(web, task) == "proposed"


@check
def a_run_cannot_sign_in(web: WebServer) -> None:
    said = inside_a_run(web, "/api/sign-in", {"code": "planted"})
    assert "status 403" in said
    assert "key" not in said


@check
def a_run_consents_to_nothing(web: WebServer) -> None:
    said = inside_a_run(web, "/api/tasks", {"command": f"touch {web.folder}/outside2", "cwd": "/"})
    assert '"state":"proposed"' in said


@check
def a_run_gets_no_link(web: WebServer) -> None:
    task = web.run("--", sys.executable, "-m", "errands", "web", "--no-open")
    text = web.get(f"/api/tasks/{task}/output").json["text"]
    assert "code=" not in text
    assert "inside run" in text
