"""Metrics: counters that never fall, and gauges of what is live.

They are written as OpenMetrics, or in the older text format of Prometheus. All of it is
read from counters and from indexes of what is live, so the cost of a scrape does not grow with the history.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from errands import __version__
from errands.engine.core import EngineCore
from errands.model.limits import UNKNOWN_LANE
from errands.model.record import record
from errands.model.states import ENDED, FAILURES, STANDING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal["counter", "gauge", "histogram", "info"]

OPENMETRICS = "application/openmetrics-text"
CONTENT_TYPE = f"{OPENMETRICS}; version=1.0.0; charset=utf-8"
OLD_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# The upper bounds in seconds of the buckets that the store fills; the last one has none.
BUCKETS = (0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400, math.inf)
_KINDS = ("shell", "agent")


@record
class Sample:
    """One number: what follows the name of its family, its labels and its value."""

    value: float
    suffix: str = ""
    labels: Mapping[str, str] = {}


@record
class Family:
    name: str
    kind: Kind
    help: str
    samples: tuple[Sample, ...]


def families(core: EngineCore) -> list[Family]:
    return [*_gauges(core), *_runs(core), *_totals(core)]


def negotiated(found: Iterable[Family], accept: str) -> tuple[str, str]:
    """Write metrics in the format that a scraper asks for; return its content type and the text.

    Only one that names OpenMetrics gets it: older ones, and programs that accept anything, know the other.
    """
    wanted = [each.partition(";") for each in accept.lower().split(",")]
    if any(kind.strip() == OPENMETRICS and not _is_refused(more) for kind, _, more in wanted):
        return CONTENT_TYPE, text(found)
    return OLD_CONTENT_TYPE, old_text(found)


def _is_refused(parameters: str) -> bool:
    weights = [each.partition("=")[2].strip() for each in parameters.split(";") if each.strip()[:2] == "q="]
    return any(each.strip("0.") == "" for each in weights)


def text(found: Iterable[Family]) -> str:
    """Write metrics as OpenMetrics has them."""
    lines = []
    for family in found:
        lines.append(f"# TYPE {family.name} {family.kind}")
        unit = next((each for each in ("seconds", "dollars") if family.name.endswith(f"_{each}")), None)
        lines += [f"# UNIT {family.name} {unit}"] if unit else []
        lines.append(f"# HELP {family.name} {_escaped(family.help)}")
        lines += _samples(family)
    return "\n".join([*lines, "# EOF", ""])


def old_text(found: Iterable[Family]) -> str:
    """Write metrics in the text format of Prometheus: names are whole, and there are no units."""
    lines = []
    for family in found:
        name = family.name + {"counter": "_total", "info": "_info"}.get(family.kind, "")
        kind = "gauge" if family.kind == "info" else family.kind
        told = family.help.replace("\\", "\\\\").replace("\n", "\\n")
        lines += [f"# HELP {name} {told}", f"# TYPE {name} {kind}", *_samples(family)]
    return "\n".join([*lines, ""])


def _samples(family: Family) -> Iterator[str]:
    for sample in family.samples:
        pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
        labels = f"{{{pairs}}}" if pairs else ""
        yield f"{family.name}{sample.suffix}{labels} {_number(sample.value)}"


def _gauges(core: EngineCore) -> list[Family]:
    store, counts = core.store, core.store.counts()
    widths, load = core.lane_widths(), store.lane_load()
    lanes = sorted({*widths, *load})
    oldest = store.oldest_ready()
    age = 0.0 if oldest is None else max(0.0, (core.clock.now() - oldest).total_seconds())
    return [
        Family(
            name="errands_build",
            kind="info",
            help="The version of Errands.",
            samples=(Sample(value=1, suffix="_info", labels={"version": __version__}),),
        ),
        _gauge("errands_up", "Whether the daemon answers.", [({}, core.bell.is_answered())]),
        _gauge(
            "errands_live_runs",
            "Runs that have not ended; those that wait for approval are proposed.",
            [({"state": each}, counts[each]) for each in ("proposed", "pending", "running")],
        ),
        _gauge(
            "errands_approvals_waiting",
            "Tasks and calls of agents that wait for approval.",
            [({}, store.open_questions())],
        ),
        _gauge(
            "errands_queue_depth",
            "Runs that wait in a lane.",
            [({"lane": each}, load.get(each, (0, 0))[1]) for each in lanes],
        ),
        _gauge(
            "errands_lane_slots_used",
            "Slots of a lane that are used.",
            [({"lane": each}, load.get(each, (0, 0))[0]) for each in lanes],
        ),
        _gauge(
            "errands_lane_slots",
            "Tasks that a lane may run at once.",
            [({"lane": each}, widths.get(each, UNKNOWN_LANE)) for each in lanes],
        ),
        _gauge(
            "errands_oldest_pending_seconds",
            "How long the oldest run that could start has waited; 0 if there is none.",
            [({}, age)],
        ),
        _gauge(
            "errands_recurring_tasks",
            "Recurring tasks that have not ended.",
            [({"state": each}, store.count_recurring((each,))) for each in STANDING],
        ),
        _gauge(
            "errands_notices_waiting",
            "Notices that wait to be sent.",
            [({"channel": name}, count) for name, count in sorted(store.waiting_notices().items())],
        ),
        _gauge(
            "errands_kept_runs",
            "Ended runs that are kept; they fall when tasks are removed.",
            [({"state": each}, counts[each]) for each in ENDED],
        ),
    ]


def _runs(core: EngineCore) -> list[Family]:
    ended: dict[tuple[str, str, str], float] = {}
    failures: dict[str, float] = dict.fromkeys(FAILURES, 0)
    buckets: dict[str, dict[float, float]] = {kind: dict.fromkeys(BUCKETS, 0) for kind in _KINDS}
    seconds: dict[str, float] = dict.fromkeys(_KINDS, 0)
    for each in core.store.run_totals():
        labels = (each.kind, each.lane, each.state)
        ended[labels] = ended.get(labels, 0) + each.runs
        if each.state == "failed":
            failures[each.failure] = failures.get(each.failure, 0) + each.runs
        if each.le:  # it was started
            bucket = next(bound for bound in BUCKETS if each.le <= bound)
            buckets[each.kind][bucket] += each.runs
            seconds[each.kind] += each.seconds
    durations: list[Sample] = []
    for kind, counts in buckets.items():
        total = 0.0
        for bound, count in counts.items():
            total += count
            labels_of = {"kind": kind, "le": "+Inf" if math.isinf(bound) else f"{float(bound)}"}
            durations.append(Sample(value=total, suffix="_bucket", labels=labels_of))
        durations.append(Sample(value=total, suffix="_count", labels={"kind": kind}))
        durations.append(Sample(value=seconds[kind], suffix="_sum", labels={"kind": kind}))
    return [
        _counter(
            "errands_runs",
            "Runs that ended.",
            [
                ({"kind": kind, "lane": lane, "state": state}, count)
                for (kind, lane, state), count in sorted(ended.items())
            ],
        ),
        _counter(
            "errands_failures",
            "Runs that failed, by what went wrong.",
            [({"reason": reason}, count) for reason, count in failures.items()],
        ),
        Family(
            name="errands_run_duration_seconds",
            kind="histogram",
            help="How long runs took, from their start to their end.",
            samples=tuple(durations),
        ),
    ]


def _totals(core: EngineCore) -> list[Family]:
    found = {(each.name, each.kind, each.state): each.count for each in core.store.totals()}

    def used(name: str) -> int:
        return found.get((name, "", ""), 0)

    return [
        _counter(
            "errands_notices",
            "Notices that were delivered, or given up.",
            [
                ({"channel": kind, "state": state}, count)
                for (name, kind, state), count in sorted(found.items())
                if name == "notices"
            ],
        ),
        _counter(
            "errands_answers",
            "Questions that were answered or expired.",
            [
                ({"answer": state}, found.get(("answers", "", state), 0))
                for state in ("granted", "refused", "expired", "void")
            ],
        ),
        _counter(
            "errands_tokens",
            "Tokens that agents used.",
            [
                ({"direction": "input"}, used("input_tokens")),
                ({"direction": "output"}, used("output_tokens")),
            ],
        ),
        _counter("errands_model_requests", "Requests of agents to models.", [({}, used("requests"))]),
        _counter("errands_tool_calls", "Tool calls of agents.", [({}, used("tool_calls"))]),
        _counter(
            "errands_cost_dollars",
            "What agents cost, as far as their backends report it.",
            [({}, used("cost_microdollars") / 1e6)],
        ),
    ]


def _gauge(name: str, help: str, values: Iterable[tuple[Mapping[str, str], float]]) -> Family:
    samples = tuple(Sample(value=value, labels=labels) for labels, value in values)
    return Family(name=name, kind="gauge", help=help, samples=samples)


def _counter(name: str, help: str, values: Iterable[tuple[Mapping[str, str], float]]) -> Family:
    samples = tuple(Sample(value=value, suffix="_total", labels=labels) for labels, value in values)
    return Family(name=name, kind="counter", help=help, samples=samples)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
