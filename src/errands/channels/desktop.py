"""The desktop: a notification by notify-send or osascript."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from typing import Any

from errands.model.errors import ChannelError
from errands.model.notices.delivery import Delivery, text, title

# The texts are arguments, so that nothing in them becomes part of the script.
_APPLESCRIPT = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
ANSWERS_WITHIN = 10.0


class Desktop:
    budget = 500
    is_deduplicating = False

    def __init__(self, settings: Mapping[str, Any]) -> None:
        found = program()
        if found is None:
            raise ChannelError("there is neither notify-send nor osascript; install libnotify-bin")
        self._program = found

    async def deliver(self, delivery: Delivery) -> None:
        words = command(self._program, title(delivery), text(delivery, self.budget))
        shown = await asyncio.create_subprocess_exec(
            *words, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
        try:
            async with asyncio.timeout(ANSWERS_WITHIN):
                _, said = await shown.communicate()
        except TimeoutError:
            shown.kill()
            await shown.wait()
            raise ChannelError(f"{self._program} did not finish; is there a desktop?") from None
        if shown.returncode:
            why = said.decode("utf-8", "replace").strip()[:300]
            raise ChannelError(f"{self._program} ended with {shown.returncode}: {why}")

    async def close(self) -> None:
        """There is nothing to release."""


def program() -> str | None:
    return shutil.which("notify-send") or shutil.which("osascript")


def command(path: str, heading: str, words: str) -> list[str]:
    if path.endswith("osascript"):
        return [path, "-e", _APPLESCRIPT, heading, words]
    # Some desktops interpret tags.
    escaped = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return [path, "--app-name=Errands", "--", heading, escaped]
