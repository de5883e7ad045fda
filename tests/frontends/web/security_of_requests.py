"""Checks of requests: whom they come from, how large and how slow they are, which files they name."""

from __future__ import annotations

import json
import re

from errands.frontends.tools.http_server import MOST
from tests.frontends.web.security import (
    SECRET,
    check,
    raw,
    received,
)
from tests.frontends.web.server import WebServer

# Another host name.


@check
def another_host_name_is_refused(web: WebServer) -> None:
    assert web.get("/api/me", headers={"Host": "evil.example"}).status == 421


@check
def another_host_name_with_our_port_is_refused(web: WebServer) -> None:
    reply = web.get("/api/me", headers={"Host": f"evil.example:{web.port}"})
    assert (reply.status, reply.json["kind"]) == (421, "Refused")
    assert web.get("/", headers={"Host": f"evil.example:{web.port}"}).status == 421


@check
def another_port_in_the_host_name_is_refused(web: WebServer) -> None:
    assert web.get("/api/me", headers={"Host": f"127.0.0.1:{web.port + 1}"}).status == 421


@check
def a_request_without_a_host_name_is_refused(web: WebServer) -> None:
    answer = raw(web, b"GET /api/me HTTP/1.0\r\nAuthorization: Bearer " + web.key.encode() + b"\r\n\r\n")
    assert b" 421 " in answer.partition(b"\r\n")[0]


@check
def two_host_names_are_refused(web: WebServer) -> None:
    ours = f"127.0.0.1:{web.port}"
    answer = raw(web, f"GET /api/me HTTP/1.1\r\nHost: {ours}\r\nHost: evil.example\r\n\r\n".encode())
    assert answer.partition(b"\r\n")[0].split()[1] in (b"400", b"421")


# Another page.


@check
def a_page_of_another_origin_is_refused(web: WebServer) -> None:
    assert web.get("/api/me", headers={"Origin": "https://evil.example"}).status == 403


@check
def a_page_without_an_origin_of_its_own_is_refused(web: WebServer) -> None:
    assert web.post("/api/judge", {"command": "true"}, headers={"Origin": "null"}).status == 403


@check
def a_page_of_another_server_of_this_machine_is_refused(web: WebServer) -> None:
    other = f"http://127.0.0.1:{web.port + 1}"
    assert web.get("/api/me", headers={"Origin": other}).status == 403
    assert web.get("/api/me", headers={"Origin": web.url}).status == 200


@check
def a_request_that_a_browser_calls_cross_site_is_refused(web: WebServer) -> None:
    assert web.get("/api/me", headers={"Sec-Fetch-Site": "cross-site"}).status == 403


@check
def a_request_that_a_browser_calls_same_site_is_refused(web: WebServer) -> None:
    assert web.get("/api/me", headers={"Sec-Fetch-Site": "same-site"}).status == 403
    assert web.get("/api/me", headers={"Sec-Fetch-Site": "same-origin"}).status == 200


@check
def a_link_elsewhere_leads_to_the_page_but_nothing_else_is_embedded(web: WebServer) -> None:
    visit = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert web.get("/ask/1", headers={**visit, "Sec-Fetch-Dest": "document"}).status in (200, 404)
    for dest in ("iframe", "script", "image", "object"):
        assert web.get("/ask/1", headers={**visit, "Sec-Fetch-Dest": dest}).status == 403
    script = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "document"}
    assert web.get("/openapi.json", headers=script).status == 403


@check
def a_link_elsewhere_does_not_lead_into_the_api(web: WebServer) -> None:
    visit = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert web.get("/api/me", headers=visit).status == 403


@check
def no_other_page_gets_permission_to_ask(web: WebServer) -> None:
    asking = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    reply = web.ask("OPTIONS", "/api/tasks", headers=asking)
    assert reply.status == 403
    assert not [name for name in reply.headers if name.startswith("access-control")]
    own = web.ask("OPTIONS", "/api/tasks", headers={"Origin": web.url})
    assert own.status == 405
    assert not [name for name in own.headers if name.startswith("access-control")]


