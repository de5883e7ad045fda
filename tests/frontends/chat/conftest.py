"""A person who chats, with a scripted model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.frontends.chat.window import Window
from tests.frontends.cli.person import Person
from tests.model_server import ModelServer


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[Person]:
    place = tmp_path_factory.mktemp("chat")
    configured = Path(f"{place / 'home'}-config") / "errands" / "config.toml"
    configured.parent.mkdir(parents=True)
    configured.write_text(
        f'[agents]\ndefault = "builtin"\n[agents.builtin]\nmodel = "fake"\nurl = "{model.openai_url}"\n'
        "pause = 0.001\n"
        f'[agents.behind]\nbackend = "builtin"\nmodel = "fake"\nurl = "{model.openai_url}"\n'
        "pause = 0.001\n[discovery]\nenabled = false\n"
    )
    person = Person(place / "home", place)
    person.types("daemon", "start")
    yield person
    person.leaves()


@pytest.fixture
def open_window(person: Person) -> Iterator[Callable[..., Window]]:
    opened: list[Window] = []

    def open_one(*words: str) -> Window:
        opened.append(Window(person, *words))
        opened[-1].until(lambda: opened[-1].line == ">", "a line to type at")
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


@pytest.fixture
def window(open_window: Callable[..., Window]) -> Window:
    """A chat with the offline agent, which always answers the same."""
    return open_window("--agent", "offline")
