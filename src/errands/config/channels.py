"""The settings of channels: what stands below `[channels.NAME]`, by the kind of the channel.

A channel that somebody else wrote checks its own. Secrets stand in a file or a variable, never here.
"""

from __future__ import annotations

import os

from errands.model.errors import BadValue
from errands.model.notices.notice import parse_address
from errands.model.record import record
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Literal

    Shape = Literal["text", "url", "secret", "flag", "users", "table"]


@record
class Setting:
    name: str
    shape: Shape
    help: str
    needed: bool = False


KIND = Setting(name="kind", shape="text", help="what sort of channel this is; without it, its name says so")
_TARGET = Setting(name="target", shape="text", help="where to, when the task does not say")

KINDS: dict[str, tuple[Setting, ...]] = {
    "inbox": (),
    "terminal": (),
    "desktop": (),
    "session": (
        Setting(name="url", shape="url", help="the OpenCode server (default http://127.0.0.1:4096)"),
        Setting(name="username", shape="text", help="its user (default opencode)"),
        Setting(name="password", shape="secret", help="its password"),
    ),
    "webhook": (
        Setting(name="url", shape="url", help="where letters are posted", needed=True),
        Setting(name="secret", shape="secret", help="what they are signed with", needed=True),
    ),
    "discord": (
        _TARGET,
        Setting(name="token", shape="secret", help="the token of the bot", needed=True),
        Setting(name="allowed", shape="users", help="the ids of those who may approve and give commands"),
        Setting(name="listen", shape="flag", help="whether the daemon keeps the bot running (default false)"),
        Setting(name="guild", shape="text", help="the server whose members get the commands at once"),
        Setting(name="api", shape="url", help="another server that speaks Discord's language"),
    ),
    "apprise": (
        _TARGET,
        Setting(
            name="targets",
            shape="table",
            help="names, and the URL of each as Apprise writes them",
            needed=True,
        ),
    ),
}

# Those that need no settings are there without a section.
READY = ("inbox", "session", "terminal", "desktop")


def kind_of(name: str, channels: Mapping[str, Mapping[str, Any]]) -> str:
    return str(channels.get(name, {}).get("kind", name))


def secrets_of(settings: Mapping[str, Any]) -> list[str]:
    """Name the files in which a channel's secrets are kept."""
    targets = settings.get("targets")
    words = [*settings.values(), *(targets.values() if isinstance(targets, dict) else ())]
    found = [each for each in words if isinstance(each, str) and each.startswith("file:")]
    return [os.path.expanduser(each.removeprefix("file:")) for each in found]


def complaints(name: str, settings: Any) -> Iterator[tuple[str, str]]:
    """Say what is wrong with the settings of a channel: the key, and what to do about it."""
    if not isinstance(settings, dict):
        yield "", f"is a channel; write [channels.{name}] and its settings below"
        return
    try:
        if str(parse_address(name)) != name:
            raise BadValue(f"{name!r} is no name for a channel; use lower-case letters, digits and hyphens")
    except BadValue as error:
        yield "", str(error)
        return
    kind = settings.get("kind", name)
    if not isinstance(kind, str):
        yield "kind", f"{kind!r} is not a text"
        return
    if kind not in KINDS:
        if "kind" not in settings:
            known = ", ".join(KINDS)
            yield "kind", f"is missing; write kind = ... with one of: {known}{did_you_mean(kind, KINDS)}"
        return
    known_settings = {each.name: each for each in (KIND, *KINDS[kind])}
    for key, value in settings.items():
        setting = known_settings.get(key)
        if setting is None:
            yield key, f"no such setting of a {kind} channel{did_you_mean(key, known_settings)}"
        elif wrong := _wrong(setting, value):
            yield key, wrong
    for each in KINDS[kind]:
        if each.needed and each.name not in settings:
            yield each.name, f"is missing: {each.help}"


def _wrong(setting: Setting, value: Any) -> str:
    match setting.shape:
        case "flag":
            return "" if isinstance(value, bool) else f"{value!r} is neither true nor false"
        case "users":
            is_list = isinstance(value, list) and all(
                isinstance(each, int | str) and str(each).isdecimal() for each in value
            )
            return "" if is_list else f"{value!r} is no list of user ids; write [1234, 5678]"
        case "table":
            is_table = isinstance(value, dict) and value and all(isinstance(v, str) for v in value.values())
            return "" if is_table else f'{value!r} is no table of URLs; write {{ phone = "ntfy://..." }}'
        case "url":
            is_url = isinstance(value, str) and value.startswith(("http://", "https://"))
            return "" if is_url else f"{value!r} is no address; write http://... or https://..."
        case "secret":
            is_secret = isinstance(value, str) and value.startswith(("file:", "env:"))
            return "" if is_secret else "a secret does not stand here; write file:PATH or env:NAME"
        case "text":
            # The ids of Discord are numbers, which is how people write them.
            is_text = isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip()
            return "" if is_text else f"{value!r} is not a text; write it in quotes"
