"""What people see in the viewer at 40, 80 and 140 columns, kept in `goldens/` to look at.

After a change that is meant: `make goldens`, then read the difference.
"""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path

import pytest

from errands.model.text.width import width
from errands.ports.home import Home
from errands.testing.engines import TestEngine, until
from errands.text import Look
from tests.frontends.top.test_now import proposed
from tests.frontends.top.viewer import viewing
from tests.hand_clock import HandClock

pytestmark = pytest.mark.spec("X9", "X21")

PLACE = Path(__file__).with_name("goldens")
REWRITE = "GOLDENS"
# The keys that lead to each screen, and what it shows when all of it is there.
SCREENS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "now": ((), ("would run", "rm -rf build", "75%")),
    "question": (("y",), ("command", "y once")),
    "output": (("2", "j", "j", "enter"), ("ready", "follow", "75%")),
    "runs": (("2", "j", "j", "enter", "tab"), ("3m ago", "75%")),
    "tasks": (("2", "x"), ("1 of 4", "deploy-", "75%")),
    "asks": (("2", "c"), ("cancel rm-", "rm -rf build")),
    "keys": (("question_mark",), ("Everywhere",)),
}
LOOKS = {
    "140": (140, Look(colour=False, unicode=True, columns=140)),
    "80": (80, Look(colour=False, unicode=True, columns=80)),
    "40": (40, Look(colour=False, unicode=True, columns=40)),
    "ascii": (80, Look(colour=False, unicode=False, columns=80)),
}


@pytest.mark.parametrize("name", LOOKS)
async def test_what_people_see_is_as_it_was(engine: TestEngine, home: Home, name: str) -> None:
    columns, look = LOOKS[name]
    clock = await _scene(engine, home)
    shown = {}
    for screen, (keys, texts) in SCREENS.items():
        async with viewing(home, size=(columns, 24), look=look, clock=clock) as viewer:
            await viewer.shows("train", "● live" if look.unicode else "* live")
            for key in keys:
                await viewer.press(key)
            await viewer.shows(*texts)
            await until(lambda: viewer.app.is_settled)
            await viewer.pilot.pause()
            assert max(map(width, viewer.lines)) <= columns
            shown[screen] = _masked(viewer.screen)
    for text in shown.values():
        assert name != "ascii" or text.isascii()
    said = "\n".join(f"== {screen}\n{text}\n" for screen, text in shown.items())
    file = PLACE / f"{name}.txt"
    if os.environ.get(REWRITE) == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(said)
    assert file.read_text() == said, f"{file.name} differs; if that is meant: make goldens"


async def _scene(engine: TestEngine, home: Home) -> HandClock:
    """Make a task of every kind that the first screen shows, and a clock at which all are as old."""
    failed = "printf 'FAILED test_cart.py::test_total\\n== 2 failed, 40 passed in 3.10s ==\\n'; exit 3"
    await engine.finished(failed, name="unit-tests", cwd="/")
    report = "echo '::progress 3/4 epoch 3 of 4'; echo Übersicht; echo ready; read line"
    runs = await engine.started(report, name="train", cwd="/", input="pipe")
    await engine.submit("echo deploying", name="deploy", cwd="/", after=[runs.id])
    proposed(home, "rm -rf build dist node_modules")
    assert runs.latest.started_at is not None
    return HandClock(runs.latest.started_at + timedelta(seconds=200))


def _masked(screen: str) -> str:
    """Replace what differs every time by something as wide."""
    first, *rest = screen.split("\n")
    first = "errands HOME  " + re.sub(r"^err.*?(?=\d+ (wait|run))", "", first)
    text = "\n".join([first, *rest])
    text = re.sub(r"\b(unit-tests|train|deploy|rm)-[a-z0-9]{6}", r"\1-222222", text)
    text = re.sub(r"([…~])[a-z0-9]{6}\b", r"\g<1>222222", text)
    text = re.sub(r"\d+ms", "9ms", text)
    return re.sub(re.escape(os.getcwd()) + r"\b", "/project", text)
