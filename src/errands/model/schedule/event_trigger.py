"""Watching: from what a draft says about events to the trigger that a task is made with.

The sources that come with Errands are known here, so that a wrong word is refused before there is a task;
one that somebody else wrote checks its own options when it is opened.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.errors import BadValue
from errands.model.record import record
from errands.model.text.duration import parse_duration
from errands.model.trigger import NOTHING, On

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from errands.model.options.draft import Draft

    Shape = Literal["duration", "choice", "choices", "pattern", "text"]

# Between two looks: whoever looks more often than this does little else.
SHORTEST_LOOK = timedelta(seconds=1)
_ABOUT_EVENTS = ("on_options", "debounce", "max_wait", "rate")


@record
class Choice:
    """An option of a source: which values it takes, and what holds without it."""

    name: str
    help: str
    shape: Shape = "text"
    choices: tuple[str, ...] = ()
    default: str = ""


@record
class Kind:
    """A source that comes with Errands; `subject` says what stands behind the colon."""

    subject: str
    example: str
    options: tuple[Choice, ...] = ()


_EVERY = Choice(name="every", shape="duration", help="how often to look", default="30s")

KINDS: dict[str, Kind] = {
    "file": Kind(
        subject="a pattern of paths",
        example="file:src/**/*.py",
        options=(
            Choice(
                name="events",
                shape="choices",
                choices=("created", "modified", "deleted"),
                help="which of them count",
                default="created,modified,deleted",
            ),
            Choice(
                name="during",
                shape="choice",
                choices=("own", "heard"),
                help="whether changes made while the task itself runs are taken for its own, or heard",
                default="own",
            ),
        ),
    ),
    "command": Kind(
        subject="a shell line",
        example="command:git rev-parse HEAD",
        options=(
            _EVERY,
            Choice(
                name="when",
                shape="choice",
                choices=("changed", "output", "exit"),
                help="what has to change: output or exit code, or one of the two",
                default="changed",
            ),
            Choice(name="match", shape="pattern", help="signal when the output begins to match this instead"),
            Choice(name="timeout", shape="duration", help="the longest that a look may take", default="30s"),
        ),
    ),
    "github": Kind(
        subject="a repository",
        example="github:owner/repository",
        options=(
            Choice(
                name="events",
                shape="choices",
                choices=("pull", "build"),
                help="new pull requests, failed builds",
                default="pull,build",
            ),
            Choice(name="branch", help="only builds of this branch"),
            Choice(name="every", shape="duration", help="how often to ask", default="1m"),
            Choice(name="hook", help="do not ask, but take deliveries at this webhook of the configuration"),
        ),
    ),
    "webhook": Kind(subject="a webhook of the configuration", example="webhook:deploy"),
    "task": Kind(
        subject="a task, or *",
        example="task:build-4k2m7x",
        options=(
            Choice(
                name="state",
                shape="choices",
                choices=("completed", "failed", "cancelled", "skipped"),
                help="which ends count",
                default="completed,failed,cancelled,skipped",
            ),
            Choice(name="batch", help="only tasks of this batch"),
        ),
    ),
}


def check_watch(draft: Draft) -> None:
    """Refuse an event that is none, with a sentence that says what to change."""
    if draft.on is None:
        stray = [name for name in _ABOUT_EVENTS if getattr(draft, name) is not None]
        if stray:
            raise BadValue(f"{stray[0]} is about an event; give on too, or leave it out")
        return
    source, subject = parse_on(draft.on)
    options = draft.on_options or {}
    if source in KINDS:
        _check_options(source, options)
        _check_subject(source, subject, options)
    for label, span in (("debounce", draft.debounce), ("max_wait", draft.max_wait)):
        if span is not None and span < NOTHING:
            raise BadValue(f"{label} cannot be less than nothing")
    if draft.rate is not None and draft.rate < 1:
        raise BadValue(f"rate cannot be {draft.rate}; the least is 1 run in an hour")
    if source == "command" and draft.sandbox != "none":
        raise BadValue("a sandbox has no room for the command that is watched; leave one of them out")


def watch_of(draft: Draft) -> On:
    """Make the trigger of a draft that waits for events."""
    assert draft.on is not None
    source, subject = parse_on(draft.on)
    usual = On(source=source)
    debounce = usual.debounce if draft.debounce is None else draft.debounce
    return On(
        source=source,
        subject=subject,
        options=dict(draft.on_options or {}),
        debounce=debounce,
        max_wait=max(usual.max_wait, debounce) if draft.max_wait is None else draft.max_wait,
        rate=usual.rate if draft.rate is None else draft.rate,
        max_runs=draft.max_runs,
    )


def parse_on(text: str) -> tuple[str, str]:
    """Read SOURCE:SUBJECT."""
    source, colon, subject = text.partition(":")
    if not colon or not source.isidentifier() or not subject.strip():
        known = ", ".join(kind.example for kind in KINDS.values())
        raise BadValue(f"{text!r} is no event; write SOURCE:SUBJECT, such as {known}")
    return source, subject.strip()


def watched_line(on: str) -> str:
    """Give the shell line that is run now and then to hear of an event; the empty text when there is none."""
    source, subject = parse_on(on)
    return subject if source == "command" else ""


def option(trigger: On, name: str) -> str:
    """Give the value of an option of a source that comes with Errands, or what holds without it."""
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


def _check_value(choice: Choice, value: str) -> None:
    match choice.shape:
        case "duration":
            if parse_duration(value) < SHORTEST_LOOK:
                raise BadValue(f"{choice.name} cannot be {value}; the least is a second")
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
                raise BadValue(f"{choice.name} cannot be {value!r}; give it a value, or leave it out")


def _check_pattern(value: str) -> None:
    import re

    try:
        re.compile(value)
    except re.error as error:
        raise BadValue(f"match cannot be {value!r}: {error}; write a regular expression") from None


def _check_subject(source: str, subject: str, options: Mapping[str, str]) -> None:
    if "\0" in subject or ("\n" in subject and source != "command"):
        raise BadValue(f"{source}:{subject!r} names nothing; write it on one line")
    if source == "github":
        parts = subject.split("/")
        letters = "".join(parts).replace("-", "").replace("_", "").replace(".", "")
        if len(parts) != 2 or not all(parts) or not (letters.isalnum() and letters.isascii()):
            raise BadValue(f"{subject!r} is no repository; write github:owner/repository")
        if "hook" in options and "every" in options:
            raise BadValue("a webhook is not asked, so every has no meaning with hook; leave one of them out")
    if source == "task" and (subject == "*") != ("batch" in options):
        raise BadValue(
            "write task:ID for one task, or task:* with the option batch=NAME for those of a batch"
        )
