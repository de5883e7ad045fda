"""Signing in: codes, keys, the token, and `errands web` itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from errands.frontends.web.callers import browser_of
from errands.frontends.web.guard import checked_origin
from errands.frontends.web.sign_in import CODE_LIVES, Signing
from errands.model.errors import BadValue, NotFound
from errands.ports.home import Home
from tests.frontends.web.server import WITHIN, WebServer, code_in

pytestmark = pytest.mark.spec("X8")


@pytest.fixture
def signing(home: Home) -> Signing:
    return Signing(home)


def test_a_code_is_good_once(signing: Signing) -> None:
    code = signing.mint()
    assert not signing.use("another")
    assert signing.use(code)
    assert not signing.use(code)


def test_a_code_is_void_after_its_time_and_swept_away(signing: Signing, home: Home) -> None:
    code = signing.mint()
    signing.page_for(code, "http://127.0.0.1/#code=x")
    for path in Path(home.web, "codes").iterdir():
        stamp = path.stat().st_mtime - CODE_LIVES - 1
        os.utime(path, (stamp, stamp))
    signing.mint()
    assert len(list(Path(home.web, "codes").iterdir())) == 1
    assert not signing.use(code)


def test_the_page_that_is_opened_is_for_its_owner_alone_and_goes_with_the_code(signing: Signing) -> None:
    code = signing.mint()
    path = Path(signing.page_for(code, 'http://127.0.0.1:1/#code=a"<b>'))
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert 'href="http://127.0.0.1:1/#code=a&quot;&lt;b>"' in text
    assert "<b>" not in text
    assert signing.use(code)
    assert not path.exists()


def test_a_session_is_listed_and_ended(signing: Signing) -> None:
    key, session = signing.begin(browser="Firefox on Linux", address="127.0.0.1")
    found = signing.session(key)
    assert found is not None
    assert found.id == session.id
    assert [each.id for each in signing.sessions()] == [session.id]
    assert signing.end(session.id).browser == "Firefox on Linux"
    assert signing.session(key) is None
    with pytest.raises(NotFound, match="no signed-in browser is called"):
        signing.end(session.id)


def test_using_a_session_never_brings_back_one_that_was_ended(signing: Signing, home: Home) -> None:
    key, session = signing.begin(browser="x", address="y")
    (path,) = Path(home.web, "sessions").iterdir()
    old = path.stat().st_mtime - 3600
    os.utime(path, (old, old))
    before = signing.session(key)
    assert before is not None
    assert path.stat().st_mtime > old + 1000
    signing.end(session.id)
    assert signing.session(key) is None
    assert list(Path(home.web, "sessions").iterdir()) == []


def test_the_token_stays_the_same(signing: Signing) -> None:
    token = signing.token()
    assert signing.token() == token
    assert signing.is_token(token)
    assert not signing.is_token(token + "x")
    assert not signing.is_token("")


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0) Version/19.0 Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Linux; Android 16) Chrome/150.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/150.0 Safari/537.36 Edg/150.0", "Edge on Windows"),
        ("curl/8.0", "curl/8.0"),
        ("\x1b[31mevil\u202e", "[31mevil"),
        ("", "an unknown browser"),
    ],
)
def test_a_browser_is_named_in_few_words(agent: str, said: str) -> None:
    assert browser_of(agent) == said


@pytest.mark.parametrize("wrong", ["http://a", "https://", "https://a/b", "https://u@a", "a.example"])
def test_an_origin_is_one_with_tls(wrong: str) -> None:
    with pytest.raises(BadValue, match="must be like https"):
        checked_origin(wrong)
    assert checked_origin("https://Errands.example/") == "https://errands.example"


def test_a_second_command_signs_in_at_the_server_that_runs(web: WebServer) -> None:
    said = web.errands("web", "--no-open").splitlines()
    assert said[0].startswith(f"sign in (once, within 5 minutes): {web.url}/#code=")
    assert said[1:] == [f"from then on: {web.url}"]
    code = said[0].partition("#code=")[2]
    assert web.post("/api/sign-in", {"code": code}, key="").status == 201
    sessions = web.errands("web", "--sessions")
    assert sessions.count("Firefox on Linux") == 2


def test_the_link_is_opened_through_a_file_and_no_argument_has_the_code(
    web: WebServer, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {seen}\n')
    browser.chmod(0o700)
    done = subprocess.run(
        [sys.executable, "-m", "errands", "web"],
        env={**web.environ, "BROWSER": str(browser)},
        capture_output=True,
        text=True,
        check=True,
        timeout=WITHIN,
    )
    code = code_in(done.stdout)
    (argument,) = seen.read_text().split()
    assert code not in argument
    page = Path(argument.removeprefix("file://"))
    assert code in page.read_text()
    assert web.post("/api/sign-in", {"code": code}, key="").status == 201
    assert not page.exists()


def test_a_link_on_a_terminal_has_a_qr_code() -> None:
    from errands.frontends.web.link import qr

    drawn = qr("http://127.0.0.1:7979/#code=" + "x" * 43)
    assert len(drawn.splitlines()) > 10
    assert set(drawn) & set("▀▄█")


@pytest.mark.spec("X21")
def test_on_a_terminal_the_link_has_a_line_of_its_own(web: WebServer) -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "errands", "web", "--no-open"],
        env=web.environ,
        dimensions=(24, 80),
        encoding="utf-8",
        timeout=int(WITHIN),
    )
    child.expect(pexpect.EOF)
    lines = (child.before or "").splitlines()
    child.close()
    assert lines[0] == "sign in (once, within 5 minutes):"
    assert lines[1].startswith(f"{web.url}/#code=")
    assert max(map(len, lines)) <= 80


def test_a_service_prints_no_link(make_web: Callable[..., WebServer]) -> None:
    web = make_web(words=("--service",))
    assert web.link == ""
    code = code_in(web.errands("web", "--no-open"))
    assert web.sign_in(code).status == 201


def test_a_proxy_is_known_by_its_origin(make_web: Callable[..., WebServer]) -> None:
    web = make_web(settings='[web]\norigin = "https://errands.example"\n')
    assert web.url == "https://errands.example"
    web.find_port()
    proxied = {"Host": "errands.example", "Origin": "https://errands.example"}
    reply = web.post("/api/sign-in", {"code": web.code}, key="", headers=proxied)
    assert reply.status == 201
    assert reply.json["session"]["address"] == "https://errands.example"
    assert reply.headers["strict-transport-security"]
    other = {"Host": "errands.example", "Origin": f"http://127.0.0.1:{web.port + 1}"}
    assert web.get("/api/me", key=reply.json["key"], headers=other).status == 403


def test_two_servers_of_a_home_are_one_too_many(web: WebServer) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "errands", "web", "127.0.0.1:0", "--no-open"],
        env=web.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN,
    )
    assert done.returncode == 1
    assert "another `errands web` of this home is running" in done.stderr
