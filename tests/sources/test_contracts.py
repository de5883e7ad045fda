"""Every source that comes with Errands keeps the contract."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from errands.config import Config
from errands.config.sections import Events
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.testing.contracts.source import SourceContract
from tests.sources.fake_github import FakeGitHub
from tests.sources.posting import post, signed
from tests.sources.watches import tick

SECRET = "a secret of some length"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.spec("T6")
class TestFile(SourceContract):
    factory = "errands.sources.file:File"
    _numbers = itertools.count()

    def draft(self, folder: Path) -> Draft:
        (folder / "deep").mkdir(exist_ok=True)
        (folder / "deep" / "old.txt").touch()
        tick(folder)
        return Draft(command="true", cwd=str(folder), on="file:**/*.txt")

    def happen(self, folder: Path, engine: Engine) -> None:
        (folder / "deep" / f"new-{next(self._numbers)}.txt").touch()


@pytest.mark.spec("T6")
class TestCommand(SourceContract):
    factory = "errands.sources.command:Command"

    def draft(self, folder: Path) -> Draft:
        (folder / "lines").touch()
        return Draft(command="true", cwd=str(folder), on="command:cat lines", on_options={"every": "1s"})

    def happen(self, folder: Path, engine: Engine) -> None:
        with (folder / "lines").open("a") as file:
            file.write("one more\n")

    def tuned(self, source: Any) -> Any:
        source.every = 0.05
        return source


@pytest.mark.spec("T6")
class TestTask(SourceContract):
    factory = "errands.sources.task:Ended"

    def draft(self, folder: Path) -> Draft:
        return Draft(command="true", on="task:*", on_options={"batch": "watched"})

    def happen(self, folder: Path, engine: Engine) -> None:
        task = engine.submit(Draft(command="true", batch="watched"))
        engine.cancel([task.id])

    @pytest.fixture(autouse=True)
    def _quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("errands.sources.task.TICK", 0.05)  # no bell rings here


@pytest.mark.spec("T6")
class TestGitHub(SourceContract):
    factory = "errands.sources.github:GitHub"

    @pytest.fixture(autouse=True)
    def _github(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        self.github = FakeGitHub()
        self.github.open_pull("an old one", created_at="2020-01-01T00:00:00Z")
        monkeypatch.setenv("GITHUB_TOKEN", self.github.token)
        yield
        self.github.close()

    def config(self, folder: Path) -> Config:
        return Config(events=Events(github=self.github.url))

    def draft(self, folder: Path) -> Draft:
        return Draft(command="true", on="github:people/project", on_options={"every": "1s"})

    def happen(self, folder: Path, engine: Engine) -> None:
        self.github.open_pull("a new one")

    def tuned(self, source: Any) -> Any:
        source.every = 0.05
        return source


@pytest.mark.spec("T6")
class TestWebhook(SourceContract):
    factory = "errands.sources.webhook:Webhook"
    remembers = False  # what is posted meanwhile is refused, and its sender retries
    _numbers = itertools.count()

    def config(self, folder: Path) -> Config:
        (folder / "secret").write_text(SECRET)
        self.place = f"127.0.0.1:{free_port()}"
        return Config(
            events=Events(listen=self.place), webhooks={"deploy": {"secret": f"file:{folder}/secret"}}
        )

    def draft(self, folder: Path) -> Draft:
        return Draft(command="true", on="webhook:deploy")

    async def happen(self, folder: Path, engine: Engine) -> None:
        name = f"delivery-{next(self._numbers)}"
        content = json.dumps({"type": "deployed", "name": name}).encode()
        code, _ = await asyncio.to_thread(
            post, f"http://{self.place}/hooks/deploy", content, signed(SECRET, name, content)
        )
        assert code == 202
