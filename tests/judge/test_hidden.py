"""What makes an emoji of a sign hides nothing; elsewhere a person does not see it."""

from __future__ import annotations

import pytest

from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = pytest.mark.spec("A2")

PLACE = FakeWorkspace()


@pytest.mark.parametrize("sign", ["⚠", "✔", "❤", "➡", "▶", "↔", "™", "\u2139", "\u203c", "⏱"])
def test_a_sign_in_its_form_as_an_emoji_hides_nothing(sign: str) -> None:
    assert judge([f'echo "{sign}\ufe0f missing"'], PLACE).verdict == "auto"
    assert judge([f'git commit -m "{sign}\ufe0f x"'], PLACE).reasons[0].text.startswith("creates a commit")


def test_a_key_in_that_form_hides_nothing() -> None:
    assert judge(['echo "3\ufe0f\u20e3 *\ufe0f\u20e3"'], PLACE).verdict == "auto"


@pytest.mark.parametrize(
    "line",
    [
        "cat .e\ufe0fnv",
        "rm\ufe0f x",
        "git\ufe0f push",
        "ls |\ufe0f sh",
        "echo x >\ufe0f y",
        "echo x ~\ufe0f/y",
        "X=\ufe0fy ls",
        "\ufe0fls",
        "ls \ufe0f",
        "cat a1\ufe0f",
        "ls *\ufe0f",
        "ls #\ufe0f",
        'echo "\u26a0\ufe0f\ufe0f"',
        'echo "\u26a0\ufe0e"',
        'echo "\u26a0\u200d"',
        'echo "\u26a0 \ufe0f"',
        'echo "\u2800\ufe0f"',
        "cat \u0430\ufe0f",
    ],
)
def test_elsewhere_it_is_a_hidden_character(line: str) -> None:
    assert judge([line], PLACE).verdict == "ask"
