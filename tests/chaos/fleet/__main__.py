"""Strike a fleet of four homes and its server, and count the promises that were broken."""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.chaos.fleet.checks import CHECKS, check
from tests.chaos.fleet.mutants import MUTANTS
from tests.chaos.fleet.network import missing
from tests.chaos.fleet.round import play
from tests.chaos.processes import become_subreaper


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seed", type=int, default=1, help="the first seed")
    reader.add_argument("--seeds", type=int, default=4)
    reader.add_argument("--tasks", type=int, default=500, help="over all seeds")
    reader.add_argument("--faults", type=int, default=100, help="over all seeds")
    reader.add_argument(
        "--keep", action="store_true", help="keep the files of rounds that broke a promise, or broke down"
    )
    reader.add_argument(
        "--only", action="append", default=[], metavar="FAULT", help="only faults of this name"
    )
    reader.add_argument(
        "--check", choices=list(CHECKS), action="append", help="strike in one way, over and over"
    )
    reader.add_argument("--clocks", action="store_true", help="let clocks jump by up to an hour, too")
    reader.add_argument("--runs", type=int, default=100, help="of each check")
    reader.add_argument("--mutant", choices=list(MUTANTS), default="", help="break the protocol on purpose")
    reader.add_argument("--at-once", type=int, default=1, metavar="N", help="play so many seeds side by side")
    given = reader.parse_args()
    if missing():
        sys.exit(missing())
    become_subreaper()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # clean up when stopped
    began, broken = time.monotonic(), 0
    for name in given.check or ():
        checked = check(name, runs=given.runs, mutant=given.mutant)
        print(checked.line(), *(f"  {each}" for each in checked.violations[:20]), sep="\n", flush=True)
        broken += len(checked.violations)
    seeds = () if given.check else range(given.seed, given.seed + given.seeds)
    tasks, faults = given.tasks // given.seeds, given.faults // given.seeds
    if given.at_once > 1 and len(seeds) > 1:
        broken += side_by_side(seeds, at_once=given.at_once, tasks=tasks, faults=faults)
        seeds = ()
    for seed in seeds:
        played = play(
            seed,
            tasks=tasks,
            faults=faults,
            keep=given.keep,
            only=given.only,
            mutant=given.mutant,
            clocks=given.clocks,
        )
        print(played.line(), *(f"  {each}" for each in played.violations[:20]), sep="\n", flush=True)
        broken += len(played.violations)
    print(f"{broken} broken promises in {time.monotonic() - began:.0f} s")
    if given.mutant:
        print(f"{given.mutant}: {'noticed' if broken else 'NOT noticed'}")
        return 0 if broken else 1
    return 1 if broken else 0


def side_by_side(seeds: Sequence[int], *, at_once: int, tasks: int, faults: int) -> int:
    """Play each seed in a process of its own, which has its own network; return what was broken."""
    own = ("--seeds", "1", "--at-once", "1", "--tasks", str(tasks), "--faults", str(faults), "--seed")
    started: list[subprocess.Popen[str]] = []

    def play_one(seed: int) -> int:
        words = [sys.executable, "-m", "tests.chaos.fleet", *sys.argv[1:], *own, str(seed)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(process)
        said, _ = process.communicate()
        told = re.search(r"^(\d+) broken promises in", said, re.MULTILINE)
        print(said if told is None else said[: told.start()], end="", flush=True)
        return 1 if told is None else int(told[1])  # it broke down itself

    with ThreadPoolExecutor(at_once) as workers:
        try:
            return sum(workers.map(play_one, seeds))
        except BaseException:
            workers.shutdown(wait=False, cancel_futures=True)
            for process in started:
                process.terminate()  # it cleans up
            raise


if __name__ == "__main__":
    sys.exit(main())
