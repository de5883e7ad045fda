"""The codec: records are read back as they were written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from errands.model.action import PROMPT, SHELL, Prompt, Sandbox, Shell
from errands.model.codec import JsonCodec, RowCodec, Shape
from errands.model.limits import LIMITS, Limits
from errands.model.record import evolve, record
from errands.model.text.json_text import plain_text
from errands.model.trigger import Cron, Every, On, as_plain, from_plain

START = datetime(2026, 1, 2, 3, 4, 5, 600, UTC)


@record
class Sample:
    name: str
    at: datetime
    ended_at: datetime | None = None
    words: tuple[str, ...] = ()
    pair: tuple[int, int] = (0, 0)
    note: str | None = None


TYPES = {
    "datetime": Shape(datetime.isoformat, datetime.fromisoformat),
    "tuple[str, ...]": Shape(" ".join, lambda text: tuple(text.split())),
}


def sample_codec() -> RowCodec[Sample]:
    return RowCodec(
        Sample,
        "samples",
        TYPES,
        columns={"pair": ("first", "second"), "note": "other.note"},
        derived={"first": ("name", str.upper)},
        given=("name",),
        pair=Shape(read=lambda first, second: (first, second)),
    )


def test_a_row_is_read_by_the_types_of_the_fields() -> None:
    codec = sample_codec()
    row = (START.isoformat(), None, "a b", 1, 2, "hello")
    expected = Sample(name="x", at=START, words=("a", "b"), pair=(1, 2), note="hello")

    assert codec.columns == (
        "samples.at, samples.ended_at, samples.words, samples.first, samples.second, other.note"
    )
    assert codec.width == len(row)
    assert codec.place("pair") == 3
    assert codec.read(row, "x") == expected


def test_a_row_is_written_by_the_types_of_the_fields() -> None:
    codec = sample_codec()
    sample = Sample(name="x", at=START, words=("a", "b"))

    assert codec.written_columns == "at, ended_at, words, first"
    assert codec.write(sample) == [START.isoformat(), None, "a b", "X"]
    assert codec.write(evolve(sample, ended_at=START))[1] == START.isoformat()


def test_a_field_of_a_type_without_a_shape_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Sample.pair is tuple\[int, int\]"):
        JsonCodec(Sample).whole(Sample(name="x", at=START))


def test_defaults_are_left_out_unless_they_are_asked_for() -> None:
    limits = Limits(timeout=timedelta(seconds=90), on_idle="report")

    assert LIMITS.encode(limits) == {"timeout": 90.0, "on_idle": "report"}
    assert LIMITS.whole(limits)["grace"] == 5.0
    assert LIMITS.decode(LIMITS.encode(limits)) == limits


def test_a_shape_may_read_none() -> None:
    codec = JsonCodec(
        Limits, timeout=Shape(lambda value: None, lambda value: value or timedelta.max, reads_none=True)
    )

    assert codec.decode({"timeout": None}).timeout == timedelta.max
    assert codec.encode(Limits(timeout=timedelta.max)) == {"timeout": None}


# What existing stores contain: these texts must stay readable.
@pytest.mark.parametrize(
    ("action", "text"),
    [
        (Shell(commands=(("true",),), cwd="/", environment="e"), '{"commands": [["true"]], "cwd": "/"}'),
        (
            Shell(
                commands=(("a", "b"), "c | d"),
                cwd="/x",
                environment="e",
                env={"K": "V"},
                before=("one",),
                lastly=(("two", "2"),),
                input="pipe",
                sandbox=Sandbox(writable=("/x",)),
                watch="git status",
            ),
            '{"commands": [["a", "b"], "c | d"], "cwd": "/x", "env": {"K": "V"}, "before": ["one"], '
            '"lastly": [["two", "2"]], "input": "pipe", "sandbox": {"writable": ["/x"], "network": true}, '
            '"watch": "git status"}',
        ),
        (
            Prompt(text="why?", agent="builtin", cwd="/", environment="e"),
            '{"text": "why?", "agent": "builtin", "cwd": "/"}',
        ),
        (
            Prompt(
                text="why?", agent="a", cwd="/", environment="e", tools=(), depth=2, budget={"requests": 3}
            ),
            '{"text": "why?", "agent": "a", "cwd": "/", "tools": [], "depth": 2, "budget": {"requests": 3}}',
        ),
    ],
)
def test_an_action_is_stored_as_ever(action: Shell | Prompt, text: str) -> None:
    import json

    codec: Any = PROMPT if isinstance(action, Prompt) else SHELL

    assert plain_text(codec.encode(action)) == text
    assert codec.decode(json.loads(text), environment="e") == action


@pytest.mark.parametrize(
    ("trigger", "plain"),
    [
        (
            Every(span=timedelta(minutes=5), anchor=START, jitter=timedelta(seconds=3), max_runs=2),
            {
                "kind": "every",
                "span": 300.0,
                "anchor": "2026-01-02T03:04:05.000600+00:00",
                "jitter": 3.0,
                "max_runs": 2,
            },
        ),
        (Cron(line="0 * * * *", hours="9-17"), {"kind": "cron", "line": "0 * * * *", "hours": "9-17"}),
        (
            On(source="file", subject="*.py", options={"during": "heard"}, debounce=timedelta(seconds=1)),
            {
                "kind": "on",
                "source": "file",
                "subject": "*.py",
                "options": {"during": "heard"},
                "debounce": 1.0,
            },
        ),
    ],
)
def test_a_trigger_is_stored_as_ever(trigger: Every | Cron | On, plain: dict[str, Any]) -> None:
    assert as_plain(trigger) == plain
    assert list(as_plain(trigger)) == list(plain)
    assert from_plain(plain) == trigger
