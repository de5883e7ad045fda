"""Break every requirement on purpose, one after another, and see a test that carries its id fail.

`python -m tests.proof [IDS]` prints a line for each breakage, and exits with 1 unless all are caught.
"""

from __future__ import annotations

import argparse
import queue
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.proof.breakage import ROOT, Breakage, StaleError
from tests.proof.breakages import all_breakages
from tests.proof.tree import Tree
from tests.requirements import tests_by_id

BROWSER = "tests/browser/"


@dataclass
class Verdict:
    """Say whether a breakage was caught, by which test, or why not."""

    breakage: Breakage
    caught_by: str = ""
    problem: str = ""
    seconds: float = 0.0

    def line(self) -> str:
        word = "SURVIVED" if self.problem else "caught"
        head = f"{word:9} {self.breakage.spec:4} {self.seconds:5.1f} s  {self.breakage.what}"
        details = self.problem or f"by {self.caught_by}"
        return "\n".join([head, *(f"{'':22}{each}" for each in details.splitlines())])


@dataclass
class Round:
    """Share the breakages among workers, each with a tree of its own."""

    tests: dict[str, list[str]]
    todo: queue.SimpleQueue[Breakage] = field(default_factory=queue.SimpleQueue)
    verdicts: list[Verdict] = field(default_factory=list)
    trees: list[Tree] = field(default_factory=list)

    def work(self, place: Path) -> None:
        tree = Tree(place)
        self.trees.append(tree)
        caught: list[Verdict] = []
        while True:
            try:
                breakage = self.todo.get_nowait()
            except queue.Empty:
                break
            verdict = self._prove(tree, breakage)
            self.verdicts.append(verdict)
            print(verdict.line(), flush=True)
            if not verdict.problem:
                caught.append(verdict)
        # The browser keeps an event loop in its process, in which no asynchronous test could run its own.
        self._confirm(tree, [each for each in caught if each.caught_by.startswith(BROWSER)])
        self._confirm(tree, [each for each in caught if not each.caught_by.startswith(BROWSER)])

    def _prove(self, tree: Tree, breakage: Breakage) -> Verdict:
        began = time.monotonic()
        caught_by, problem = self._first_failure(tree, breakage)
        return Verdict(breakage, caught_by, problem, time.monotonic() - began)

    def _first_failure(self, tree: Tree, breakage: Breakage) -> tuple[str, str]:
        """Return the test that catches a breakage, or else why none does."""
        first, passed, problem = f"tests/{breakage.test}", 0, ""
        tests = self.tests.get(breakage.spec, [])
        # Those that should catch it come first, alone: to collect the others takes longer than to run them.
        named = [each for each in tests if each.startswith(first)]
        for batch in (named, [each for each in tests if each not in named]):
            while batch:
                outcome = tree.run(breakage, batch)
                passed += outcome.passed
                if not outcome.caught:
                    problem = outcome.how or problem
                    break
                # Any other test may have failed for another reason, such as a busy machine: it fails twice.
                if outcome.caught.startswith(first) or tree.run(breakage, [outcome.caught]).caught:
                    return outcome.caught, ""
                problem = f"{outcome.caught} failed with the breakage, and passed at the second try"
                batch = batch[batch.index(outcome.caught.partition("[")[0]) + 1 :]
        if not tests:
            return "", f"no test carries {breakage.spec}"
        return "", problem or f"all {passed} tests that carry {breakage.spec} pass with the breakage"

    def _confirm(self, tree: Tree, caught: list[Verdict]) -> None:
        """Run the tests that failed without any breakage: a test that always fails proves nothing."""
        while caught:
            outcome = tree.run_unbroken(sorted({each.caught_by for each in caught}))
            if not outcome.how:
                return
            failing = [each for each in caught if each.caught_by in (outcome.caught or outcome.how)] or caught
            for each in failing:
                each.problem = f"{each.caught_by} fails without the breakage, too:\n{outcome.how}"
                print(each.line(), flush=True)
            caught = [each for each in caught if each not in failing]


def prove(breakages: Iterable[Breakage], tests: dict[str, list[str]], *, at_once: int) -> list[Verdict]:
    """Try each breakage on the tests of its id, and return the verdicts."""
    done = Round(tests)
    for each in breakages:
        done.todo.put(each)
    scratch = Path(tempfile.mkdtemp(prefix="proof-"))
    try:
        workers = [
            threading.Thread(target=done.work, args=(scratch / str(number),), daemon=True)
            for number in range(at_once)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        for tree in done.trees:
            tree.end_everything()
        shutil.rmtree(scratch, ignore_errors=True)
    return done.verdicts


def unmarked(breakages: Iterable[Breakage], tests: dict[str, list[str]]) -> list[str]:
    """Name the tests that should catch a breakage and do not carry its id."""
    return [
        f"{each.spec} ({each.what}): tests/{each.test} does not carry {each.spec}"
        for each in breakages
        if not any(test.startswith(f"tests/{each.test}") for test in tests.get(each.spec, ()))
    ]


def _leave(number: int, frame: object) -> None:
    sys.exit(128 + number)


def main() -> int:
    """Prove all requirements, or those named on the command line."""
    parser = argparse.ArgumentParser(prog="make prove", description=__doc__)
    parser.add_argument("ids", nargs="*", help="requirements to prove (all unless given)")
    parser.add_argument("--at-once", type=int, default=2, help="how many breakages are tried at a time")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, _leave)  # and clean up
    breakages = [each for each in all_breakages() if not arguments.ids or each.spec in arguments.ids]
    for name in sorted(set(arguments.ids) - {each.spec for each in breakages}):
        parser.error(f"no breakage of {name}: add one in tests/proof/breakages")
    try:
        for each in breakages:
            each.broken(ROOT)
    except StaleError as error:
        print(error, file=sys.stderr)
        return 1
    tests = tests_by_id()
    if problems := unmarked(breakages, tests):
        print("\n".join(problems), file=sys.stderr)
        return 1
    began = time.monotonic()
    verdicts = prove(breakages, tests, at_once=min(arguments.at_once, len(breakages)))
    caught = [each for each in verdicts if not each.problem]
    survivors = sorted({each.breakage.spec for each in verdicts if each.problem})
    print(f"\n{len(caught)} of {len(breakages)} caught in {time.monotonic() - began:.0f} s", end="")
    print(f"; survived: {' '.join(survivors)}" if survivors else "")
    return 0 if len(caught) == len(breakages) else 1


if __name__ == "__main__":
    sys.exit(main())
