"""The process of an agent's run: `python -m errands.agents`, with the run's id in its environment.

`python -m errands.agents drop` deletes the sessions of cleared tasks from their backends.
"""

from __future__ import annotations

import gc
import os
import sys

from errands.bootstrap import run_agent
from errands.processes import drop_sessions

if __name__ == "__main__":
    # The library of the built-in agent leaves 127,000 objects: searching them for garbage while it is loaded,
    # and once more at exit, took 0.4 s of the 1.4 s of processor time that loading it and exiting takes.
    gc.set_threshold(50_000, 50, 50)
    if sys.argv[1:] == ["drop"]:
        drop_sessions()
        code = 0
    else:
        code = run_agent(os.environ["ERRANDS_RUN_ID"])
    gc.freeze()
    sys.exit(code)
