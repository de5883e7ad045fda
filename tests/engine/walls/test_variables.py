"""The variables of a sandbox hold no secrets, whatever they are called, and nothing that leads out."""

from __future__ import annotations

import pytest

from errands.engine.walls.variables import inner_variables

pytestmark = [pytest.mark.spec("A13")]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MY_API_KEY", "x"), ("my_token", "x"), ("MY_PASSPHRASE", "x"), ("CHAT_WEBHOOK", "https://h.example/x"),
        ("ADMIN_PW", "x"), ("MY_CREDS", "x"), ("JWT", "x"), ("BEARER", "x"), ("sshpass", "x"),
        ("MNEMONIC", "x"), ("HTTP_AUTHORIZATION", "x"), ("CONNECTION_STRING", "x"),
        ("CACHE", "redis://:p@h"), ("INDEX", "https://t0@h.example/simple"), ("DB", "Server=h;Password=p"),
        ("LOGIN", f"ghp_{'a1' * 18}"), ("NAME", "AKIAIOSFODNN7EXAMPLE"), ("NOTE", "-----BEGIN KEY-----"),
        ("ID", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnc2lnc2ln"), ("CHAT", f"see xoxb-{'1a' * 12}"),
        ("SSH_AUTH_SOCK", "/x"), ("HTTPS_PROXY", "http://h"), ("AWS_PROFILE", "x"),
    ],
)  # fmt: skip
def test_a_secret_stays_outside(name: str, value: str) -> None:
    assert inner_variables({name: value, "PLAIN": "x"}) == {"PLAIN": "x", "TMPDIR": "/tmp"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin:/bin"), ("NODE_ENV", "test"), ("REMOTE", "git@github.com:a/b"), ("URL", "http://h:80/@"),
        ("LS_COLORS", "rs=0:di=01;34"), ("PYTHONPATH", "src"), ("EMAIL", "a@b.example"),
    ],
)  # fmt: skip
def test_what_is_no_secret_is_seen_inside(name: str, value: str) -> None:
    assert inner_variables({name: value}) == {name: value, "TMPDIR": "/tmp"}


def test_temporary_files_go_where_a_sandbox_has_them() -> None:
    assert inner_variables({"TMPDIR": "/srv/mine", "TMP": "/srv/mine", "TEMP": "/x"}) == {"TMPDIR": "/tmp"}
