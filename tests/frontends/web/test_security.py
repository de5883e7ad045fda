"""Security: what must not work, check by check, against a real server over real sockets.

The threats: another page in the same browser, another host name that leads here, another server or user on
this machine, a stolen link, hostile text, and a run of Errands itself.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.frontends.web import security_of_callers, security_of_requests
from tests.frontends.web.security import CHECKS, Check
from tests.frontends.web.server import WITHIN, WebServer

pytestmark = pytest.mark.spec("X8")
MODULES = (security_of_callers, security_of_requests)
BRIEF = {
    "errands.frontends.tools.http_server.HEAD_WITHIN": 2.0,
    "errands.frontends.web.guard.BODY_WITHIN": 2.0,
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """A server that waits for less time for the rest of a request."""
    server = WebServer(tmp_path_factory.mktemp("web"), limits=BRIEF)
    assert server.sign_in().status == 201
    yield server
    server.close()


@pytest.mark.parametrize("each", CHECKS, ids=lambda each: each.__name__)
def test_it_is_so_that(each: Check, web: WebServer) -> None:
    each(web)


def test_there_are_forty_checks_at_least() -> None:
    assert len(CHECKS) >= 40
    assert {each.__module__ for each in CHECKS} == {module.__name__ for module in MODULES}


def test_too_many_wrong_keys_are_refused_while_the_right_one_works(
    make_web: Callable[..., WebServer],
) -> None:
    web = make_web()
    web.sign_in()
    statuses = [web.get("/api/me", key=f"wrong{number}").status for number in range(25)]
    assert statuses == [401] * 20 + [429] * 5
    assert web.post("/api/sign-in", {"code": "x"}, key="").status == 429
    assert web.get("/api/me").status == 200


@pytest.mark.parametrize("place", ["0.0.0.0:0", "[::]:0", "*:0", "192.0.2.1:0", "example.org:0"])
def test_it_listens_on_this_machine_alone(place: str, own_home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "errands", "web", place, "--no-open"],
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN,
    )
    assert done.returncode == 2
    assert "127.0.0.1" in done.stderr
