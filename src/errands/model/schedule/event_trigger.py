"""Event triggers: the trigger of a draft that names an event source, and the checks of its options.

A wrong option of a built-in source is refused before there is a task; a source of a plugin checks its options
when it is opened.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.errors import BadValue
from errands.model.schedule.event_sources import KINDS
from errands.model.text.duration import parse_duration
from errands.model.trigger import On

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from errands.model.options.draft import Draft
    from errands.model.schedule.event_sources import SourceOption

SHORTEST_PERIOD = timedelta(seconds=1)  # between two polls of a source


def check_event(on: str, options: Mapping[str, str]) -> None:
    """Refuse an event that cannot happen, or an option that its source does not have."""
    source, subject = parse_on(on)
    if source in KINDS:
        _check_options(source, options)
        _check_subject(source, subject, options)


def event_trigger(draft: Draft) -> On:
    """Make the trigger of a draft that waits for events."""
    assert draft.on is not None
    source, subject = parse_on(draft.on)
    default = On(source=source)
    debounce = default.debounce if draft.debounce is None else draft.debounce
    return On(
        source=source,
        subject=subject,
        options=dict(draft.on_options or {}),
        debounce=debounce,
        max_wait=max(default.max_wait, debounce) if draft.max_wait is None else draft.max_wait,
        rate=default.rate if draft.rate is None else draft.rate,
        max_runs=draft.max_runs,
    )


def parse_on(text: str) -> tuple[str, str]:
    """Read SOURCE:SUBJECT."""
    source, colon, subject = text.partition(":")
    if not colon or not source.isidentifier() or not subject.strip():
        known = ", ".join(kind.example for kind in KINDS.values())
        raise BadValue(f"{text!r} is not an event; write SOURCE:SUBJECT, such as {known}")
    return source, subject.strip()


def watched_line(on: str) -> str:
    """Return the shell line that is polled for an event, or "" if there is none."""
    source, subject = parse_on(on)
    return subject if source == "command" else ""


def option(trigger: On, name: str) -> str:
    """Return the value of an option of a built-in source, or its default."""
    if name in trigger.options:
        return trigger.options[name]
    return next(each.default for each in KINDS[trigger.source].options if each.name == name)


def _check_options(source: str, options: Mapping[str, str]) -> None:
    known = {each.name: each for each in KINDS[source].options}
    for name, value in options.items():
        choice = known.get(name)
        if choice is None:
            takes = ", ".join(known) or "none"
            raise BadValue(f"the source {source} has no option {name!r}; it takes: {takes}")
        _check_value(choice, value)


def _check_value(choice: SourceOption, value: str) -> None:
    match choice.shape:
        case "duration":
            if parse_duration(value) < SHORTEST_PERIOD:
                raise BadValue(f"{choice.name} must be at least 1s (got {value})")
        case "choice" | "choices":
            words = value.split(",") if choice.shape == "choices" else [value]
            wrong = [each for each in words if each not in choice.choices]
            if wrong:
                raise BadValue(
                    f"{choice.name} cannot be {wrong[0]!r}; choose from: {', '.join(choice.choices)}"
                )
        case "pattern":
            _check_pattern(value)
        case "text":
            if not value.strip() or not value.isprintable():
                raise BadValue(f"{choice.name} cannot be {value!r}; write a value, or leave it out")


def _check_pattern(value: str) -> None:
    import re

    try:
        re.compile(value)
    except re.error as error:
        raise BadValue(f"match cannot be {value!r}: {error}; write a regular expression") from None


def _check_subject(source: str, subject: str, options: Mapping[str, str]) -> None:
    if "\0" in subject or ("\n" in subject and source != "command"):
        raise BadValue(f"the subject {subject!r} of {source} is not one line of text; write it on one line")
    if source == "github":
        parts = subject.split("/")
        letters = "".join(parts).replace("-", "").replace("_", "").replace(".", "")
        if len(parts) != 2 or not all(parts) or not (letters.isalnum() and letters.isascii()):
            raise BadValue(f"{subject!r} is not a repository; write github:owner/repository")
        if "hook" in options and "every" in options:
            raise BadValue("a webhook is not polled, so every has no effect with hook; leave one of them out")
    if source == "task" and (subject == "*") != ("batch" in options):
        raise BadValue(
            "write task:ID for one task, or task:* with the option batch=NAME for the tasks of a batch"
        )
