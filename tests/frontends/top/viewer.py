"""The viewer in a test: keys go in, and its screen comes out as text."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from errands import bootstrap
from errands.engine.fleet.host_watch import HostWatch
from errands.frontends.cli.context import Context
from errands.frontends.top.app import TopApp
from errands.ports.home import Home
from errands.testing.engines import until
from errands.text import Look
from tests.hand_clock import HandClock


class Viewer:
    def __init__(self, app: TopApp, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def types(self, text: str) -> None:
        """Type a line and send it."""
        await self.press(*("space" if each == " " else each for each in text), "enter")

    @property
    def screen(self) -> str:
        """What is on the screen, without colours."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)

    @property
    def lines(self) -> list[str]:
        return self.screen.split("\n")

    async def shows(self, *texts: str) -> str:
        """Wait until the screen shows all of these texts."""

        def found() -> bool:
            screen = self.screen
            return all(text in screen for text in texts)

        try:
            await until(found)
        except AssertionError:
            raise AssertionError(f"{texts} did not appear:\n{self.screen}") from None
        return self.screen

    async def hides(self, text: str) -> None:
        """Wait until the screen does not show a text any more."""
        try:
            await until(lambda: text not in self.screen)
        except AssertionError:
            raise AssertionError(f"{text!r} did not go:\n{self.screen}") from None


@asynccontextmanager
async def viewing(
    home: Home,
    *,
    size: tuple[int, int] = (80, 24),
    look: Look | None = None,
    clock: HandClock | None = None,
) -> AsyncIterator[Viewer]:
    """Open the viewer on a home, with an engine of its own, as in another process."""
    context = Context(lambda: bootstrap, os.environ)
    look = look or Look(colour=True, unicode=True, columns=size[0])
    if clock is not None:
        context.engine.clock = clock
    hosts = HostWatch(context.engine.home, bootstrap.open_fleet)
    app = TopApp(context.engine, look=look, hosts=hosts)
    assert context.engine.home.path == home.path
    try:
        async with app.run_test(size=size) as pilot:
            viewer = Viewer(app, pilot)
            await viewer.shows("live")
            yield viewer
    finally:
        context.engine.close()
