"""Judge lines by the million, run those that pass, and report what they tried to do."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice, repeat
from math import inf
from pathlib import Path

from errands.judge.judge import judge
from tests.fuzz.traced.drafts import Drafts, shape
from tests.fuzz.traced.effects import effects
from tests.fuzz.traced.machine import Machine, absent, missing
from tests.judge.fake_workspace import FakeWorkspace

LINES, SEED, PIECE, BATCH = 1_000_000, 1, 2_000, 250

Passing = tuple[dict[str, str], int, list[str]]


@dataclass
class Findings:
    judged: int = 0
    auto: int = 0
    ran: int = 0
    bad: dict[str, list[str]] = field(default_factory=dict)
    raised: list[str] = field(default_factory=list)


Said = Callable[[Findings], None]


def passing(directories: frozenset[str], seed: int, count: int) -> Passing:
    """Judge lines; return one of each shape that only reads, how many passed, and what raised an error."""
    here = FakeWorkspace(directories=directories)
    chosen: dict[str, str] = {}
    passed, raised = 0, []
    for line in islice(Drafts(seed), count):
        try:
            found = judge((line,), here)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must be told with the line that raised it
            raised.append(f"{type(error).__name__}: {line!a}")
            continue
        if found.verdict == "auto" and not found.does_more:
            passed += 1
            chosen.setdefault(shape(line), line)
    return chosen, passed, raised


def tried(machine: Machine, lines: Sequence[str]) -> dict[str, list[str]]:
    """Run lines together; then those alone that something was seen of, because they may be mixed up."""
    suspects = sorted({each.line for each in effects(machine.trace(lines))})
    bad = {}
    for number in suspects:
        if seen := [each.what for each in effects(machine.trace([lines[number]]))]:
            bad[lines[number]] = list(dict.fromkeys(seen))
    return bad


def fuzz(
    place: Path, *, count: int, seed: int, at_once: int, within: float = inf, on_piece: Said = lambda _: None
) -> Findings:
    """Judge `count` lines, and run one of each shape of those that pass.

    After `within` seconds no other piece is begun; what was judged by then is still run.
    """
    machine, findings, known = Machine(place), Findings(), set[str]()
    sizes = [min(PIECE, count - at) for at in range(0, count, PIECE)]
    pieces = iter([(seed * 1_000_003 + number, size) for number, size in enumerate(sizes)])
    end = time.monotonic() + within
    with ProcessPoolExecutor(at_once) as pool:

        def begin(most: int) -> deque[tuple[int, Future[Passing]]]:
            chosen = islice(pieces, most) if time.monotonic() < end else ()
            return deque((each[1], pool.submit(passing, machine.directories, *each)) for each in chosen)

        judging = begin(at_once)
        while judging:
            size, piece = judging.popleft()
            chosen, passed, raised = piece.result()
            judging += begin(1)
            findings.judged += size
            findings.auto += passed
            findings.raised += raised
            new = [line for each, line in chosen.items() if each not in known]
            known.update(chosen)
            findings.ran += len(new)
            for bad in pool.map(tried, repeat(machine), _batches(new)):
                findings.bad.update(bad)
                for line, seen in bad.items():
                    print(f"*** {line!a}\n      {'; '.join(seen[:4])}", flush=True)
            on_piece(findings)
    return findings


def _batches(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(lines), BATCH):
        yield lines[at : at + BATCH]


def main() -> int:
    arguments = _arguments()
    if lacking := missing():
        print(f"*** cannot trace: {lacking}", file=sys.stderr)
        return 1
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        findings = fuzz(
            Path(place),
            count=arguments.count,
            seed=arguments.seed,
            at_once=arguments.at_once,
            within=arguments.within,
            on_piece=_say,
        )
    took = time.monotonic() - began
    print(f"{findings.judged:,} lines of seed {arguments.seed} in {took:.0f} s: {findings.auto:,} only read;")
    print(f"{findings.ran:8,} of them, one of each shape, ran under the tracer")
    print(f"{len(findings.bad):8,} of those wrote, connected, read a secret or started an unknown program")
    print(f"{len(findings.raised):8,} raised an error")
    print(f"Not installed here, so nothing is known of: {' '.join(absent()) or 'nothing'}")
    for line, seen in findings.bad.items():
        print(f"  {line!a}\n      {'; '.join(seen[:4])}")
    for each in findings.raised:
        print(f"  {each}")
    return 1 if findings.bad or findings.raised else 0


def _say(findings: Findings) -> None:
    if findings.judged % 10_000 == 0:
        print(f"... {findings.judged:,} judged, {findings.ran:,} ran, {len(findings.bad)} bad", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.traced", description=__doc__)
    parser.add_argument("--count", type=int, default=LINES, help=f"how many lines (default {LINES:,})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"draws the same ones again (default {SEED})")
    cores = os.cpu_count() or 1
    parser.add_argument("--at-once", type=int, default=cores, help=f"how many processes (default {cores})")
    parser.add_argument("--within", type=float, default=inf, help="judge no more after so many seconds")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
