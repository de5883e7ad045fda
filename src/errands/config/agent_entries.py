"""The settings of agents as they are shown: each with where it came from, secrets masked."""

from __future__ import annotations

from errands.config.secret import is_secret
from errands.model.action import quoted
from errands.model.text.mask import Mask
from errands.model.text.sanitise import line
from errands.model.text.secrets import masked_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from errands.config import Config


def agent_entries(config: Config) -> Iterator[tuple[str, str, str]]:
    """List the settings of the agents, each with where it came from; secrets are masked."""
    for name, settings in config.backends.items():
        path = f"agents.{name}"
        for key, value in _settings(settings) if settings else [("backend", name)]:
            yield f"{path}.{key}", value, config.origin[path]


def _settings(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _settings(value, f"{above}{key}.")
        elif isinstance(value, list):
            yield f"{above}{key}", line(Mask({}).text(" ".join(map(quoted, map(str, value)))))
        elif is_secret(str(value).rpartition(" ")[2]):
            yield f"{above}{key}", str(value)
        elif key in ("key", "password") or above.endswith("headers."):
            yield f"{above}{key}", f"[masked: {key}]"
        else:
            said = masked_variables({key: str(value)})[key]
            yield f"{above}{key}", line(Mask({}).text(said))
