"""A pattern that begins like an ordinary name is read behind walls, unless it may match a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace
from tests.judge.test_effects import verdict

pytestmark = pytest.mark.spec("A2")


@pytest.mark.parametrize(
    "line",
    [
        "wc -l data/orders*.json",
        "cat data/report-*.json",
        "grep x scripts/start-*.sh",
        "tail -5 out/run-*.txt",
        "cat report*",
        "head -3 logs/worker-[0-9]*.log",
        "diff data/before-*.json data/after-*.json",
    ],
)
def test_a_pattern_that_begins_like_a_name_is_read_behind_walls(line: str) -> None:
    assert judge([line], FakeWorkspace()).verdict == "contained"


@pytest.mark.parametrize(
    "line",
    [
        "cat data/id_*",
        "cat data/id_r*",
        "cat data/cred*.json",
        "cat data/creds-*.json",
        "cat data/credentials*",
        "cat service-acc*.json",
        "cat client_*.json",
        "cat data/secret-*.json",
        "cat data/secrets*.yml",
        "cat data/token-*.json",
        "cat data/mytoken*",
        "cat data/accessToken*.json",
        "cat data/password*",
        "cat data/api-key*.txt",
        "cat data/private*",
        "cat data/auth-*.json",
        "cat data/server*.pem",
        "cat data/server*.key",
        "cat data/prod*.env",
        "cat data/*secret*",
        "cat data/report*.p?m",
        "cat data/.en*",
        "cat .git/conf*",
        "cat .env*",
        "cat ~/.ss*/id_x",
        "cat ~/.ssh/report-*",
        "cat secrets/report-*.json",
        "cat credentials/report-*.json",
        "cat /etc/sha*",
        "cat kube*",
        "cat firebase-admin*.json",
        "cat wallet*.json",
        "cat recovery-*.txt",
        "cat .netr*",
        "cat ~/.config/report-*",
        "git show HEAD:.en*",
    ],
)
def test_one_that_may_be_meant_for_a_secret_asks(line: str) -> None:
    assert judge([line], FakeWorkspace()).verdict == "ask"


def test_what_a_pattern_matches_now_counts(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "report-1.json").write_text("{}")
    (data / "report-x").mkdir()
    line = "cat data/report-*.json"
    assert verdict(line, tmp_path) == "contained"

    (data / "report-credentials.json").write_text("{}")
    assert verdict(line, tmp_path) == "ask"
    assert verdict("cat data/report-?.json", tmp_path) == "contained"

    (data / "report-credentials.json").unlink()
    (data / "report-2.json").symlink_to("../.env")
    assert verdict(line, tmp_path) == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "git log --oneline -- 'web/**'",
        "git log --stat -- 'web/**' ':!web/x'",
        "git log --name-only -- 'config/**'",
        "git diff --stat -- 'data/report-*.json'",
        "git show --stat HEAD -- 'web/**'",
        "git diff -- 'web/**'",
        "git log -p -- 'src/**'",
    ],
)
def test_git_shows_the_changes_of_such_files(line: str) -> None:
    assert judge([line], FakeWorkspace()).verdict == "auto"


@pytest.mark.parametrize(
    "line",
    [
        "git log --oneline -- .env",
        "git log --name-only -- '**/.env'",
        "git log --stat -- 'data/cred*.json'",
        "git diff -- 'data/token-*.json'",
        "git log -p -- .env",
        "git log --stat -p -- .env",
        "git log -U1 -- .env",
        "git log -L1,5:.env",
        "git log -W -- .env",
        "git log --color-words -- .env",
        "git log -c -- .env",
        "git log -m -- .env",
        "git show --stat HEAD:.env",
        "git show --name-only HEAD:.env",
        "git show -s HEAD:.env",
        "git show --stat ':(top).env'",
        "git diff -- .env",
        "git diff --stat -p -- .env",
        "git diff --stat --word-diff -- .env",
        "git diff -- '.e*'",
        "git show HEAD -- '*.pem'",
        "git blame .env",
        "git log -p -- '**/.env'",
        "git diff -- '**/id_rsa'",
        "git diff --check -- .env",
        "git log --stat -S AKIA -- .env",
        "git cat-file -p HEAD:.env",
    ],
)
def test_it_does_not_show_those_with_secrets(line: str) -> None:
    assert judge([line], FakeWorkspace()).verdict == "ask"
