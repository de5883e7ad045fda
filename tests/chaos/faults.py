"""Faults: the seeded plan of what hits the engine, and when."""

from __future__ import annotations

from collections.abc import Iterable, Set
from random import Random

from tests.chaos.kill_points import CLIENT_POINTS, DAEMON_POINTS
from tests.chaos.plan import Fault

# What counts as a kill, how often each kind is drawn, and how many processes it kills.
KILLS = {"daemon": 60, "zygote": 14, "shim": 14, "daemon and zygote": 7, "all three": 5}
VICTIMS = {"daemon and zygote": 2, "all three": 3}
# What happens besides the kills, for every hundred of them.
OTHERS = {
    "stop daemon": 10,
    "stop shim": 6,
    "stop zygote": 4,
    "stop task": 6,
    "second daemon": 8,
    "clock": 10,
    "client": 10,
    "disk full": 6,
    "reused pids": 4,
}
STEPS = (-86_400.0, -3_600.0, -5.0, 5.0, 600.0, 3_600.0, 86_400.0)


def plan_faults(
    dice: Random, *, kills: int, span: float, without: Set[str] = frozenset()
) -> tuple[Fault, ...]:
    """Plan a number of kills, and other faults in proportion, over a span of seconds.

    `without` names the faults that this machine does not allow; the others stay the same.
    """
    faults: list[Fault] = []
    while kill_count(faults) < kills:
        faults.append(_kill(dice, dice.uniform(0.2, span)))
    for kind, share in OTHERS.items():
        count = int(kills * share / 100 + dice.random())
        faults += [_other(dice, kind, dice.uniform(0.2, span)) for _ in range(count)]
    return tuple(sorted((each for each in faults if each.kind not in without), key=lambda fault: fault.at))


def kill_count(faults: Iterable[Fault]) -> int:
    """Count the processes that will be killed."""
    return sum(VICTIMS.get(fault.kind, 1) for fault in faults if fault.kind in KILLS)


def _kill(dice: Random, at: float) -> Fault:
    kind = dice.choices(tuple(KILLS), tuple(KILLS.values()))[0]
    point, nth = "", 1
    if kind == "daemon" and dice.random() < 0.6:
        point = dice.choice(tuple(DAEMON_POINTS))
        nth = dice.choice((1, 1, 2, 4))
    # Mostly at once; sometimes late enough that tasks end meanwhile, or too early for it to get ready.
    span = dice.choice((0.0, 0.0, dice.uniform(0, 0.1), dice.uniform(0, 0.6)))
    return Fault(
        at=at,
        kind=kind,
        point=point,
        nth=nth,
        span=span,
        pick=dice.randrange(1000),
        then=dice.choices(("armed", "plain", "embedded"), (7, 2, 1))[0],
    )


def _other(dice: Random, kind: str, at: float) -> Fault:
    pick = dice.randrange(1000)
    match kind:
        case "stop daemon" | "stop shim" | "stop zygote" | "stop task":
            return Fault(at=at, kind=kind, span=dice.choice((0.1, 0.3, dice.uniform(0.1, 3.0))), pick=pick)
        case "disk full":
            return Fault(at=at, kind=kind, span=dice.uniform(0.2, 1.5))
        case "clock":
            return Fault(at=at, kind=kind, span=dice.choice(STEPS))
        case "client":
            point = dice.choice(("", *CLIENT_POINTS))
            return Fault(at=at, kind=kind, point=point, nth=dice.randint(1, 3), pick=pick)
        case _:
            return Fault(at=at, kind=kind, pick=dice.randint(1, 3))
