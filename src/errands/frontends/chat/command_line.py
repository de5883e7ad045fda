"""The command line as the chat knows it. It is passed in, because frontends do not know each other."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any, Protocol

from errands.model.view import View
from errands.text import Look


class Typed(Protocol):
    """A verb of the command line and what was typed after it."""

    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> Any: ...
    @property
    def launches(self) -> bool: ...


class CommandLine(Protocol):
    """Reads a line without its slash, and carries it out."""

    def verbs(self) -> Mapping[str, Any]:
        """Return the verbs that work in a chat, by name."""

    def knows(self, name: str) -> bool:
        """Return whether this is an alias of a verb; refuse a verb that does not work in a chat."""

    def parse(self, line: str) -> Typed: ...

    def launch(self, typed: Typed, who: Mapping[str, Any]) -> View: ...

    def printed(self, typed: Typed, look: Look) -> str: ...

    def describe(self, task_id: str, look: Look) -> list[str]:
        """Describe everything that a task would do, for a person who decides about it."""


def slashed(text: str, verbs: Container[str]) -> str:
    """Name commands as they are typed here, in a message that was written for a shell."""

    def typed(match: re.Match[str]) -> str:
        return f"/{match[1]}" if match[1] in verbs else match[0]

    return re.sub(r"\berrands ([a-z]+)\b", typed, text)
