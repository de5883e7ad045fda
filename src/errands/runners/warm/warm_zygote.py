"""The warm zygote: imports modules before it serves, run as `python -P -m MODULE RUNS MODULE...`.

Its shims have the modules loaded as well, so the process of a run starts in milliseconds. A fork must be
indistinguishable from a new process, so no thread or open file may be left by the imports, and the pool
learns which variables the modules read.
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
    """Forks of this process would differ from new processes."""


class _Recording(dict[bytes, bytes]):
    """The variables of this process; notes the names of those that are read."""

    def __init__(self, variables: dict[bytes, bytes]) -> None:
        super().__init__(variables)
        self.names: set[bytes] = set()

    def __getitem__(self, name: bytes) -> bytes:
        self.names.add(name)
        return super().__getitem__(name)


def load(modules: list[str]) -> tuple[list[str], list[tuple[str, int]]]:
    """Import modules; return the variables that they read, and the modification times of their sources."""
    before = set(os.listdir(_OPEN_FILES))
    inside = vars(os.environ)  # every way to read a variable goes through its `_data`
    variables = inside["_data"]
    noting = inside["_data"] = _Recording(variables)
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # the run that needs it reports it better
    variables.clear()
    variables.update(noting)
    inside["_data"] = variables
    if len(os.listdir(_THREADS)) > 1:
        raise UnfitError("a module starts threads, which a fork does not have")
    if set(os.listdir(_OPEN_FILES)) - before:
        raise UnfitError("a module opens files, which all forks would share")
    return sorted(map(os.fsdecode, noting.names)), [(path, os.stat(path).st_mtime_ns) for path in _sources()]


def _sources() -> list[str]:
    """List what changes with a module: its site-packages folder, or its own file if it is elsewhere."""
    folders = [path for path in sys.path if path.endswith("-packages") and os.path.isdir(path)]
    installed = (*[f"{path}/" for path in folders], f"{os.path.dirname(os.__file__)}/")
    files = {str(getattr(module, "__file__", None)) for module in list(sys.modules.values())}
    return folders + [each for each in files if os.path.isfile(each) and not each.startswith(installed)]


def main() -> None:
    """Import the modules in argv and serve the pool, or send it the reason why that is impossible."""
    pool = detach()
    runs, *modules = sys.argv[1:]
    try:
        facts = load(modules)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # foreign code may raise anything; the pool starts cold instead
        reason = str(error) if isinstance(error, UnfitError) else f"{type(error).__name__}: {error}"
        pool.send(frame(("unfit", reason)))
        return
    gc.collect()
    Zygote(pool, runs, shim=WarmShim, facts=facts).serve()


if __name__ == "__main__":
    main()
    os._exit(0)
