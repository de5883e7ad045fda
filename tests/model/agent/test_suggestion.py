"""Suggestions: a rejected one is recognised in slightly different words."""

from __future__ import annotations

import pytest

from errands.model.agent.suggestion import Suggestion, is_similar, suggestions_in


@pytest.mark.spec("D4")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Watch the staging deploy and report when it is done", "watch staging deployment, report when done"),
        ("Run the test suite every hour", "run test-suite hourly, every hour"),
        ("Check CI for the main branch", "Checking the CI of main branch"),
        ("clean up old log files", "Clean old logs files up"),
        ("Update the changelog", "update changelogs"),
    ],
)
def test_slightly_other_words_are_the_same_idea(one: str, other: str) -> None:
    assert is_similar(one, other)
    assert is_similar(other, one)


@pytest.mark.spec("D4")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Watch the staging deploy", "Update the dependencies"),
        ("Run the test suite", "Write tests for the parser"),
        ("Check CI for the main branch", "Delete merged branches"),
        ("", "anything"),
        ("the and of", "the and of"),
    ],
)
def test_other_ideas_are_not(one: str, other: str) -> None:
    assert not is_similar(one, other)


@pytest.mark.spec("D4")
def test_the_same_command_under_another_name_is_the_same_idea() -> None:
    suggestion = Suggestion(name="weekly-tidy", reason="it is time", command="git  gc --prune=now")

    assert suggestion.is_like("housekeeping\nkeeps the repository small\ngit gc --prune=now")
    assert not suggestion.is_like("housekeeping\nkeeps the repository small\ngit fetch")


@pytest.mark.spec("D3")
def test_suggestions_are_found_among_other_text() -> None:
    answer = """Here is what I would do:
```json
{"name": "watch-ci", "reason": "it was red", "command": "gh run list", "every": "30m", "max_runs": 10}
```
- {"name": "docs", "reason": "put off yesterday", "prompt": "Update docs/how-to/chat.md"},
NOTHING else."""
    first, second = suggestions_in(answer)

    assert isinstance(first, Suggestion)
    assert isinstance(second, Suggestion)
    assert (first.work, first.every is not None, first.max_runs) == ("gh run list", True, 10)
    assert (second.work, second.every, second.max_runs) == ("Update docs/how-to/chat.md", None, None)


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"name": "both", "command": "x", "prompt": "y"}', "either a command or a prompt"),
        ('{"name": "neither"}', "either a command or a prompt"),
        ('{"name": 3, "command": "x"}', "name is not text"),
        ('{"command": "x", "every": "often"}', "is not a duration"),
        ('{"command": "x", "max_runs": 3}', "needs every"),
        ('{"command": "x", "every": "1h", "max_runs": true}', "must be a number"),
        ('{"command": "' + "x" * 5000 + '"}', "longer than"),
        ('{"command": ', "Expecting value"),
    ],
)
def test_a_line_that_cannot_be_parsed_is_reported(line: str, why: str) -> None:
    [said] = suggestions_in(line)

    assert isinstance(said, str)
    assert why in said


def test_an_answer_without_ideas_has_none() -> None:
    assert list(suggestions_in("NOTHING")) == []
