"""A program that embeds the daemon with `errands.connect(yes=True)` for as long as it lives.

Where a daemon runs already it has nothing to do, and exits.
"""

from __future__ import annotations

import asyncio
import os

import errands
from errands.engine.daemon.lock import daemon_facts


async def main() -> None:
    async with errands.connect(yes=True) as connected:
        found = daemon_facts(connected.engine.home)
        if found is not None and found["pid"] == os.getpid():
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
