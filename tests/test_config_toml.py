"""The small TOML reader agrees with `tomllib`, and leaves everything that is not simple to it."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.config import toml

LINES = """\
[runs]
[lanes]
[agents.local]
[agents]
[ runs ]
[[runs]]
["runs"]
[runs]x
[runs
[a.]
[runs] # why
timeout = "2h"
timeout="2h"#why
timeout = '2h'
timeout = "a # b"
build = 2
build = 02
build = 1_000
build = -1
build = +1
build = 0
build = 1.5
build = 2 # two
build =
= 2
build
yes = true
yes = false#
yes = True
lanes.build = 2
"a b" = 1
allow = ["a", "b"]
allow = ["a", "b",]
allow = ["a" "b"]
allow = []
allow = [,]
allow = [1]
allow = ["a"] # why
allow = ["a"] why
allow = [
"c",
]
x = "\\t"
x = ""
x = "a" "b"
x = {a = 1}
x = 2026-01-02
# comment
  x = 1
x	= 1
é = 1
x = inf
local = "a"
runs = 1
a-b_c1 = 1
x = \x01
x = \u0661
\u0661 = 1
x = \"""a\"""
x = [\"""a\"""]
""".split("\n")


@settings(max_examples=1500)
@given(st.lists(st.sampled_from(LINES), max_size=7), st.sampled_from(("\n", "\r\n")))
def test_it_reads_the_same_values_as_tomllib(lines: list[str], end: str) -> None:
    text = end.join(lines)

    try:
        expected = tomllib.loads(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"\(at "):
            toml.loads(text.replace("\r\n", "\n"))
    else:
        assert toml.loads(text.replace("\r\n", "\n")) == expected


@given(st.text())
def test_it_agrees_with_tomllib_on_any_text(text: str) -> None:
    try:
        expected = tomllib.loads(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"\(at "):
            toml.loads(text)
    else:
        assert toml.loads(text) == expected


@pytest.mark.spec("X13")
@pytest.mark.parametrize(
    "text",
    [
        f"[runs]\nshell = {'[' * 5000}{']' * 5000}",
        f"[runs]\nshell = {'{a = ' * 5000}1{'}' * 5000}",
        f"[runs]\nshell.{'.'.join('a' * 5000)} = 1",
        f"[runs.{'.'.join('a' * 5000)}]\nx = 1",
        f"[runs]\nshell = {'[' * 50}{']' * 50}",
    ],
    ids=["lists", "tables in lines", "dotted keys", "sections", "not even near the limit of Python"],
)
def test_a_value_that_is_nested_for_its_own_sake_is_a_mistake(text: str) -> None:
    with pytest.raises(ValueError, match=r"nested more than 32 levels deep.*remove them"):
        toml.loads(text)


def test_what_settings_need_is_not_too_deep() -> None:
    text = "x = " + "[" * 30 + "]" * 30

    assert toml.loads(text) == tomllib.loads(text)
