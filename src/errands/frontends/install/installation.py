"""An installation: one client, one place, what is written there, and how it is undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from errands.frontends.install import plan
from errands.frontends.install.clients import Place, named
from errands.frontends.install.plan import Change, Memory


class Installation:
    def __init__(
        self, client: str, *, environ: Mapping[str, str], project: str | None, dialect: str | None
    ) -> None:
        self._client = named(client)
        place = Place(environ=environ, project=project, dialect=dialect)
        self._targets = self._client.targets(place)
        self._memory = Memory(place.config("errands", "installed.json"))
        self._changes: Sequence[Change] = ()
        self._removing = False

    @property
    def missing(self) -> str:
        """What has to be installed besides, before the client can start the server."""
        return "" if find_spec("mcp") else "pip install 'errands[mcp]'"

    def snippets(self) -> list[tuple[str, str]]:
        """Give what belongs into each file, for whoever puts it there by hand."""
        return [(target.path, target.alone().rstrip()) for target in self._targets]

    def plan(self, *, removing: bool) -> list[tuple[str, list[str]]]:
        """Say what would change, as a diff of each file; nothing is written."""
        self._removing = removing
        make = plan.removing if removing else plan.installing
        self._changes = make(self._targets, self._memory)
        return [(each.path, each.diff()) for each in self._changes if each.is_one]

    def steps(self) -> list[str]:
        """Name the commands that are run besides: a client reads its files by itself."""
        return []

    def carry_out(self) -> list[str]:
        """Write what was planned; give what holds from now on."""
        changes = [each for each in self._changes if each.is_one]
        if self._removing:
            plan.carry_out(changes)
            plan.sweep(self._memory.forget(self._changes))
            return [f"Errands is no part of {self._client.title} any more."]
        plan.check_rights(changes)
        # What has to be undone is known before it is done.
        self._memory.keep(self._changes)
        plan.carry_out(changes)
        title, told = self._client.title, self._client.told
        return [f"Errands is part of {title} from its next start on; {told}."]
