"""The zygote as the harness starts it: its shims kill themselves at the point a task's environment names.

Like the real one it runs without site packages and imports only the runners of `errands`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

DIES_AT = "CHAOS_DIES_AT"
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main() -> None:
    sys.path.insert(0, _ROOT)
    for name, path in (
        ("errands", f"{_ROOT}/src/errands"),
        ("errands.runners", f"{_ROOT}/src/errands/runners"),
    ):
        sys.modules[name] = type(sys)(name)
        sys.modules[name].__path__ = [path]
    from tests.chaos import mutants

    _arm_shims()
    mutants.break_shims()
    from errands.runners.shim import zygote

    zygote.main()


def _arm_shims() -> None:
    """Make every shim check, at every point, whether its run should lose it there."""
    from errands.runners.shim.run import Run
    from tests.chaos import kill_points
    from tests.chaos.patch import patch

    environ: dict[str, str] = {}
    execute = Run.execute

    def noted(run: Run) -> Any:
        environ.clear()
        environ.update(run._env, ERRANDS_RUN_ID=run.id)
        return execute(run)

    patch(Run, "execute", noted)
    for name, point in kill_points.SHIM_POINTS.items():

        def die_if_named(_: Any, name: str = name) -> None:
            if environ.get(DIES_AT) == name:
                said = f"shim {environ['ERRANDS_RUN_ID']} {environ['CHAOS_TOKEN']} {name}\n"
                file = os.open(environ["CHAOS_WITNESS"], os.O_WRONLY | os.O_APPEND)
                os.write(file, said.encode())
                kill_points.die()

        kill_points.wrap(point, die_if_named)


if __name__ == "__main__":
    main()
    os._exit(0)
