"""What the checks of security use: their list, and ways to ask, to propose and to look for leaks."""

from __future__ import annotations

import hashlib
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.frontends.web.server import WebServer, code_in

Check = Callable[[WebServer], None]
CHECKS: list[Check] = []
HARM = "rm -rf /nowhere/x"
SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"


def check(function: Check) -> Check:
    """Add a function to the checks that `test_security.py` makes."""
    CHECKS.append(function)
    return function


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def minted(web: WebServer) -> str:
    """Make another code, as a second `errands web` does."""
    return code_in(web.errands("web", "--no-open"))


def leaks(web: WebServer, secret: str) -> list[str]:
    """Return where a secret stands: in a file of the home, in the log, or in the arguments of a process."""
    found = [
        str(path)
        for path in (*web.home.rglob("*"), web.log)
        if path.is_file() and secret.encode() in path.read_bytes()
    ]
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [str(place)] if secret.encode() in place.read_bytes() else []
        except OSError:
            continue
    return found


def asked(web: WebServer) -> tuple[str, dict[str, Any]]:
    """Propose something; return the task, and what an answer to its question must name."""
    task = web.propose(HARM)
    found = web.get("/api/questions").json["questions"]
    question = next(each for each in found if each["task"] == task)
    return task, {"question": question["id"], "digest": question["digest"]}


def state(web: WebServer, task: str) -> str:
    return str(web.get(f"/api/tasks/{task}").json["row"]["state"])


def raw(web: WebServer, said: bytes) -> bytes:
    with web.connect(said) as line:
        return received(line)


def received(line: socket.socket) -> bytes:
    """Read up to the end of an answer: the connection closes, or the body is complete."""
    pieces = b""
    while True:
        try:
            piece = line.recv(65536)
        except (ConnectionResetError, BrokenPipeError):
            return pieces
        pieces += piece
        head, blank, body = pieces.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        if not piece or (blank and length and len(body) >= int(length[1])):
            return pieces
