"""The settings of webhooks: what stands below `[webhooks.NAME]`, the places where deliveries come in.

Secrets stand in a file or a variable, never here.
"""

from __future__ import annotations

from errands.config.channels import Setting
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

KINDS = ("standard", "github")
SETTINGS = (
    Setting(name="secret", shape="secret", help="what deliveries are signed with", needed=True),
    Setting(
        name="kind",
        shape="text",
        help="how they are signed: as Standard Webhooks has it (`standard`, the default), or by `github`",
    ),
)
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


def complaints(name: str, settings: Any) -> Iterator[tuple[str, str]]:
    """Say what is wrong with the settings of a webhook: the key, and what to do about it."""
    if not isinstance(settings, dict):
        yield "", f"is a webhook; write [webhooks.{name}] and its settings below"
        return
    if not name[:1].isalpha() or not _LETTERS.issuperset(name):
        yield "", f"{name!r} is no name for a webhook; use lower-case letters, digits and hyphens"
        return
    known = {each.name: each for each in SETTINGS}
    for key, value in settings.items():
        if key not in known:
            yield key, f"no such setting of a webhook{did_you_mean(key, known)}"
        elif key == "kind" and value not in KINDS:
            yield key, f"cannot be {value!r}; choose one of: {', '.join(KINDS)}"
        elif key == "secret" and not (isinstance(value, str) and value.startswith(("file:", "env:"))):
            yield key, "a secret does not stand here; write file:PATH or env:NAME"
    if "secret" not in settings:
        yield "secret", f"is missing: {known['secret'].help}"
