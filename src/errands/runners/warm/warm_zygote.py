"""The warm zygote: loads modules before it serves, run as `python -P -m MODULE RUNS MODULE...`.

Its shims are forks that have the modules, too, so the process of a run is there in milliseconds. A fork must
be no different from a new process: so nothing may be running or open here that a fork would not have, and the
pool is told what the modules looked at while they were loaded.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys

from errands.runners.shim.wire import frame
from errands.runners.shim.zygote import Zygote, detach
from errands.runners.warm.warm_shim import WarmShim

_OPEN_FILES = "/proc/self/fd"
_THREADS = "/proc/self/task"


class UnfitError(Exception):
    """Forks of this process would not be like new processes."""


class _Noting(dict[bytes, bytes]):
    """The variables of this process, which note the name of every one that somebody asks for."""

    def __init__(self, variables: dict[bytes, bytes]) -> None:
        super().__init__(variables)
        self.names: set[bytes] = set()

    def __getitem__(self, name: bytes) -> bytes:
        self.names.add(name)
        return super().__getitem__(name)


def load(modules: list[str]) -> tuple[list[str], list[tuple[str, int]]]:
    """Load modules; give the variables they asked for, and when what they come from was last changed."""
    before = set(os.listdir(_OPEN_FILES))
    inside = vars(os.environ)  # where it keeps them; every way to ask for one leads there
    variables = inside["_data"]
    noting = inside["_data"] = _Noting(variables)
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # whoever needs it says so better
    variables.clear()
    variables.update(noting)
    inside["_data"] = variables
    if len(os.listdir(_THREADS)) > 1:
        raise UnfitError("a module starts threads, which a fork does not have")
    if set(os.listdir(_OPEN_FILES)) - before:
        raise UnfitError("a module opens files, which a fork would have to share")
    return sorted(map(os.fsdecode, noting.names)), [(path, os.stat(path).st_mtime_ns) for path in _sources()]


def _sources() -> list[str]:
    """Name what a change to a module changes: the folder it was installed in, or its own file elsewhere."""
    folders = [path for path in sys.path if path.endswith("-packages") and os.path.isdir(path)]
    installed = (*[f"{path}/" for path in folders], f"{os.path.dirname(os.__file__)}/")
    files = {str(getattr(module, "__file__", None)) for module in list(sys.modules.values())}
    return folders + [each for each in files if os.path.isfile(each) and not each.startswith(installed)]


def main() -> None:
    """Load what the words say and serve the pool, or tell it why that cannot be done."""
    pool = detach()
    runs, *modules = sys.argv[1:]
    try:
        facts = load(modules)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a stranger's code; the pool has another way
        reason = str(error) if isinstance(error, UnfitError) else f"{type(error).__name__}: {error}"
        pool.send(frame(("unfit", reason)))
        return
    gc.collect()
    Zygote(pool, runs, shim=WarmShim, facts=facts).serve()


if __name__ == "__main__":
    main()
    os._exit(0)
