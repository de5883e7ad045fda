"""An installation: Errands in the files of a client, or the daemon as a service, and the way to undo it.

`plan` shows what would change and writes nothing; `carry_out` does what was planned last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from errands.frontends.install import plan, service
from errands.frontends.install.clients import named
from errands.frontends.install.pieces import Whole
from errands.frontends.install.place import Place
from errands.frontends.install.plan import Change, Memory, Target
from errands.model.errors import BadValue, installing
from errands.model.record import evolve


class Installation:
    missing = ""
    offer: tuple[str, str] | None = None

    def __init__(
        self, targets: tuple[Target, ...], place: Place, *, leftovers: tuple[Target, ...] = ()
    ) -> None:
        """`leftovers` are files that other programs write; only a removal takes our part out of them."""
        self._targets = targets
        self._leftovers = leftovers
        self._project = place.project
        self._memory = Memory(place.config("errands", "installed.json"))
        self._changes: Sequence[Change] = ()
        self._removing = False

    def snippets(self) -> list[tuple[str, str]]:
        """Return what belongs in each file, for a person who edits by hand."""
        return [(each.path, each.alone().rstrip()) for each in self._targets]

    def plan(self, *, removing: bool) -> list[tuple[str, list[str]]]:
        """Return what would change, as a diff of each file."""
        self._removing = removing
        if self._project is not None:
            plan.check_links(self._targets, self._project)
        if removing:
            self._changes = plan.removal((*self._targets, *self._leftovers), self._memory)
        else:
            self._changes = plan.installation(self._targets, self._memory)
        return [(each.path, each.diff()) for each in self._needed]

    def steps(self) -> list[str]:
        """Return the commands that have to be run as well."""
        return []

    @property
    def _needed(self) -> list[Change]:
        return [each for each in self._changes if each.is_needed]

    def _write(self) -> None:
        plan.check_rights(self._needed)
        # Remember how to undo it before doing it.
        self._memory.keep(self._changes)
        plan.carry_out(self._needed)

    def _remove(self) -> None:
        plan.carry_out(self._needed)
        plan.sweep(self._memory.forget(self._changes))


class ClientInstallation(Installation):
    def __init__(
        self,
        client: str,
        *,
        environ: Mapping[str, str],
        project: str | None,
        dialect: str | None,
        trust: bool | None = None,
    ) -> None:
        self._client = named(client)
        if trust is not None and not self._client.setting:
            raise BadValue(f"--trust does not apply to {self._client.title}; leave it out")
        place = Place(environ=environ, project=project, dialect=dialect, trust=trust)
        super().__init__(self._client.targets(place), place, leftovers=self._client.leftovers(place))
        # What a person can choose: why, and the setting. None if there is nothing left to choose.
        if trust is None and self._client.setting and not self._is_trusted(place):
            self.offer = (
                f"{self._client.asks}. Errands does its own asking: it starts what is harmless, and in a "
                "sandbox the project's own work; anything else waits for your approval.",
                self._client.setting,
            )
        # The command that installs what the client needs to start the server.
        is_missing = self._client.is_server and not find_spec("mcp")
        self.missing = installing("mcp") if is_missing else ""

    def _is_trusted(self, place: Place) -> bool:
        """Return whether the client passes our tools already: the setting would change nothing."""
        now, trusting = (self._client.targets(evolve(place, trust=each)) for each in (None, True))
        try:
            return [each.after for each in plan.installation(now, self._memory)] == [
                each.after for each in plan.installation(trusting, self._memory)
            ]
        except BadValue:
            return False  # the plan will say what is wrong

    def carry_out(self) -> list[str]:
        """Write what was planned; return what a person should know about it."""
        if self._removing:
            self._remove()
            return [f"Errands was removed from {self._client.title}."]
        self._write()
        return [f"{self._client.title} has Errands from its next start; {self._client.reports}."]


class ServiceInstallation(Installation):
    def __init__(self, home: str, *, environ: Mapping[str, str], web: bool = False) -> None:
        """Install the daemon of a home as a service, or with `web` the web server."""
        program = service.WEB if web else service.DAEMON
        self._service = service.service_for(home, environ, program=program)
        self.missing = installing("web") if web and not find_spec("uvicorn") else ""
        target = Target(path=self._service.path, pieces=(Whole(text=self._service.text),))
        super().__init__((target,), Place(environ=environ))

    def snippets(self) -> list[tuple[str, str]]:
        commands = "\n".join(map(" ".join, service.enabling(self._service)))
        return [*super().snippets(), ("then", commands)]

    def steps(self) -> list[str]:
        if self._removing:
            commands = service.disabling(self._service) if self._needed else []
        else:
            is_needed = self._needed or any(service.complaints(self._service))
            commands = service.enabling(self._service) if is_needed else []
        return [" ".join(each) for each in commands]

    def carry_out(self) -> list[str]:
        """Write what was planned and run the commands; return what a person should know about it."""
        steps = self.steps()
        if not self._removing:
            self._write()
            return service.enable(self._service) if steps else []
        if steps:
            service.disable(self._service)
        self._remove()
        if steps:
            service.reload(self._service)
        name = self._service.program.name
        return [f"the {name} no longer starts after a reboot; one that is running now continues"]
