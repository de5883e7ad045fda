"""An order: a launch as the pool sends it to a shim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from errands.ports.runner import Launch


def written(launch: Launch) -> dict[str, Any]:
    """Write an order with all but the environment that many runs share."""
    return {
        "op": "start",
        "run": launch.run_id,
        "attempt": launch.attempt,
        "dir": launch.directory,
        "header": launch.header,
        "steps": [(step.role, list(step.argv), step.label) for step in launch.steps],
        "cwd": launch.cwd,
        "env": dict(launch.env),
        "cap": launch.cap,
        "timeout": launch.timeout,
        "idle": launch.idle,
        "grace": launch.grace,
        "limits": {"memory": launch.memory, "cpu": launch.cpu, "processes": launch.processes},
        "nice": launch.nice,
        "input": launch.input,
        "may_wait": launch.may_wait,
    }
