"""A regular expression is compiled when it is first used, and then does what `re` does."""

from __future__ import annotations

import subprocess
import sys

from errands.model.text.regex import is_wild, regex


def test_it_does_what_the_compiled_one_does() -> None:
    word = regex(r"(?i)[a-z]+")

    assert word.pattern == "(?i)[a-z]+"
    found = word.match("ABC def")
    assert found is not None
    assert found[0] == "ABC"
    assert word.fullmatch("ABC def") is None
    assert word.findall("ABC def") == ["ABC", "def"]
    assert word.sub("x", "ABC def") == "x x"
    assert word.split("1a2") == ["1", "2"]
    assert word.groups == 0


def test_until_its_first_use_re_is_not_imported() -> None:
    program = (
        "import sys; from errands.model.text.regex import regex; word = regex('a+');"
        "print('re' in sys.modules); word.match('aa'); print('re' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, check=True).stdout

    assert said.split() == ["False", "True"]


def test_wildcards_are_those_of_file_names() -> None:
    assert [text for text in ("*.py", "a?", "[ab]", "a.b", "", "{a,b}") if is_wild(text)] == [
        "*.py",
        "a?",
        "[ab]",
    ]
