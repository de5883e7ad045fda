"""Addresses: where a task reports: as asked for, by its environment, or by the configuration.

An address that was asked for must be valid; an inferred one is left out if it is not.
"""

from __future__ import annotations

import os

from errands.config.channels import KINDS, READY, kind_of
from errands.model.errors import BadValue
from errands.model.notices.notice import Address, parse_address
from errands.ports.home import process_mark
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from errands.config import Config
    from errands.model.options.draft import Draft

OPENCODE = "ses_"  # how the ids of OpenCode's sessions begin


def addresses(draft: Draft, environ: Mapping[str, str], config: Config, owner: str) -> tuple[Address, ...]:
    """Return the channels of a task, each with its target."""
    if draft.channels is not None:
        found = _parsed(draft.channels)
        return _distinct([_complete(each, draft, config, owner) for each in found], owner)
    here = environ.get("ERRANDS_CHANNEL", "")
    inferred = _parsed(here.split(";")) if here else _parsed(config.notices.channels)
    complete: list[Address] = []
    for each in inferred:
        try:
            complete.append(_complete(each, draft, config, owner))
        except BadValue:
            continue  # such as the terminal of a caller that has none
    return _distinct(complete, owner)


def _parsed(words: Sequence[str]) -> list[Address]:
    return [parse_address(each) for each in words if each.strip() and each.strip() != "none"]


def _distinct(found: list[Address], owner: str) -> tuple[Address, ...]:
    """Leave out duplicates, and the owner's inbox, which gets every notice anyway."""
    inbox = Address(channel="inbox", target=owner)
    return tuple(each for each in dict.fromkeys(found) if each != inbox)


def _complete(address: Address, draft: Draft, config: Config, owner: str) -> Address:
    name, kind = address.channel, kind_of(address.channel, config.channels)
    if name not in config.channels and name not in READY:
        known = [*config.channels, *READY]
        if name in KINDS:
            raise BadValue(
                f"channel {name} is not configured; add [channels.{name}] to your configuration, "
                f"and see `errands config check`"
            )
        raise BadValue(
            f"unknown channel {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}; "
            "to add one, write a section [channels.NAME] in your configuration"
        )
    match kind:
        case "inbox":
            return Address(channel="inbox", target=address.target or owner)
        case "session":
            target = address.target or draft.parent or owner
            # Every other session reads its own inbox.
            return Address(channel=name if target.startswith(OPENCODE) else "inbox", target=target)
        case "terminal":
            return Address(channel=name, target=address.target or terminal())
        case "desktop" | "webhook":
            if address.target:
                raise BadValue(f"channel {name} has one target only; leave out :{address.target}")
            return address
        case "apprise":
            return _named(address, config.channels[name])
    target = address.target or str(config.channels[name].get("target", ""))
    if kind == "discord" and not target.removeprefix("user/").isdecimal():
        raise BadValue(
            f"channel {name} needs a target: the id of a channel, or user/ and the id of a user, "
            f"such as {name}:1234; or set target in [channels.{name}]"
        )
    return Address(channel=name, target=target)


def _named(address: Address, settings: Mapping[str, object]) -> Address:
    """Find the target of an Apprise channel; the only one is the default."""
    targets = settings.get("targets")
    known = list(targets) if isinstance(targets, dict) else []
    target = address.target or str(settings.get("target", "")) or (known[0] if len(known) == 1 else "")
    if target not in known:
        said = f"unknown target {target!r}" if target else "it needs a target"
        raise BadValue(f"channel {address.channel}: {said}{did_you_mean(target, known)}; {', '.join(known)}")
    return Address(channel=address.channel, target=target)


def terminal() -> str:
    """Return the name of this process's terminal, unique over time."""
    for descriptor in (0, 1, 2):
        try:
            path = os.ttyname(descriptor)
        except OSError:
            continue
        return f"{path}@{process_mark(os.getsid(0))}"
    raise BadValue("this process has no terminal to report to; leave out the terminal channel")
