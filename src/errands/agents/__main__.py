"""The process of an agent's run: `python -m errands.agents`, with the run's id in its environment."""

from __future__ import annotations

import os
import sys

from errands.bootstrap import run_agent

if __name__ == "__main__":
    sys.exit(run_agent(os.environ["ERRANDS_RUN_ID"]))
