"""A round: one engine, one plan, one verdict."""

from __future__ import annotations

import os
import time
from collections import Counter

from errands.engine.engine import Engine
from tests.chaos import evidence as gathering
from tests.chaos.breaks import Break
from tests.chaos.checker import check, lost_runs
from tests.chaos.decoys import Decoys
from tests.chaos.deed import CLEAN
from tests.chaos.nemesis import Nemesis
from tests.chaos.observer import Observer
from tests.chaos.plan import Plan
from tests.chaos.processes import Process, below, wait_until
from tests.chaos.report import Report
from tests.chaos.subject import Subject

READERS = ("first", "second")
SETTLED_WITHIN = 40.0


def play(
    plan: Plan, *, mutant: str = "", settled_within: float = SETTLED_WITHIN, keep: bool = True
) -> Report:
    """Play one round; the home of a failed one is kept."""
    subject = Subject(plan, mutant=mutant)
    report = Report(seeds=[plan.seed], tasks=len(plan.deeds))
    began = time.monotonic()
    try:
        _play(subject, plan, report, settled_within)
    finally:
        report.seconds = time.monotonic() - began
        if report.breaks and keep:
            report.kept[plan.seed] = subject.base
            with open(f"{subject.base}/breaks", "w") as file:
                file.writelines(f"{each}\n" for each in report.breaks)
        subject.remove(files=not report.kept)
    return report


def _play(subject: Subject, plan: Plan, report: Report, settled_within: float) -> None:
    decoys = Decoys(subject)
    decoys.start()
    decoys.start(ERRANDS_RUN_ID="decoy-222222.1", ERRANDS_RUN_DIR="/decoy")
    for name in READERS:
        subject.spawn("-m", "tests.chaos.reader", subject.base, name, log=f"reader.{name}.log")
    nemesis = Nemesis(subject, plan, decoys, time.monotonic())
    with Observer(subject.engine, subject.processes) as observer:
        nemesis.run()
        nemesis.heal()
        healed = time.monotonic()
        engine = subject.engine()
        is_settled = wait_until(
            lambda: nemesis.tend_clients() and _is_quiet(engine), within=settled_within, every=0.05
        )
        report.settled.append(time.monotonic() - healed)
        _end_readers(subject, report)
    if not is_settled:
        report.breaks.append(Break("I17", f"not settled after {settled_within} s: {engine.store.counts()}"))
    evidence = gathering.gather(subject, plan, engine)
    engine.store.close()
    evidence.lost, evidence.perhaps_lost = nemesis.lost, nemesis.perhaps_lost
    evidence.filled_disk = nemesis.filled_disk
    report.breaks += nemesis.breaks + observer.breaks + check(evidence)
    report.breaks += _leftovers(subject, evidence, decoys, is_settled=is_settled)
    report.kills = nemesis.kills + len(evidence.witness.shims)
    report.counts = nemesis.counts + Counter(
        f"kill shim at {point}" for point in evidence.witness.shims.values()
    )
    report.counts["client refused"] += evidence.told.refused
    report.recoveries = nemesis.recoveries
    report.slowest = observer.slowest
    report.notices = len(evidence.notices)
    report.runs = Counter(f"{run.state} {run.failure or ''}".rstrip() for run in evidence.runs.values())
    report.counts["attempts that never started"] += sum(
        max(0, run.attempt - 1) for run in evidence.runs.values()
    )


def _is_quiet(engine: Engine) -> bool:
    counts = engine.store.counts()
    return not (
        counts["pending"] or counts["running"] or engine.store.undelivered() or engine.store.unread(None)
    )


def _end_readers(subject: Subject, report: Report) -> None:
    with open(f"{subject.base}/over", "w"):
        pass
    readers = [each for each in subject.processes() if "tests.chaos.reader" in each.words]
    if not wait_until(lambda: all(subject.is_over(each.pid) for each in readers), within=10):
        report.breaks.append(Break("I17", "a reader does not end"))
    for each in readers:
        if subject.codes.get(each.pid):
            report.breaks.append(Break("I14", f"a reader failed with {subject.codes[each.pid]}"))


def _leftovers(
    subject: Subject, evidence: gathering.Evidence, decoys: Decoys, *, is_settled: bool
) -> list[Break]:
    """Look for what the round left behind: processes, zombies, files, and signs of a struck decoy."""
    found: list[Break] = []
    lost = lost_runs(evidence) | evidence.perhaps_lost
    if not wait_until(lambda: not _zombies(), within=2):
        found += [Break("I15", f"{each.pid} is a zombie of {each.parent}") for each in _zombies()]
    found += decoys.breaks()
    if not subject.stop() and is_settled:
        # A child without marks of a run that lost its shim can be found by nobody.
        tokens = {evidence.witness.tokens.get(run_id) for run_id in lost}
        forgiven = any(deed.is_clean for token, deed in evidence.deeds.items() if token in tokens)
        for each in subject.processes():
            if not (forgiven and CLEAN in each.words[-1]):
                found.append(
                    Break("I15", f"left behind: {each.pid} {each.words} {each.variable('ERRANDS_RUN_ID')}")
                )
    if not evidence.filled_disk:
        found += [
            Break("I14", f"the daemon complained: {each}") for each in dict.fromkeys(subject.complaints())
        ]
    for folder in os.listdir(subject.home.runs):
        strange = set(os.listdir(f"{subject.home.runs}/{folder}")) & {"output.tail", "control"}
        if strange and folder not in lost:
            found.append(Break("I15", f"{folder} has leftovers: {strange}"))
    return found


def _zombies() -> list[Process]:
    """List the dead whose parent, other than the harness, did not bury them."""
    return [each for each in below(os.getpid()) if each.is_zombie and each.parent != os.getpid()]
