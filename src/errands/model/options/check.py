"""The check of a draft: what could never run is refused before there is a task."""

from __future__ import annotations

from _operator import attrgetter  # `operator` is one more module to load

from errands.model.errors import BadValue
from errands.model.options.draft import BLANK
from errands.model.options.table import BY_NAME, OPTIONS, TRIGGERS
from errands.model.options.values import command_of, value_of
from errands.model.record import evolve
from errands.model.text.json_text import utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Any

    from errands.model.options.draft import Draft

    Spell = Callable[[str], str]

_values = attrgetter(*(option.name for option in OPTIONS))
_DEFAULTS = tuple(zip((option.name for option in OPTIONS), _values(BLANK), strict=True))


def checked(draft: Draft, *, now: datetime, spell: Spell = str) -> Draft:
    """Return the draft with every value converted to the type of its field.

    `spell` turns the name of an option into what the caller calls it, for error messages.
    """
    changes: dict[str, Any] = {}
    given: list[str] = []
    for (name, default), value in zip(_DEFAULTS, _values(draft), strict=True):
        if value is default:
            continue
        if value is None:
            changes[name] = default
            continue
        given.append(name)
        new = value_of(BY_NAME[name], value, spell(name))
        if new is not value:
            changes[name] = new
    changes |= _action(draft, given, spell)
    if changes:
        draft = evolve(draft, **changes)
    if not given:
        return draft
    _check_company(draft, given, spell)
    return _at(draft, now, spell) if draft.at is not None else draft


def _action(draft: Draft, given: list[str], spell: Spell) -> dict[str, Any]:
    """Check that there is a command or a prompt, and no option of the other."""
    wrong, other, kind = "agent", "prompts", "command"
    changes: dict[str, Any] = {}
    if draft.prompt is None:
        command = command_of(draft.command)
        if command is not draft.command:
            changes["command"] = command
    else:
        _check_prompt(draft)
        wrong, other, kind = "shell", "commands", "prompt"
    for name in given:
        if BY_NAME[name].kind == wrong and getattr(draft, name) != getattr(BLANK, name):
            raise BadValue(f"{spell(name)} is for {other}, and this is a {kind}; leave it out")
    return changes


def _check_prompt(draft: Draft) -> None:
    prompt: Any = draft.prompt
    if draft.command:
        raise BadValue("a task has a command or a prompt, not both; leave one out")
    if not isinstance(prompt, str):
        raise BadValue(f"the prompt must be text (got {prompt!r})")
    if not prompt.strip():
        raise BadValue("the prompt is empty; write one, for example: errands ask 'why do the tests fail?'")
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise BadValue(f"the prompt must be text in UTF-8 (got {prompt[:80]!r})") from None


def _check_company(draft: Draft, given: list[str], spell: Spell) -> None:
    """Refuse options that exclude each other, or that have no effect without another one."""
    triggers = [name for name in TRIGGERS if getattr(draft, name) is not None]
    if len(triggers) > 1:
        raise BadValue(f"{' and '.join(map(spell, triggers))} cannot be combined: a task has one trigger")
    for name in given:
        needs, excludes = BY_NAME[name].needs, BY_NAME[name].excludes
        if triggers and triggers[0] in excludes and getattr(draft, name) != getattr(BLANK, name):
            raise BadValue(
                f"{spell(name)} is for a task that runs once; leave it out, or leave out {spell(triggers[0])}"
            )
        if needs and not any(each in triggers for each in needs):
            *others, last = map(spell, needs)
            listed = f"{', '.join(others)} or {last}" if others else last
            raise BadValue(f"{spell(name)} has no effect without {listed}; add that, or leave it out")
    if draft.host is not None:
        _check_host(draft, spell)
    elif draft.on_loss != BLANK.on_loss:
        raise BadValue(f"{spell('on_loss')} has no effect without {spell('host')}; add that, or leave it out")
    if draft.on is not None:
        from errands.model.schedule.event_trigger import check_event, watched_line

        check_event(draft.on, draft.on_options or {})
        if watched_line(draft.on) and draft.sandbox != "none":
            raise BadValue(f"{spell('on')} command:LINE does not work in a sandbox; leave out one of the two")


def _check_host(draft: Draft, spell: Spell) -> None:
    host = draft.host or ""
    if (
        not host
        or not host.isascii()
        or not host.replace("-", "").replace("_", "").replace(".", "").isalnum()
    ):
        raise BadValue(
            f"{spell('host')} must be the name or a label of a host (got {host!r}); errands hosts lists them"
        )
    words = [draft.name or "", draft.description or "", draft.cwd or ""]
    for command in (draft.command, *draft.then, *draft.before, *draft.lastly):
        words += [command] if isinstance(command, str) else command
    for variable in draft.env.items():
        words += variable
    if wrong := [each for each in words if utf8(each) != each]:
        raise BadValue(
            f"{wrong[0][:80]!r} is not UTF-8, and other hosts accept only that; change it, "
            f"or leave out {spell('host')}"
        )


def _at(draft: Draft, now: datetime, spell: Spell) -> Draft:
    """Read when to start, by the clock of the named zone or of this machine."""
    at: Any = draft.at
    if isinstance(at, str) or (at.tzinfo is None and draft.zone is not None):
        from errands.model.schedule.zone import zone_named
        from errands.model.text.duration import parse_time

        zone = None if draft.zone is None else zone_named(draft.zone)
        try:
            at = parse_time(at if isinstance(at, str) else at.isoformat(), now=now, zone=zone)
        except BadValue as error:
            raise BadValue(f"{spell('at')}: {error}") from None
    if at.tzinfo is None:
        raise BadValue(f"{spell('at')} {at} has no time zone; add one, such as datetime.now(UTC)")
    return draft if at is draft.at and draft.zone is None else evolve(draft, at=at, zone=None)
