"""The operations about the installation: its settings, health, hosts and keys, and what is live."""

from __future__ import annotations

from errands.frontends.web.api.bodies import MOST_LOGS
from errands.frontends.web.api.operation import NOTHING, Operation, in_query
from errands.ports.schema import text

INSTALLATION: tuple[Operation, ...] = (
    Operation(
        name="settings", method="GET", path="/api/settings",
        summary="list every setting and where it comes from", verb="errands config show", answer="Settings",
    ),
    Operation(
        name="doctor", method="GET", path="/api/doctor", summary="check the installation",
        verb="errands doctor", answer="Findings",
    ),
    Operation(
        name="hosts", method="GET", path="/api/hosts",
        summary="list the hosts of the fleet; none if this home is not in a fleet", verb="errands hosts",
        answer="Hosts",
    ),
    Operation(
        name="keys", method="GET", path="/api/keys", summary="list the keys of the page and of errands top",
        verb="errands top", answer="Keys", needs="nothing",
    ),
    Operation(
        name="start-daemon", method="POST", path="/api/daemon", summary="start the daemon if none runs",
        verb="Engine.ensure_daemon", body=NOTHING, answer="Daemon",
    ),
    # Live.
    Operation(
        name="stream", method="GET", path="/api/stream",
        summary="follow all changes, and the output of some runs, as server-sent events",
        verb="Engine.changes",
        parameters=(
            in_query("logs", text(
                "runs as ID.NUMBER@OFFSET, separated by commas; without the offset from the "
                f"end; at most {MOST_LOGS}", longest=2000,
            )),
            in_query("after", text(
                "continue after the event with this id, the last one that was read", longest=100
            )),
        ),
        answer="text/event-stream", refusals=(404,),
    ),
    Operation(
        name="metrics", method="GET", path="/metrics", summary="the metrics, as OpenMetrics where accepted",
        verb="errands metrics", answer="text/plain or application/openmetrics-text",
    ),
    Operation(
        name="openapi", method="GET", path="/openapi.json", summary="this description", verb="errands web",
        answer="application/json", needs="nothing",
    ),
)  # fmt: skip
