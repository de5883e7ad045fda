"""A round: one engine, one plan, one verdict."""

from __future__ import annotations

import os
import time
from collections import Counter

from errands.engine.engine import Engine
from tests.chaos import evidence as gathering
from tests.chaos.checker import check, lost_runs
from tests.chaos.decoys import Decoys
from tests.chaos.nemesis import Nemesis
from tests.chaos.observer import Observer
from tests.chaos.plan import Plan
from tests.chaos.planned_task import CLEAN
from tests.chaos.processes import Process, below, wait_until
from tests.chaos.report import Report
from tests.chaos.subject import Subject
from tests.chaos.violation import Violation

READERS = ("first", "second")
SETTLED_WITHIN = 40.0
MOST_FILES = 64  # of an idle daemon: the store, the bell, and the channels to a few idle shims


def play(
    plan: Plan, *, mutant: str = "", settled_within: float = SETTLED_WITHIN, keep: bool = True
) -> Report:
    """Play one round; the home of a failed one is kept."""
    subject = Subject(plan, mutant=mutant)
    report = Report(seeds=[plan.seed], tasks=len(plan.planned_tasks))
    began = time.monotonic()
    try:
        _play(subject, plan, report, settled_within)
    finally:
        report.seconds = time.monotonic() - began
        if report.violations and keep:
            report.kept[plan.seed] = subject.base
            with open(f"{subject.base}/violations", "w") as file:
                file.writelines(f"{each}\n" for each in report.violations)
        subject.remove(files=not report.kept)
    return report


def _play(subject: Subject, plan: Plan, report: Report, settled_within: float) -> None:
    decoys = Decoys(subject)
    decoys.start()
    decoys.start(ERRANDS_RUN_ID="decoy-222222.1", ERRANDS_RUN_DIR="/decoy")
    readers = {
        subject.spawn("-m", "tests.chaos.reader", subject.base, name, log=f"reader.{name}.log"): name
        for name in READERS
    }
    readers[subject.spawn("-m", "tests.chaos.viewer", subject.base, log="viewer.log")] = "viewer"
    nemesis = Nemesis(subject, plan, decoys, time.monotonic())
    with Observer(subject.engine, subject.processes) as observer:
        nemesis.run()
        nemesis.heal()
        healed = time.monotonic()
        engine = subject.engine()
        is_settled = wait_until(
            lambda: nemesis.restart_clients() and _is_quiet(engine), within=settled_within, every=0.05
        )
        report.settled.append(time.monotonic() - healed)
        _end_readers(subject, readers, report)
    if not is_settled:
        report.violations.append(
            Violation("I17", f"not settled after {settled_within} s: {engine.store.counts()}")
        )
    evidence = gathering.gather(subject, plan, engine)
    engine.store.close()
    evidence.lost, evidence.perhaps_lost = nemesis.lost, nemesis.perhaps_lost
    evidence.unfindable, evidence.filled_disk = nemesis.unfindable, nemesis.filled_disk
    report.violations += (
        nemesis.violations + nemesis.daemons.violations + observer.violations + check(evidence)
    )
    if not wait_until(lambda: not _zombies(), within=20):
        report.violations += [
            Violation("I15", f"{each.pid} is a zombie of {each.parent}") for each in _zombies()
        ]
    report.violations += [
        Violation("I15", f"an idle daemon has {count} files open")
        for each in subject.daemons()
        if (count := len(os.listdir(f"/proc/{each.pid}/fd"))) > MOST_FILES
    ]
    report.violations += decoys.violations()
    subject.stop()
    if is_settled and not wait_until(lambda: not _survivors(subject, evidence), within=settled_within / 2):
        report.violations += _survivors(subject, evidence)
    report.violations += _leftovers(subject, evidence)
    report.slowest = observer.slowest
    _sum_up(report, nemesis, evidence)


def _sum_up(report: Report, nemesis: Nemesis, evidence: gathering.Evidence) -> None:
    runs = evidence.runs.values()
    shims = evidence.witness.shims.values()
    report.runs = Counter(f"{run.state} {run.failure or ''}".rstrip() for run in runs)
    report.notices = len(evidence.notices)
    report.kills = nemesis.kills + len(shims)
    report.counts = (
        nemesis.counts + nemesis.daemons.counts + Counter(f"kill shim at {each}" for each in shims)
    )
    report.counts["attempts that never started"] = sum(max(0, run.attempt - 1) for run in runs)
    report.counts["client refused"] = evidence.answers.refused
    report.recoveries = nemesis.daemons.recoveries


def _is_quiet(engine: Engine) -> bool:
    counts = engine.store.counts()
    return not (
        counts["pending"] or counts["running"] or engine.store.undelivered() or engine.store.inbox(None)
    )


def _end_readers(subject: Subject, readers: dict[int, str], report: Report) -> None:
    with open(f"{subject.base}/over", "w"):
        pass
    if not wait_until(lambda: all(map(subject.is_over, readers)), within=60):
        report.violations.append(Violation("I17", "a reader does not end"))
    for pid, name in readers.items():
        if code := subject.codes.get(pid):
            report.violations.append(Violation("I14", f"the reader {name} failed with {code}"))


def _survivors(subject: Subject, evidence: gathering.Evidence) -> list[Violation]:
    """List the processes that are left after the daemon has stopped and all tasks have ended."""
    # A child without marks cannot be found once its run has lost both shim and zygote.
    tokens = {evidence.witness.tokens.get(run_id) for run_id in evidence.unfindable}
    is_forgiven = any(
        planned.is_clean for token, planned in evidence.planned_tasks.items() if token in tokens
    )
    return [
        Violation("I15", f"left behind: {each.pid} {each.words} {each.variable('ERRANDS_RUN_ID')}")
        for each in subject.processes()
        if not (is_forgiven and CLEAN in " ".join(each.words))
    ]


def _leftovers(subject: Subject, evidence: gathering.Evidence) -> list[Violation]:
    """List what else the round left behind: logged errors and files."""
    found: list[Violation] = []
    if not evidence.filled_disk:
        complaints = dict.fromkeys(subject.complaints())
        found += [Violation("I14", f"the daemon complained: {each}") for each in complaints]
    for folder in os.listdir(subject.home.runs):
        strange = set(os.listdir(f"{subject.home.runs}/{folder}")) & {"output.tail", "control"}
        if strange and folder not in lost_runs(evidence) | evidence.perhaps_lost:
            found.append(Violation("I15", f"{folder} has leftovers: {strange}"))
    return found


def _zombies() -> list[Process]:
    """List the zombies that a parent other than the harness did not reap."""
    return [each for each in below(os.getpid()) if each.is_zombie and each.parent != os.getpid()]
