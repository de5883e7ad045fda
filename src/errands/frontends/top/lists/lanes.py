"""Where there is room: the lanes of this home, and the hosts of the fleet if it belongs to one."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Any

from errands.engine.engine import Engine
from errands.engine.fleet.host_watch import HostWatch
from errands.frontends.top.line_view import Line
from errands.frontends.top.lists.rows import Entry
from errands.model.errors import ErrandsError
from errands.model.limits import Lane
from errands.model.text.sanitise import line as safe
from errands.ports.fleet import HostView
from errands.text import HOST_COLOURS, Look, clip, pad, wrap

EVERY = 3.0  # seconds between two questions to the fleet, while the list is shown
_CELLS = 20  # of a bar, at most
_NAMES = 16  # columns of a name
_WIDEST = 76  # columns of a sentence
_MOST_SAID = 2  # lines of it, because the hosts follow


class LaneList:
    """How many slots of each lane and host are used, and how many runs wait for one."""

    def __init__(self, engine: Engine, look: Look, watch: HostWatch) -> None:
        self._engine = engine
        self._look = look
        self._watch = watch
        self._lanes: dict[str, Lane] = {}
        self._hosts: dict[str, HostView] = {}
        self._trouble = ""  # why the hosts cannot be listed
        self._ask_at = 0.0
        self._heard_at = 0.0  # when the fleet answered last; 0: never

    def ask_hosts(self, work: Callable[[Coroutine[Any, Any, None]], object]) -> None:
        """Ask the fleet for its hosts if that is due, which takes a while; without a fleet, never."""
        if time.monotonic() >= self._ask_at and self._watch.is_member:
            self._ask_at = float("inf")  # one question at a time
            work(self._read_hosts())

    async def _read_hosts(self) -> None:
        """Read the hosts; keep the last answer of a fleet that does not reply."""
        try:
            found = await self._watch.hosts()
            self._hosts = {f"host {each.id}": each for each in found}
            self._heard_at, self._trouble = time.monotonic(), ""
        except ErrandsError as error:
            self._trouble = safe(str(error))
        finally:
            self._ask_at = time.monotonic() + EVERY

    def entries(self) -> list[Entry]:
        self._lanes = {f"lane {each.name}": each for each in self._engine.queue.lanes()}
        if not self._watch.is_member:
            return list(self._lanes)
        heading: Line = [("HOSTS", "bold"), (f" · {len(self._hosts)}" if self._heard_at else "", "dim")]
        found: list[Entry] = [*self._lanes, [], heading]
        if self._trouble:
            found += [[(each, "yellow")] for each in wrap(self._trouble, _WIDEST)[:_MOST_SAID]]
        if not self._heard_at and not self._trouble:
            found.append([("Asking the fleet ...", "dim")])
        return [*found, *self._hosts]

    def draw(self, entry: str, columns: int) -> Line:
        if (host := self._hosts.get(entry)) is not None:
            return self._draw_host(host)
        lane = self._lanes.get(entry)
        if lane is None:
            return []
        line = self._room(lane.name, lane.running, lane.width)
        if lane.pending:
            line.append((f" · {lane.pending:,} pending", "yellow"))
        if lane.set_by:
            line.append((f" · set by {safe(lane.set_by)}", "dim"))
        return line

    def _draw_host(self, host: HostView) -> Line:
        seen = host.seen + time.monotonic() - self._heard_at
        words = ["this home"] if host.id == self._watch.own else []
        words += [*map(safe, host.labels), f"seen {seen:.0f} s ago", safe(host.version)]
        return [
            *self._room(host.name, host.running, host.slots),
            (f" · {host.state}", HOST_COLOURS.get(host.state, "")),
            (f" · {' · '.join(words)}", "dim"),
        ]

    def _room(self, name: str, used: int, slots: int) -> Line:
        """Draw a name, its slots as a bar, and their number."""
        cells = min(slots, _CELLS)
        full = min(used, cells)
        return [
            (pad(clip(safe(name), _NAMES), _NAMES) + "  ", "bold"),
            (self._look.sign("█", "#") * full + self._look.sign("░", ".") * (cells - full), "cyan"),
            (f"  {used} of {slots}", ""),
        ]
