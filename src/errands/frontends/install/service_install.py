"""The service as an installation: shown first, written, used by the system, and taken back the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from errands.frontends.install import plan, service
from errands.frontends.install.clients import Place
from errands.frontends.install.pieces import Whole
from errands.frontends.install.plan import Change, Memory, Target


class ServiceInstallation:
    missing = ""  # it needs nothing besides

    def __init__(self, home: str, *, environ: Mapping[str, str]) -> None:
        self._service = service.service_for(home, environ)
        self._targets = (Target(path=self._service.path, pieces=(Whole(text=self._service.text),)),)
        self._memory = Memory(Place(environ=environ).config("errands", "installed.json"))
        self._changes: Sequence[Change] = ()
        self._removing = False

    def snippets(self) -> list[tuple[str, str]]:
        commands = "\n".join(map(" ".join, service.enabling(self._service)))
        return [(self._service.path, self._service.text.rstrip()), ("then", commands)]

    def plan(self, *, removing: bool) -> list[tuple[str, list[str]]]:
        self._removing = removing
        make = plan.removing if removing else plan.installing
        self._changes = make(self._targets, self._memory)
        return [(each.path, each.diff()) for each in self._changes if each.is_one]

    def steps(self) -> list[str]:
        """Name the commands of the system that are run besides; none when it is used already, or stays."""
        is_changed = any(each.is_one for each in self._changes)
        if self._removing:
            return [" ".join(each) for each in service.disabling(self._service)] if is_changed else []
        is_wanted = is_changed or any(service.complaints(self._service))
        return [" ".join(each) for each in service.enabling(self._service)] if is_wanted else []

    def carry_out(self) -> list[str]:
        changes = [each for each in self._changes if each.is_one]
        steps = self.steps()
        if self._removing:
            if steps:
                service.disable(self._service)
            plan.carry_out(changes)
            self._memory.forget(self._changes)
            if steps:
                service.disabled(self._service)
            return ["nothing starts the daemon after a reboot any more; the one that runs goes on"]
        plan.check_rights(changes)
        self._memory.keep(self._changes)
        plan.carry_out(changes)
        return service.enable(self._service) if steps else []
