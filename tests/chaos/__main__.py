"""Hit an engine with seeded faults and count what it loses.

A round is one seed: a home, a daemon, a hundred tasks, three clients, two readers, some thirty faults.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time

from tests.chaos import kill_points, mutants, scenarios
from tests.chaos.decoys import can_reuse_pids
from tests.chaos.plan import Plan, make_plan
from tests.chaos.processes import become_subreaper
from tests.chaos.report import Report
from tests.chaos.round import play
from tests.chaos.subject import can_have_small_disk

SEEDS, TASKS, KILLS = 50, 5000, 1000
SMOKE = (1, 60, 10)


# A round chooses pids, and an engine that is broken on purpose signals wrong ones. In its own namespace it
# neither takes the pids of what else runs on this machine, such as another round, nor signals it.
OWN_PIDS = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def main() -> int:
    arguments = _arguments()
    if os.getpid() != 1 and _can_have_own_pids():
        os.execvp(OWN_PIDS[0], [*OWN_PIDS, sys.executable, "-m", "tests.chaos", *sys.argv[1:]])
    kill_points.check()
    if arguments.mutant:
        mutants.check(arguments.mutant)
    become_subreaper()
    for number in (signal.SIGINT, signal.SIGTERM):  # clean up when this process is stopped
        signal.signal(number, _leave)
    report = Report()
    report.skipped += [f"{fault}: {reason}" for fault, reason in _impossible().items()]
    began = time.monotonic()
    if arguments.scenario:
        plan = scenarios.PLANS[arguments.scenario]()
        report.add(
            play(plan, mutant=arguments.mutant, settled_within=scenarios.SETTLED_WITHIN, keep=arguments.keep)
        )
    else:
        for plan in _plans(arguments):
            played = play(plan, mutant=arguments.mutant, keep=arguments.keep)
            print(played.line(), *(f"  {each}" for each in played.violations[:20]), sep="\n", flush=True)
            report.add(played)
    report.seconds = time.monotonic() - began
    print(report.text(), flush=True)
    return 1 if report.violations else 0


def _leave(number: int, frame: object) -> None:
    sys.exit(128 + number)


def _plans(arguments: argparse.Namespace) -> list[Plan]:
    seeds = [arguments.seed] if arguments.seed is not None else list(range(1, arguments.seeds + 1))
    rounds = arguments.seeds
    tasks, kills = round(arguments.tasks / rounds), round(arguments.kills / rounds)
    return [make_plan(seed, tasks=tasks, kills=kills, without=_impossible().keys()) for seed in seeds]


def _impossible() -> dict[str, str]:
    """Return the faults that this machine does not allow, and why."""
    reasons = {}
    if not can_have_small_disk():
        reasons["disk full"] = "only root can mount a small disk"
    if os.getpid() != 1 or not can_reuse_pids():
        reasons["reused pids"] = "only root can choose the number of the next process, in a new namespace"
    return reasons


def _can_have_own_pids() -> bool:
    try:
        return subprocess.run([*OWN_PIDS, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seeds", type=int, help=f"how many rounds, seeds 1 to N (default {SEEDS})")
    parser.add_argument("--seed", type=int, help="play the round of this seed alone")
    parser.add_argument("--tasks", type=int, help=f"tasks over all rounds (default {TASKS})")
    parser.add_argument("--kills", type=int, help=f"kills over all rounds (default {KILLS})")
    parser.add_argument(
        "--smoke", action="store_true", help="a short run: {} seed, {} tasks, {} kills".format(*SMOKE)
    )
    parser.add_argument(
        "--scenario", choices=scenarios.PLANS, help="play one small plan instead of seeded ones"
    )
    parser.add_argument("--mutant", default="", help="break the engine: a module of tests/chaos/mutants")
    parser.add_argument(
        "--no-keep", dest="keep", action="store_false", help="remove the homes of failed rounds, too"
    )
    arguments = parser.parse_args()
    for name, usual in zip(
        ("seeds", "tasks", "kills"), SMOKE if arguments.smoke else (SEEDS, TASKS, KILLS), strict=True
    ):
        if getattr(arguments, name) is None:
            setattr(arguments, name, usual)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
