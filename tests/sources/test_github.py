"""GitHub is polled: news is reported, no news costs a few bytes, and errors are named."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.config import Config
from errands.config.sections import Events
from errands.engine.triggers.source_context import WatchContext, watched, watching_since
from errands.model.errors import SourceError
from errands.ports.home import Home
from errands.runners.watched_command import run_watched
from errands.sources.github import GitHub
from tests.sources.fake_github import FakeGitHub
from tests.sources.watches import watching


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    github = FakeGitHub()
    monkeypatch.setenv("GITHUB_TOKEN", github.token)
    yield github
    github.close()


@asynccontextmanager
async def asked(home: Home, github: FakeGitHub, **options: str) -> AsyncIterator[GitHub]:
    engine = open_engine(home, Config(events=Events(github=github.url)), consent="yes")
    task = engine.store.task(
        engine.submit(watching(Path("/"), "github:people/project", on_options=options)).id
    )
    context = WatchContext(engine, task, watching_since(engine, task), run_watched)
    source = GitHub(watched(task), context)
    source.every = 0.02
    await source.open(None)
    yield source
    await source.close()
    engine.close()


@pytest.mark.spec("T6")
async def test_new_pull_requests_and_failed_builds_are_reported(home: Home, github: FakeGitHub) -> None:
    github.open_pull("an old one", created_at="2020-01-01T00:00:00Z")
    github.end_build(updated_at="2020-01-01T00:00:00Z")
    async with asked(home, github) as source:
        looks = source.observe()
        assert (await anext(looks)).events == ()
        github.open_pull("Say hello")
        github.end_build("success")
        github.end_build("failure", name="lint")
        github.end_build("timed_out", name="slow")

        told = (await anext(looks)).events
        assert [each.text for each in told] == [
            "pull request #2: Say hello",
            "build lint of main ended with failure",
            "build slow of main ended with timed_out",
        ]
        assert told[0].facts["url"] == "https://github.test/people/project/pull/2"


@pytest.mark.spec("T11")
@pytest.mark.trap(57)
async def test_what_has_not_changed_costs_a_few_bytes(home: Home, github: FakeGitHub) -> None:
    async with asked(home, github) as source:
        looks = source.observe()
        for _ in range(3):
            await anext(looks)

        assert github.codes() == [200, 200, 304, 304, 304, 304]


async def test_only_what_was_asked_for_is_asked_for(home: Home, github: FakeGitHub) -> None:
    async with asked(home, github, events="build", branch="main") as source:
        looks = source.observe()
        await anext(looks)
        github.open_pull("a new one")
        github.end_build(head_branch="other")
        github.end_build(head_branch="main")

        assert [each.facts["branch"] for each in (await anext(looks)).events] == ["main"]
        assert {path for path, _ in github.requests} == {
            "/repos/people/project/actions/runs?status=completed&per_page=100&branch=main"
        }


async def test_a_rate_limit_is_respected(home: Home, github: FakeGitHub) -> None:
    github.limited, github.pause = 1, 77
    async with asked(home, github) as source:
        with pytest.raises(SourceError, match=r"asks us to wait 7. s: API rate limit") as error:
            await anext(source.observe())

    assert 70 <= (error.value.after or 0) <= 77


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ({"broken": 1}, "GitHub answers with 502"),
        ({"token": "another"}, "does not accept the token: Bad credentials"),
        ({"repository": "people/other"}, "the repository does not exist"),
    ],
)
async def test_trouble_is_named(
    home: Home, github: FakeGitHub, trouble: dict[str, object], said: str
) -> None:
    for name, value in trouble.items():
        setattr(github, name, value)
    async with asked(home, github) as source:
        with pytest.raises(SourceError, match=said):
            await anext(source.observe())


async def test_a_missing_token_is_named(
    home: Home, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match=r"set GITHUB_TOKEN .* or log in with gh auth login"):
        async with asked(home, github):
            pass
    assert github.requests == []


async def test_the_token_of_gh_is_used(
    home: Home, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    program = tmp_path / "gh"
    program.write_text(f"#!/bin/sh\ntest \"$*\" = 'auth token' && echo {github.token}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    async with asked(home, github) as source:
        assert (await anext(source.observe())).events == ()


async def test_waiting_for_gh_delays_no_other_source(
    home: Home, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    program = tmp_path / "gh"
    os.mkfifo(tmp_path / "go")
    program.write_text(f"#!/bin/sh\nread go < {tmp_path}/go\necho {github.token}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    async def say_go() -> None:
        await asyncio.to_thread((tmp_path / "go").write_text, "go\n")

    saying = asyncio.ensure_future(say_go())
    async with asked(home, github) as source:
        assert (await anext(source.observe())).events == ()
    await saying


async def test_what_was_reported_is_remembered_although_github_forgets(
    home: Home, github: FakeGitHub
) -> None:
    async with asked(home, github, events="pull") as source:
        looks = source.observe()
        await anext(looks)
        for number in range(3):
            github.open_pull(f"number {number}")
        look = await anext(looks)
        github.pulls.clear()

        assert len(look.events) == 3
        assert json.loads((await anext(looks)).baseline)["pull"]["last"] == 3