@check
def what_a_form_can_send_is_refused(web: WebServer) -> None:
    body = json.dumps({"command": "true"}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        reply = web.post("/api/tasks", body, headers={"Content-Type": kind})
        assert reply.status == 415, kind


@check
def the_page_cannot_be_framed_and_runs_no_script_but_its_own(web: WebServer) -> None:
    for path in ("/", "/api/me", "/nowhere.js", "/api/nowhere"):
        headers = web.get(path).headers
        policy = headers["content-security-policy"]
        for rule in (
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ):
            assert rule in policy, (path, rule)
        assert "unsafe" not in policy
        assert headers["x-frame-options"] == "DENY"


@check
def every_answer_has_the_other_headers(web: WebServer) -> None:
    for reply in (web.get("/api/me"), web.get("/api/me", key="wrong"), web.get("/openapi.json")):
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["cross-origin-opener-policy"] == "same-origin"
        assert reply.headers["cross-origin-resource-policy"] == "same-origin"
        assert reply.headers["cache-control"] == "no-store"
        assert "server" not in reply.headers


@check
def a_web_socket_is_refused(web: WebServer) -> None:
    said = (
        f"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    assert b" 101 " not in raw(web, said.encode()).partition(b"\r\n")[0]


# Files and paths.


@check
def no_path_leads_out_of_the_page(web: WebServer) -> None:
    for path in (
        "/page/../../../../etc/passwd",
        "/page/x/../../../serve.py",
        "/page/%2e%2e/%2e%2e/serve.py",
        "/page/..%2f..%2fserve.py",
        "/page//etc/passwd",
        "/../../etc/passwd",
        "/page/x/%00",
        "/serve.py.txt",
    ):
        answer = raw(web, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n\r\n".encode())
        assert b"root:" not in answer, path
        assert b"import" not in answer, path


@check
def no_name_leads_out_of_the_directory_of_a_run(web: WebServer) -> None:
    task = web.run(
        "--", "sh", "-c",
        'cd "$ERRANDS_RUN_DIR"; echo kept > a.html; ln -s /etc/passwd link; mkfifo pipe; mkdir folder',
    )  # fmt: skip
    kept = web.get(f"/api/tasks/{task}/file", name="a.html")
    assert (kept.status, kept.body) == (200, b"kept\n")
    for name in ("../record", "/etc/passwd", "link", "pipe", "folder", "output.log", "..", ".", "a.html/x"):
        assert web.get(f"/api/tasks/{task}/file", name=name).status == 404, name


@check
def a_file_of_a_run_is_saved_and_never_shown(web: WebServer) -> None:
    task = web.run("--", "sh", "-c", 'echo "<script>alert(1)</script>" > "$ERRANDS_RUN_DIR/page.html"')
    reply = web.get(f"/api/tasks/{task}/file", name="page.html")
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["content-disposition"].startswith("attachment;")


# Sizes and times.


@check
def a_huge_body_is_refused(web: WebServer) -> None:
    head = (
        f"POST /api/tasks HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nAuthorization: Bearer {web.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {(1 << 20) + 1}\r\n\r\n"
    ).encode()
    answer = raw(web, head)
    assert b" 413 " in answer.partition(b"\r\n")[0]
    assert b"connection: close" in answer.lower()


@check
def a_huge_body_of_unknown_length_is_refused(web: WebServer) -> None:
    head = (
        f"POST /api/tasks HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nAuthorization: Bearer {web.key}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
    with web.connect(head) as line:
        try:
            for _ in range(20):
                line.sendall(piece)
        except OSError:
            pass  # it has closed the connection
        # What it has not read makes the system drop its answer with the connection.
        assert received(line).partition(b"\r\n")[0].split()[1:2] in ([], [b"413"])


@check
def a_body_that_does_not_come_ends(web: WebServer) -> None:
    head = (
        f"POST /api/tasks HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nAuthorization: Bearer {web.key}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    ).encode()
    with web.connect(head) as line:
        assert b" 408 " in received(line).partition(b"\r\n")[0]


@check
def half_sent_headers_end(web: WebServer) -> None:
    with web.connect(f"GET /api/me HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nAuthor".encode()) as line:
        assert received(line) == b""


@check
def a_connection_that_says_nothing_ends(web: WebServer) -> None:
    with web.connect() as line:
        assert received(line) == b""


@check
def huge_headers_are_refused(web: WebServer) -> None:
    with web.connect(f"GET /api/me HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nX: ".encode()) as line:
        try:
            line.sendall(b"x" * 300_000 + b"\r\n\r\n")
            answer = received(line)
        except OSError:
            answer = b""  # it has closed the connection
        assert answer == b"" or answer.split()[1] in (b"400", b"431")


@check
def idle_connections_make_way_for_others(web: WebServer) -> None:
    lines = [web.connect() for _ in range(MOST + 5)]
    try:
        assert web.get("/api/me").status == 200
    finally:
        for each in lines:
            each.close()


# Text.


@check
def secrets_are_masked_and_cannot_be_searched_for(web: WebServer) -> None:
    task = web.run("--name", "leak", "--", "sh", "-c", f"echo token {SECRET}")
    for path in (
        f"/api/tasks/{task}/output",
        f"/api/tasks/{task}/output/end",
        f"/api/tasks/{task}",
        "/api/tasks",
    ):
        reply = web.get(path)
        assert reply.status == 200
        assert SECRET.encode() not in reply.body, path
    found = web.get(f"/api/tasks/{task}/output/find", text=SECRET[:12]).json
    assert found["matches"] == []
    found = web.get(f"/api/tasks/{task}/output/find", text="token").json
    assert SECRET not in found["matches"][0]["line"]


@check
def control_sequences_do_not_reach_the_page(web: WebServer) -> None:
    hostile = r"\033]0;title\007a\033[2Jb\033[31mred\033[0m\342\200\256c"
    task = web.run("--", "printf", hostile)
    text = web.get(f"/api/tasks/{task}/output").json["text"]
    assert re.sub(r"\x1b\[[\d;]*m", "", text) == "abredc"


@check
def an_error_shows_nothing_of_the_inside(web: WebServer) -> None:
    for path in ("/api/tasks/%00", "/api/tasks/" + "x" * 300, "/api/tasks/%F0%9F%92%A9", "/api/tasks/.."):
        reply = web.get(path)
        assert reply.status in (400, 404), path
        assert b"Traceback" not in reply.body
