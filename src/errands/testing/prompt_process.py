"""A process that sends one prompt with a recording context, so that a test can kill it.

python -m errands.testing.prompt_process MODULE:FACTORY SETTINGS FOLDER SPEC SESSION TEXT
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from pathlib import Path

from errands.testing.agent_context import RecordingContext, spec_from


async def main(factory: str, settings: str, folder: str, spec: str, session: str, text: str) -> None:
    module, _, name = factory.partition(":")
    agent = getattr(importlib.import_module(module), name)(json.loads(settings))
    answer = await agent.prompt(session, text, RecordingContext(Path(folder), spec=spec_from(spec)))
    print(answer.text, flush=True)
    await agent.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
