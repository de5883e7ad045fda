"""The process of an agent's run: `python -m errands.agents`, with the run's id in its environment.

`python -m errands.agents drop` deletes the sessions of cleared tasks from their backends.
"""

from __future__ import annotations

import os
import sys

from errands.bootstrap import run_agent
from errands.processes import drop_sessions

if __name__ == "__main__":
    if sys.argv[1:] == ["drop"]:
        drop_sessions()
    else:
        sys.exit(run_agent(os.environ["ERRANDS_RUN_ID"]))
