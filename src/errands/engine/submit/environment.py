"""Environments: the digest under which the variables of a submission are stored; most share one.

What runs without approval loses the variables that would make it load or start something else.
"""

from __future__ import annotations

from errands.engine.actor import actor
from errands.model.text.blake2 import blake2b
from errands.model.text.json_text import plain_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


_MOST = 64  # projects remembered


class Environments:
    """The environment taken last: its digest, its variables, and the names of those removed.

    `who` and `session` are what it says about the submitter. Encoding the same environment for every task
    again would make a submit 41 % slower: 335 instead of 237 us of processor time.
    """

    def __init__(self) -> None:
        self._raw: dict[Any, Any] | None = None
        self._known: dict[str | None, tuple[str, str, str]] = {}
        self.digest = self.variables = self.removed = ""
        self.who = self.session = ""

    def take(self, environ: Mapping[str, str], project: str | None) -> str:
        """Return the digest of an environment; with `project`, as a run without approval gets it there."""
        # The bytes behind os.environ can be compared without decoding them.
        raw = dict(getattr(environ, "_data", environ))
        if raw != self._raw:
            self._raw = raw
            self._known.clear()
            self.who = actor(environ)
            self.session = environ.get("ERRANDS_SESSION", "")
        known = self._known.get(project)
        if known is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            known = self._known[project] = _stored(environ, project)
        self.digest, self.variables, self.removed = known
        return self.digest


def _stored(environ: Mapping[str, str], project: str | None) -> tuple[str, str, str]:
    lost: tuple[str, ...] = ()
    if project is not None:
        from errands.judge.shell.variables import removed

        lost = removed(environ, project=project)
    variables = plain_text({name: value for name, value in sorted(environ.items()) if name not in lost})
    return blake2b(variables.encode(), digest_size=16).hexdigest(), variables, " ".join(lost)
