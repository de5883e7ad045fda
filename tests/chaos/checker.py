"""The checker: compares the answers to clients, the witness of the tasks and the final state of the engine.

One function per invariant yields the violations it finds. What cannot be known is not judged: a request
without an answer may or may not have taken effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from errands.model.view import RunView, View
from tests.chaos.evidence import Evidence
from tests.chaos.kill_points import SAFE_SHIM_POINT
from tests.chaos.lane_order import lane_order
from tests.chaos.plan import LANES
from tests.chaos.planned_task import PlannedTask
from tests.chaos.violation import Violation

_ENDED = ("completed", "failed", "cancelled", "skipped")


def check(evidence: Evidence) -> list[Violation]:
    """Check every invariant that can be judged from the evidence alone."""
    found: list[Violation] = []
    for judge in (existence, starts, results, dependencies, notices, lanes, lane_order, output):
        found += judge(evidence)
    return found


def lost_runs(evidence: Evidence) -> set[str]:
    """Return the runs whose own shim was killed before it had recorded their end."""
    died = {run_id for run_id, point in evidence.witness.shims.items() if point != SAFE_SHIM_POINT}
    return evidence.lost | died


def existence(evidence: Evidence) -> Iterator[Violation]:
    """I1: an acknowledged task exists, and a key stands for one task."""
    there = {view.id for view in evidence.views}
    cleared = evidence.acts("clear")
    for token, ids in evidence.answers.ids.items():
        if len(ids) > 1:
            yield Violation("I1", f"{token} was acknowledged under several ids: {sorted(ids)}")
        for task_id in ids - there:
            if token not in cleared:
                yield Violation("I1", f"{task_id} was acknowledged and is gone")
    asked = evidence.acts("submit")
    for name, count in Counter(view.name for view in evidence.views).items():
        if name not in asked:
            yield Violation("I1", f"{name} was never asked for")
        if count > 1:
            yield Violation("I1", f"{name} was launched with one key and is there {count} times")
        if name in evidence.acts("clear", answered=True):
            yield Violation("I1", f"{name} was cleared and is still there")


def starts(evidence: Evidence) -> Iterator[Violation]:
    """I2: nothing starts twice, and nothing runs that the store does not know."""
    cleared = evidence.acts("clear")
    for run_id, count in Counter(evidence.witness.starts).items():
        token = evidence.witness.tokens[run_id]
        if count > 1:
            yield Violation("I2", f"{run_id} was started {count} times")
        if run_id not in evidence.runs and token not in cleared:
            yield Violation("I2", f"{run_id} was started, but there is no such run")
    restarts = evidence.acts("restart")
    for view in evidence.views:
        allowed = 1 + restarts.get(view.name, 0)
        if view.runs > allowed:
            yield Violation("I2", f"{view.id} has {view.runs} runs, {allowed} at most were asked for")


def results(evidence: Evidence) -> Iterator[Violation]:
    """I3, I4: the reported result is the witnessed one; a run ends once."""
    cancelled = evidence.acts("cancel")
    started = Counter(evidence.witness.starts)
    must_be_lost = lost_runs(evidence)
    for view, run, planned in _runs(evidence):
        said = evidence.witness.ends.get(run.id, [])
        what = f"{run.id} ({' '.join(planned.steps)}) is {run.state} {run.failure or ''}".rstrip()
        ends = [
            event.name
            for event in evidence.events[view.id]
            if event.run == run.number and event.name in _ENDED
        ]
        if run.state not in _ENDED:
            yield Violation("I17", f"{what} and does not end")
            continue
        if ends != [run.state]:
            yield Violation("I4", f"{what}, but its events say {ends}")
        if len(said) > 1:
            yield Violation("I2", f"{what}; it ended {len(said)} times")
        if run.id in must_be_lost and run.failure != "lost":
            yield Violation("I3", f"{what}, but its shim was killed before its end was recorded")
        expected = 0 if run.state == "skipped" else 1
        if run.state == "cancelled" or run.failure == "lost":
            expected = started[run.id]  # it may have been ended before or after it began
        if started[run.id] != expected:
            yield Violation("I3", f"{what}, and was started {started[run.id]} times")
        yield from _result(evidence, run, planned, said, what, is_cancelled=view.name in cancelled)
    for run_id in evidence.witness.inputs:
        yield Violation("I3", f"{run_id} was given input that no client sent")


def _result(
    evidence: Evidence, run: RunView, planned: PlannedTask, said: list[int], what: str, *, is_cancelled: bool
) -> Iterator[Violation]:
    match run.state, run.failure:
        case "completed", None:
            good = said == [0] and run.exit_code == 0 and run.signal is None
        case "failed", "exit":
            good = said == [run.exit_code] and run.signal is None
        case "failed", "signal":
            good = run.signal is not None and said == [-run.signal]
        case "failed", "timeout":
            good = planned.timeout is not None and not said
        case "failed", "lost":
            may_be = lost_runs(evidence) | evidence.perhaps_lost
            good = run.id in may_be and bool(run.error) and run.exit_code is None
        case "cancelled", None:
            good = is_cancelled
        case "skipped", "dependency":
            good = bool(planned.after)
        case _:
            good = False
    if not good:
        yield Violation(
            "I3", f"{what} (code {run.exit_code}, signal {run.signal}, {run.error}); it said {said}"
        )


def dependencies(evidence: Evidence) -> Iterator[Violation]:
    """I3: what waits for others starts after they have completed, and is skipped when they do not."""
    when = {(word, run_id): number for number, (word, run_id) in enumerate(evidence.witness.lines)}
    tasks = {view.name: view for view in evidence.views}
    for _, run, planned in _runs(evidence):
        others = [tasks[token] for token in planned.after if token in tasks]
        firsts = [evidence.runs[f"{other.id}.1"] for other in others if other.runs == 1]
        failed = [first.id for first in firsts if first.state != "completed"]
        if run.state == "skipped" and len(firsts) == len(planned.after) and not failed:
            yield Violation("I3", f"{run.id} was skipped, though all it waits for has completed")
        if ("start", run.id) not in when:
            continue
        if failed:
            yield Violation("I3", f"{run.id} was started, though {failed} did not complete")
        for first in firsts:
            if when.get(("end", first.id), 0) > when["start", run.id]:
                yield Violation(
                    "I3", f"{run.id} was started before {first.id}, which it waits for, had ended"
                )


def notices(evidence: Evidence) -> Iterator[Violation]:
    """I5: every end is reported once, correctly, to its owner."""
    reported = Counter(notice["run"] for notice in evidence.notices)
    for notice_id, count in Counter(notice["id"] for notice in evidence.notices).items():
        if count > 1:
            yield Violation("I5", f"notice {notice_id} was handed over {count} times")
    for _, run, planned in _runs(evidence):
        wanted = planned.notify == "always" or (
            planned.notify == "on_failure" and run.state in ("failed", "skipped")
        )
        if reported[run.id] != wanted:
            yield Violation(
                "I5", f"{run.id}, {run.state}, was reported {reported[run.id]} times, not {int(wanted)}"
            )
    for notice in evidence.notices:
        found, body = evidence.runs.get(notice["run"]), notice["body"]
        if found is None:
            if reported[notice["run"]] > 1:
                yield Violation(
                    "I5", f"{notice['run']}, cleared since, was reported {reported[notice['run']]} times"
                )
            continue
        planned = evidence.planned_tasks[_token(evidence, found)]
        if notice["owner"] != planned.owner:
            yield Violation(
                "I5", f"the end of {found.id} was reported to {notice['owner']}, not to {planned.owner}"
            )
        said = body["state"], body["exit_code"], body["signal"]
        if said != (found.state, found.exit_code, found.signal) or notice["event"] != found.state:
            yield Violation("I5", f"{found.id} is {found.state}, but {said} was reported")


def lanes(evidence: Evidence) -> Iterator[Violation]:
    """I6: no lane has more tasks between their first and last act than it is wide."""
    busy: dict[str, set[str]] = {lane: set() for lane in LANES}
    over: set[str] = set()
    for word, run_id in evidence.witness.lines:
        if run_id not in evidence.witness.ends:
            continue  # it was killed, so the witness does not say when
        lane = evidence.planned_tasks[evidence.witness.tokens[run_id]].lane
        if word == "start":
            busy[lane].add(run_id)
        elif word == "end":
            busy[lane].discard(run_id)
        if len(busy[lane]) > LANES[lane] and lane not in over:
            over.add(lane)
            yield Violation(
                "I6", f"{len(busy[lane])} tasks at once in lane {lane}, which is {LANES[lane]} wide"
            )


def output(evidence: Evidence) -> Iterator[Violation]:
    """I9: what is kept is what was printed, and all of it is counted."""
    for _, run, planned in _runs(evidence):
        printed = planned.output(evidence.blob)
        pieces = evidence.pieces[run.id]
        for piece in pieces:
            if printed[piece.offset : piece.next_offset] != piece.content:
                yield Violation("I9", f"{run.id} never printed what its log has at {piece.offset}")
        if run.failure == "lost" or run.state == "skipped":
            continue
        kept = sum(len(piece.content) for piece in pieces)
        is_whole = run.state == "completed" or run.failure in ("exit", "signal")
        if is_whole and run.bytes != len(printed):
            yield Violation("I9", f"{run.id} printed {len(printed)} bytes, {run.bytes} were counted")
        if run.output_failed is not None:
            if not evidence.filled_disk:
                yield Violation("I9", f"the output of {run.id} was not written: {run.output_failed}")
            continue
        if run.truncated != (run.bytes > planned.cap):
            yield Violation(
                "I9", f"{run.id}: {run.bytes} bytes under a cap of {planned.cap}, truncated: {run.truncated}"
            )
        if not run.truncated and kept != run.bytes:
            yield Violation("I9", f"{run.id}: {run.bytes} bytes were counted, {kept} are there")
        if run.truncated and (
            kept > planned.cap or kept < planned.cap // 2 or pieces[-1].next_offset != run.bytes
        ):
            yield Violation("I9", f"{run.id}: {kept} bytes are kept of {run.bytes}, the cap is {planned.cap}")


def _runs(evidence: Evidence) -> Iterator[tuple[View, RunView, PlannedTask]]:
    for view in evidence.views:
        for number in range(1, view.runs + 1):
            yield view, evidence.runs[f"{view.id}.{number}"], evidence.planned_tasks[view.name]


def _token(evidence: Evidence, run: RunView) -> str:
    return next(view.name for view in evidence.views if run.id.startswith(f"{view.id}."))
