"""Finding one name everywhere is not listing everything, unless the name is that of a secret."""

from __future__ import annotations

import pytest

from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = pytest.mark.spec("A2")


@pytest.mark.parametrize(
    "line",
    [
        'find / -name "libpq*" 2>/dev/null',
        "find / -name libpq.so.5",
        'find / -iname "*libpq*" -type f',
        'find / -xdev -name "python3*" -maxdepth 4',
        'find ~ -name "report-*.json"',
        'find / -path /proc -prune -o -name "libpq*" -print',
        'find / -name "libpq*" -printf "%p %s" 2>/dev/null | head',
        "find / -name node_modules -prune",
        "find /home -name Makefile",
        'find / -name "libpq*" -o -name "libssl*"',
        'find / -name "*.whl"',
    ],
)
def test_a_name_is_looked_for_anywhere(line: str) -> None:
    assert judge([line], FakeWorkspace()).verdict == "auto"


@pytest.mark.parametrize(
    "name",
    """
    * ** *.* li* *.p* *.py a*b?c*d *.pem *.PEM id_rsa id_* *rsa* *_rsa *.key *key* *cred* *history* *.json
    *.env .env* env* *password* *token* *.conf *secret* wallet* *.sqlite ssh* *ssh* authorized* shadow* *.kdbx
    .ssh .aws .netrc credentials kube* config docker-compose*.yml cookies *.bash_history *.ovpn login*
    [a-z]*pq*abc {libpq,id_rsa} *private* vault* *pass* *.pgpass .config keyrings *recovery-codes* lib\\*x
    """.split(),
)
def test_but_not_one_of_a_secret_or_of_anything(name: str) -> None:
    for place in ("/", "~", "/home"):
        assert judge([f"find {place} -name '{name}'"], FakeWorkspace()).verdict == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "find /",
        "find / -type f",
        'find / -print -name "libpq*"',
        'find / -ls -name "libpq*"',
        'find / -printf %p -name "libpq*"',
        'find / -name "libpq*" -o -print',
        'find / -name "libpq*" -o -type f',
        'find / -path /proc -prune -o -name "libpq*"',
        'find / -path /proc -prune -print -o -name "libpq*" -print',
        'find / -name "libpq*" -print -o -ls',
        'find / ! -name "libpq*"',
        'find / -not -name "libpq*"',
        'find / \\( -name "libpq*" -o -type f \\)',
        'find / -name "libpq*" , -print',
        "find / -name libpq*",
        "find / -path -name -path libpqa",
        'find / -regex ".*libpq.*"',
        'find / -path "*libpq*"',
        'find / -name "libpq*" -delete',
        'find / -name "libpq*" -exec cat {} +',
        'find / -name "libpq*" -exec rm {} +',
        'find / -name "libpq*" | xargs cat',
        'find / -name "libpq*" -fprint x',
        'find ~/.ssh -name "libpq*"',
        'find /root/.aws -name "libpq*"',
        "find / -name",
    ],
)
def test_and_nothing_else_is_listed_or_done(line: str) -> None:
    assert judge([line], FakeWorkspace()).verdict == "ask"
