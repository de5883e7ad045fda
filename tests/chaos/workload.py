"""The workload: a seeded mix of tasks, and what clients do with them and when."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.chaos.kill_points import SHIM_POINTS
from tests.chaos.plan import OWNERS, Act
from tests.chaos.planned_task import BLOB_SIZE, FLOOD_SIZE, PlannedTask

CLIENTS = 3
# Signals that end a process by default, SIGKILL among them.
SIGNALS = (1, 2, 3, 6, 9, 10, 11, 12, 13, 14, 15)
FOREVER = "sleep:120"
# What tasks do, and how often each kind is drawn.
KINDS = {
    "plain": 32, "sleeper": 26, "signal": 8, "family": 10, "stopped": 12, "raced": 4,
    "withdrawn": 3, "slow": 3, "large": 7, "flood": 4, "odd": 4, "orphan": 3,
}  # fmt: skip


def plan_workload(
    dice: Random, *, tasks: int, span: float
) -> tuple[tuple[PlannedTask, ...], tuple[Act, ...]]:
    """Plan a number of tasks and the acts on them, spread over a span of seconds."""
    planned_tasks: list[PlannedTask] = []
    acts: list[Act] = []
    prefix = f"s{dice.getrandbits(24):06x}"
    # In bursts, so that there are queues.
    bursts = [dice.uniform(0, span * 0.85) for _ in range(max(2, tasks // 12))]
    for number in range(tasks):
        at = dice.choice(bursts) + dice.uniform(0, 0.1)
        client = dice.randrange(CLIENTS)
        planned, more = _task(dice, f"{prefix}t{number:03d}", at, client)
        cleared = {token for act in acts if act.verb == "clear" for token in act.tokens}
        earlier = [
            act.tokens[0]
            for act in acts
            if act.verb == "submit" and act.client == client and act.at < at and act.tokens[0] not in cleared
        ]
        if earlier and not more and dice.random() < 0.15:
            planned = replace(
                planned, after=tuple(dict.fromkeys(dice.choices(earlier, k=dice.randint(1, 2))))
            )
        planned_tasks.append(planned)
        acts += [Act(at=at, client=client, verb="submit", tokens=(planned.token,)), *more]
        if dice.random() < 0.12 and not any(act.verb == "clear" for act in more):
            # The same key again: from another client at the same moment, or later.
            late = dice.choice((0.0, 0.0, dice.uniform(0, 2)))
            acts.append(
                Act(at=at + late, client=dice.randrange(CLIENTS), verb="submit", tokens=(planned.token,))
            )
    acts = _grouped(dice, acts, {planned.token: planned for planned in planned_tasks})
    for _ in range(max(1, tasks // 12)):
        acts.append(Act(at=dice.uniform(0, span), client=dice.randrange(CLIENTS), verb="ensure"))
    return tuple(planned_tasks), tuple(sorted(acts, key=lambda act: act.at))


def _task(dice: Random, token: str, at: float, client: int) -> tuple[PlannedTask, list[Act]]:
    """Draw one task, with the acts that belong to it beyond its launch."""
    planned = PlannedTask(
        token=token,
        steps=(),
        lane=dice.choices(("narrow", "wide", "broad"), (2, 5, 4))[0],
        priority=dice.choices(("high", "normal", "low"), (2, 6, 2))[0],
        owner=dice.choice(OWNERS),
        notify=dice.choices(("always", "on_failure", "never"), (17, 2, 1))[0],
        # A client that dies before it gets the answer asks again: only a key makes that safe.
        key=f"key {token}",
        delay=dice.uniform(0.1, 0.8) if dice.random() < 0.05 else 0.0,
    )
    kind = dice.choices(tuple(KINDS), tuple(KINDS.values()))[0]
    acts: list[Act] = []
    nap = f"sleep:{dice.uniform(0.05, 0.5 if planned.lane == 'narrow' else 1.4):.2f}"
    steps: tuple[str, ...]
    match kind:
        case "plain":
            steps = (f"lines:{dice.randint(0, 30)}", _end(dice))
        case "sleeper":
            steps = (f"lines:{dice.randint(1, 9)}", nap, f"lines:{dice.randint(1, 9)}", _end(dice))
        case "signal":
            steps = ("lines:3", nap, f"signal:{dice.choice(SIGNALS)}")
        case "family":
            steps = (*_children(dice), "lines:5", nap, _end(dice))
        case "stopped":
            deaf = ("deaf",) if dice.random() < 0.3 else ()
            steps = (*deaf, *(_children(dice) if dice.random() < 0.7 else ()), "lines:4", FOREVER, "exit:0")
            acts.append(Act(at=at + dice.uniform(0.05, 2.5), client=client, verb="cancel", tokens=(token,)))
        case "raced":
            length = dice.uniform(0.1, 0.6)
            steps = (f"sleep:{length:.2f}", _end(dice))
            late = length + dice.uniform(-0.05, 0.15)
            acts.append(Act(at=at + late, client=client, verb="cancel", tokens=(token,)))
        case "withdrawn":
            steps = ("lines:2", FOREVER, "exit:0")
            acts.append(Act(at=at, client=client, verb="cancel", tokens=(token,)))
        case "slow":
            steps = ("lines:2", FOREVER, "exit:0")
            planned = replace(planned, timeout=round(dice.uniform(0.1, 0.5), 2))
        case "large":
            planned = replace(planned, cap=dice.choice((4096, 20_000, 65_536)))
            steps = (f"blob:{dice.randint(1, BLOB_SIZE)}", "lines:40", nap, "lines:40", _end(dice))
        case "flood":  # faster than a viewer reads
            planned = replace(planned, cap=dice.choice((4096, 20_000, 65_536)))
            steps = ("lines:9", f"flood:{dice.randint(1, FLOOD_SIZE)}", "lines:9", _end(dice))
            if dice.random() < 0.3:
                late = dice.uniform(0.05, 0.5)
                acts.append(Act(at=at + late, client=client, verb="cancel", tokens=(token,)))
        case "odd":
            steps = (dice.choice(("stdin", "mute")), "lines:3", _end(dice))
        case _:
            planned = replace(planned, dies_at=dice.choice(tuple(SHIM_POINTS)))
            steps = ("tree", "lines:9", nap, "lines:9", _end(dice))
    if FOREVER in steps and planned.lane == "narrow":
        planned = replace(planned, lane="wide")  # it would block the whole lane
    if dice.random() < 0.05 and not acts:
        acts.append(Act(at=at + dice.uniform(0.5, 3), client=client, verb="restart", tokens=(token,)))
    elif dice.random() < 0.05:
        acts.append(Act(at=at + dice.uniform(1, 4), client=client, verb="clear", tokens=(token,)))
    return replace(planned, steps=steps), acts


def _end(dice: Random) -> str:
    return f"exit:{0 if dice.random() < 0.5 else dice.randint(1, 255)}"


def _children(dice: Random) -> tuple[str, ...]:
    return tuple(dice.sample(("tree", "session", "clean"), k=dice.randint(1, 2)))


def _grouped(dice: Random, acts: list[Act], planned_tasks: dict[str, PlannedTask]) -> list[Act]:
    """Join some neighbouring launches of a client into one call."""
    joined: list[Act] = []
    for act in sorted(acts, key=lambda act: act.at):
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.verb == act.verb == "submit"
            and last.client == act.client
            and not set(last.tokens) & {*act.tokens, *planned_tasks[act.tokens[0]].after}
            and dice.random() < 0.4
        ):
            joined[-1] = replace(last, tokens=last.tokens + act.tokens)
        else:
            joined.append(act)
    return joined
