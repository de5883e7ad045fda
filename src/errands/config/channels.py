"""The tables `[channels.NAME]` and `[webhooks.NAME]`: their settings by kind, and what is wrong with them.

A channel that another package brings checks its own settings. Secrets are kept in a file or a variable.
"""

from __future__ import annotations

import os

from errands.config.setting_kinds import wrong_setting
from errands.model.errors import BadValue
from errands.model.notices.notice import is_name, parse_address
from errands.model.record import record
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from errands.config.setting_kinds import Kind


@record
class Setting:
    name: str
    shape: Kind
    help: str
    needed: bool = False
    choices: tuple[str, ...] = ()


KIND = Setting(name="kind", shape="name", help="which kind of channel this is; by default, its name")
_TARGET = Setting(name="target", shape="name", help="where to send, unless the task says so")

KINDS: dict[str, tuple[Setting, ...]] = {
    "inbox": (),
    "session": (
        Setting(name="url", shape="address", help="the OpenCode server (default http://127.0.0.1:4096)"),
        Setting(name="username", shape="name", help="its user (default opencode)"),
        Setting(name="password", shape="secret", help="its password"),
    ),
    "terminal": (),
    "desktop": (),
    "webhook": (
        Setting(name="url", shape="address", help="where to post deliveries", needed=True),
        Setting(name="secret", shape="secret", help="the key that signs deliveries", needed=True),
    ),
    "discord": (
        _TARGET,
        Setting(name="token", shape="secret", help="the token of the bot", needed=True),
        Setting(
            name="allowed", shape="users", help="the ids of the users who may talk, approve and use commands"
        ),
        Setting(name="agent", shape="name", help="the agent that answers (default agents.default)"),
        Setting(name="cwd", shape="name", help="the directory it works in (default: your home directory)"),
        Setting(name="listen", shape="switch", help="keep the bot running in the daemon (default false)"),
        Setting(name="guild", shape="name", help="the server whose members get the commands at once"),
        Setting(name="api", shape="address", help="another server with Discord's API"),
    ),
    "apprise": (
        _TARGET,
        Setting(name="targets", shape="targets", help="names, each with its Apprise URL", needed=True),
    ),
}

# The channels that need no settings, and so no table.
READY = tuple(name for name, settings in KINDS.items() if not any(each.needed for each in settings))

_WEBHOOK = (
    Setting(name="secret", shape="secret", help="the key that deliveries are signed with", needed=True),
    Setting(
        name="kind",
        shape="name",
        help="how deliveries are signed: as in Standard Webhooks (`standard`, the default), or by `github`",
        choices=("standard", "github"),
    ),
)


def kind_of(name: str, channels: Mapping[str, Mapping[str, Any]]) -> str:
    return str(channels.get(name, {}).get("kind", name))


def bots(channels: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the Discord channels whose bot is to listen."""
    listening = [name for name, settings in channels.items() if settings.get("listen")]
    return [name for name in listening if kind_of(name, channels) == "discord"]


def secrets_of(settings: Mapping[str, Any]) -> list[str]:
    """Return the files that hold a channel's secrets."""
    targets = settings.get("targets")
    words = [*settings.values(), *(targets.values() if isinstance(targets, dict) else ())]
    found = [each for each in words if isinstance(each, str) and each.startswith("file:")]
    return [os.path.expanduser(each.removeprefix("file:")) for each in found]


def wrong_channel(name: str, settings: Any) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the settings of a channel: the key, and what to do about it."""
    try:
        if str(parse_address(name)) != name:
            raise BadValue(f"{name!r} cannot be a channel; use lower-case letters, digits and hyphens")
    except BadValue as error:
        yield "", str(error)
        return
    kind = settings.get("kind", name)
    if not isinstance(kind, str):
        yield "kind", f"{kind!r} is not text"
    elif kind in KINDS:
        yield from _wrong_settings(settings, (KIND, *KINDS[kind]), f"a {kind} channel")
    elif "kind" not in settings:
        known = ", ".join(KINDS)
        yield "kind", f"missing; write kind = ... with one of: {known}{did_you_mean(kind, KINDS)}"


def wrong_webhook(name: str, settings: Any) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the settings of a webhook: the key, and what to do about it."""
    if not is_name(name):
        yield "", f"{name!r} cannot be a webhook; use lower-case letters, digits and hyphens"
    else:
        yield from _wrong_settings(settings, _WEBHOOK, "a webhook")


_EXAMPLES = {"secret": '"env:NAME" or "file:PATH"', "address": '"https://..."', "targets": "{ NAME = '...' }"}


def _wrong_settings(
    settings: Mapping[str, Any], known: tuple[Setting, ...], whose: str
) -> Iterator[tuple[str, str]]:
    by_name = {each.name: each for each in known}
    for key, value in settings.items():
        if key not in by_name:
            yield key, f"no such setting of {whose}{did_you_mean(key, by_name)}"
        elif advice := _wrong(by_name[key], value):
            yield key, advice
    for each in known:
        if each.needed and each.name not in settings:
            yield each.name, f"is missing; write {each.name} = {_EXAMPLES[each.shape]}: {each.help}"


def _wrong(setting: Setting, value: Any) -> str:
    if setting.choices:
        known = ", ".join(setting.choices)
        return "" if value in setting.choices else f"cannot be {value!r}; choose one of: {known}"
    return wrong_setting(setting.shape, value)
