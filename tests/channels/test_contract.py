"""Every channel keeps the contract, each with a real receiver."""

from __future__ import annotations

import os
import pty
import select
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from errands.channels import make
from errands.ports import channel as ports
from errands.testing.contracts.channel import ChannelContract
from tests.channels.fake_discord import FakeDiscord
from tests.channels.receiver import Receiver

NOTIFY = '#!/bin/sh\nshift\nprintf "%s\\n" "$@" "--end--" >> "$0.said"\n'


class Reached:
    """A channel and its receiver; whatever receives is looked at in `seen`."""

    target = ""

    def __init__(self, channel: ports.Channel) -> None:
        self.channel = channel


class Posting(Reached):
    def __init__(self, channel: ports.Channel, receiver: Receiver, target: str = "") -> None:
        super().__init__(channel)
        self.target = target
        self._receiver = receiver

    def seen(self) -> list[str]:
        return [each.body.decode() for each in self._receiver.posted]

    def break_down(self) -> None:
        self._receiver.mood = 500


class AgentStream(Reached):
    target = "777"

    def __init__(self, channel: ports.Channel, server: FakeDiscord) -> None:
        super().__init__(channel)
        self._server = server

    def seen(self) -> list[str]:
        return ["\n".join(self._server.contents)]

    def break_down(self) -> None:
        self.target = "404"


class Popping(Reached):
    def __init__(self, channel: ports.Channel, program: Path) -> None:
        super().__init__(channel)
        self._program = program

    def seen(self) -> list[str]:
        return Path(f"{self._program}.said").read_text().split("--end--\n")[:-1]

    def break_down(self) -> None:
        self._program.write_text("#!/bin/sh\nexit 1\n")


class Showing(Reached):
    def __init__(self, channel: ports.Channel) -> None:
        super().__init__(channel)
        self._ours, self._theirs = pty.openpty()
        self.target = os.ttyname(self._theirs)

    def seen(self) -> list[str]:
        said = b""
        while select.select([self._ours], [], [], 0.2)[0]:
            said += os.read(self._ours, 65536)
        return [said.decode().replace("\x1b[K", "")]

    def break_down(self) -> None:
        self.target = "/dev/pts/none"

    def close(self) -> None:
        os.close(self._ours)
        os.close(self._theirs)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def secret(tmp_path: Path) -> str:
    (tmp_path / "secret").write_text("token")
    return f"file:{tmp_path}/secret"


class TestWebhook(ChannelContract):
    @pytest.fixture
    def reached(self, receiver: Receiver, secret: str) -> Posting:
        return Posting(make("webhook", {"url": receiver.url, "secret": secret}), receiver)


class TestSession(ChannelContract):
    @pytest.fixture
    def reached(self, receiver: Receiver) -> Posting:
        return Posting(make("session", {"url": receiver.url.removesuffix("/hook")}), receiver, "ses_1")


class TestApprise(ChannelContract):
    @pytest.fixture
    def reached(self, receiver: Receiver) -> Posting:
        targets = {"phone": f"json://{receiver.url.removeprefix('http://')}"}
        return Posting(make("apprise", {"targets": targets}), receiver, "phone")


class TestDiscord(ChannelContract):
    @pytest.fixture
    async def reached(self, secret: str) -> AsyncIterator[AgentStream]:
        with FakeDiscord() as server:
            channel = make("discord", {"token": secret, "api": server.url})
            yield AgentStream(channel, server)
            await channel.close()


class TestDesktop(ChannelContract):
    @pytest.fixture
    def reached(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Popping:
        program = tmp_path / "notify-send"
        program.write_text(NOTIFY)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return Popping(make("desktop", {}), program)


class TestTerminal(ChannelContract):
    @pytest.fixture
    def reached(self) -> Iterator[Showing]:
        showing = Showing(make("terminal", {}))
        yield showing
        showing.close()
