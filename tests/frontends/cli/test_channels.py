"""Channels at the command line: chosen, inferred, listed, tested; and undelivered notices."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.channels.receiver import Receiver
from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import Terminal, ended
from tests.gate import Gate


@pytest.fixture(scope="module")
def server() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def receiver(server: Receiver) -> Iterator[Receiver]:
    yield server
    server.mood = ""


@pytest.fixture(scope="module")
def hooked(server: Receiver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A person with a webhook, and a Discord that cannot be reached."""
    place = tmp_path_factory.mktemp("hooked")
    person = Person(place / "home", place)
    secret = Path(f"{person.home}-secret")
    secret.write_text("open sesame")
    secret.chmod(0o600)
    configure(
        person,
        f"""
        [channels.hook]
        kind = "webhook"
        url = "{server.url}"
        secret = "file:{secret}"
        [channels.discord]
        token = "file:{secret}"
        target = 1234
        api = "http://127.0.0.1:1"
        """,
    )
    yield person
    person.leaves()


def deliveries(receiver: Receiver, task_id: str) -> list[Any]:
    """Wait for what the receiver gets about a task."""
    deadline = time.monotonic() + 60
    while not (found := [p.value for p in receiver.posted if p.value["notices"][0]["task"] == task_id]):
        assert time.monotonic() < deadline, f"nothing was told about {task_id}"
        time.sleep(0.005)
    return found


def configure(person: Person, text: str) -> Path:
    path = Path(f"{person.home}-config/errands/config.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(line.strip() for line in text.splitlines()))
    return path


@pytest.mark.spec("N2", "N8")
def test_a_task_reports_to_its_channels(hooked: Person, receiver: Receiver) -> None:
    gate = Gate(hooked.cwd / "gate")
    answer = hooked.types("run", "--channel", "hook", "--", "cat", "gate")
    assert "hook and errands notices report when it ends" in answer.out
    task_id = answer.out.split()[1]
    gate.opens()
    [posted] = deliveries(receiver, task_id)
    assert posted["notices"][0]["state"] == "completed"
    shown = hooked.sees(task_id)
    assert shown["channels"] == ["hook"]
    assert shown["wake"] == "channel hook; inbox of user: `errands notices`"
    assert task_id in hooked.types("notices").out


@pytest.mark.spec("N8")
def test_what_is_reported_only_sometimes_says_so(hooked: Person) -> None:
    view = hooked.types("run", "--json", "--channel", "hook", "--notify", "on_failure", "--", "true").object
    assert view["wake"].startswith("if it fails: channel hook;")


@pytest.mark.spec("N7")
def test_the_conversation_decides_and_then_the_configuration(hooked: Person) -> None:
    def channels(*options: str, **environ: Any) -> list[str]:
        return list(hooked.types("run", "--json", *options, "--", "true", **environ).object["channels"])

    assert channels() == []
    assert channels(ERRANDS_CHANNEL="discord:99;hook") == ["discord:99", "hook"]
    assert channels("--channel", "discord", ERRANDS_CHANNEL="hook") == ["discord:1234"]
    assert channels("--channel", "none", ERRANDS_CHANNEL="hook") == []
    assert channels(ERRANDS_NOTICES_CHANNELS="hook") == ["hook"]
    assert channels(ERRANDS_NOTICES_CHANNELS="hook", ERRANDS_CHANNEL="discord:99") == ["discord:99"]
    # A terminal that is only inferred is left out where there is none.
    assert channels(ERRANDS_NOTICES_CHANNELS="terminal;hook") == ["hook"]


@pytest.mark.spec("N7")
def test_a_session_is_its_inbox_or_a_conversation_on_a_server(hooked: Person) -> None:
    native = hooked.types("run", "--json", "--channel", "session:chat-7", "--", "true").object
    assert native["channels"] == ["inbox:chat-7"]
    served = hooked.types("run", "--json", "--channel", "session:ses_abc", "--notify", "never", "--", "true")
    assert served.object["channels"] == ["session:ses_abc"]
    hooked.waits_until_reported(native["id"], owner="chat-7")
    assert len(hooked.types("notices", "--json", "--owner", "chat-7").objects) == 1


@pytest.mark.spec("N2", "S7")
def test_what_was_waited_for_is_still_reported_to_others(hooked: Person, receiver: Receiver) -> None:
    words = ("run", "--wait", "--batch", "awaited", "--channel", "hook", "--channel", "inbox:chat-8", "--")
    hooked.types(*words, "true")
    (task,) = hooked.types("ls", "--json", "--batch", "awaited").objects

    assert task["id"] not in hooked.types("notices", "--peek", "--json").out
    assert task["id"] in hooked.types("notices", "--json", "--owner", "chat-8").out
    assert deliveries(receiver, task["id"])


@pytest.mark.spec("S7")
def test_the_terminal_that_showed_a_result_is_not_told_again(person: Person, terminal: Terminal) -> None:
    words = ("run", "--wait", "--name", "seen", "--channel", "terminal", "--", "true")
    assert ended(terminal.types(*words))[1] == 0

    assert person.types("notices", "--undelivered").out == "every notice was delivered\n"
    assert person.types("notices", "--dead").out == "no notices were given up\n"


@pytest.mark.trap(41)
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("hok", "did you mean hook?"),
        ("apprise", "channel apprise is not configured; add [channels.apprise]"),
        ("hook:elsewhere", "has one target only"),
        ("discord:general", "needs a target: the id of a channel"),
        ("Hook!", "is not a channel; write NAME or NAME:TARGET"),
    ],
)
def test_an_address_that_means_nothing_is_refused(hooked: Person, words: str, reason: str) -> None:
    before = len(hooked.types("ls", "--json").objects)
    answer = hooked.types("run", "--channel", words, "--", "true", code=2)
    assert reason in answer.err
    assert len(hooked.types("ls", "--json").objects) == before


@pytest.mark.spec("L15")
def test_a_template_keeps_its_channels(hooked: Person, receiver: Receiver) -> None:
    hooked.types("template", "save", "hello", "--channel", "hook", "--", "true")
    started = hooked.types("template", "run", "hello", "--json").object
    assert deliveries(receiver, started["id"])


@pytest.mark.spec("N5", "X15")
@pytest.mark.trap(15)
def test_what_was_given_up_is_listed_and_sent_again(hooked: Person, receiver: Receiver) -> None:
    receiver.mood = 410
    task = hooked.types("run", "--json", "--channel", "hook", "--", "true").object
    deadline = time.monotonic() + 60
    while not (dead := hooked.types("notices", "--dead", "--json").objects):
        assert time.monotonic() < deadline
    [notice] = [each for each in dead if each["run_id"] == task["run_id"]]
    assert (notice["state"], notice["channel"], notice["run_id"]) == ("dead", "hook", task["run_id"])
    assert "the server answered 410" in hooked.types("notices", "--dead").out
    doctor = hooked.types("doctor", code=1)
    assert "1 notice could not be delivered" in doctor.out
    assert "errands notices retry --all sends them" in doctor.out

    receiver.mood = ""
    assert "name the notices: errands notices retry ID" in hooked.types("notices", "retry", code=2).err
    assert "has no undelivered notices" in hooked.types("notices", "retry", "999999", code=3).err
    assert (
        "'no-such' is neither a task nor the number of a notice"
        in hooked.types("notices", "retry", "no-such", code=2).err
    )
    assert hooked.types("notices", "retry", str(notice["id"])).out == "1 notice will be sent again\n"
    assert deliveries(receiver, task["id"])
    deadline = time.monotonic() + 60
    while "hook" in hooked.types("notices", "--undelivered").out:
        assert time.monotonic() < deadline
    assert hooked.types("notices", "--dead").out == "no notices were given up\n"


@pytest.fixture
def waiting(hooked: Person, receiver: Receiver) -> str:
    """A task whose notice waits a while for its next try."""
    receiver.mood, receiver.pause = 503, 600
    task_id = hooked.starts("--channel", "hook", "--", "true")
    deadline = time.monotonic() + 60
    while not any(
        each["error"] and each["run_id"].startswith(task_id)
        for each in hooked.types("notices", "--undelivered", "--json").objects
    ):
        assert time.monotonic() < deadline
    receiver.mood = ""
    return task_id


@pytest.mark.spec("N5")
def test_what_waits_for_its_next_attempt_is_sent_on_request(
    hooked: Person, receiver: Receiver, waiting: str
) -> None:
    behind = hooked.starts("--channel", "hook", "--", "true")
    hooked.waits_until_reported(behind)
    assert "queued behind another one" in hooked.types("notices", "--undelivered").out
    assert hooked.types("notices", "retry", behind).out == "1 notice will be sent again\n"
    assert deliveries(receiver, waiting)
    assert deliveries(receiver, behind)


@pytest.mark.spec("N5")
def test_everything_that_waits_for_its_next_attempt_is_sent_on_request(
    hooked: Person, receiver: Receiver, waiting: str
) -> None:
    assert "will be sent again" in hooked.types("notices", "retry", "--all").out
    assert deliveries(receiver, waiting)


def test_the_help_of_notices_names_the_program_once(newcomer: Person) -> None:
    assert "Usage: errands notices [options]" in newcomer.types("notices", "--help").out
    assert newcomer.types("notices", "retry", "--all").out == "every notice was delivered\n"


@pytest.mark.spec("X13")
def test_channels_are_listed_and_tried(hooked: Person, receiver: Receiver) -> None:
    listed = {each["name"]: each for each in hooked.types("channel", "ls", "--json").objects}
    assert (listed["hook"]["kind"], listed["hook"]["trouble"]) == ("webhook", None)
    assert listed["discord"]["target"] == "1234"
    assert {"inbox", "session", "terminal", "desktop"} <= set(listed)
    [desktop] = [
        each for each in hooked.types("channel", "ls", "--json", PATH="").objects if each["name"] == "desktop"
    ]
    assert "neither notify-send nor osascript" in desktop["trouble"]
    assert "hook" in hooked.types("channel", "ls").out

    assert hooked.types("channel", "test", "hook").out == "sent a message to hook\n"
    assert receiver.posted[-1].value["title"] == "errands says hello"
    assert "errands show" not in str(receiver.posted[-1].value), "there is no such task"
    receiver.mood = 500
    assert "the server answered 500" in hooked.types("channel", "test", "hook", code=1).err
    assert "is an inbox" in hooked.types("channel", "test", "inbox", code=2).err
    assert "unknown Discord channel 'hook'" in hooked.types("channel", "discord", "hook", code=2).err


@pytest.mark.spec("X13")
@pytest.mark.trap(41)
@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ('[channels.hook]\nkind = "webhok"\nurl = "http://x"', "(did you mean webhook?)"),
        ('[channels.webhook]\nurl = "http://x"', "channels.webhook.secret: is missing"),
        ('[channels.webhook]\nurl = "x"\nsecret = "env:X"', "channels.webhook.url: 'x' is not an address"),
        ('[channels.webhook]\nurl = "http://x"\nsecret = "s"', "don't put secrets in this file"),
        ('[channels.webhook]\nurl = "http://x"\nsecret = "env:X"\nulr = 1', "did you mean url?"),
        ('[channels.discord]\ntoken = "env:X"\nallowed = ["ada"]', "is not a list of user ids"),
        ('[channels.discord]\ntoken = "env:X"\nlisten = "yes"', "is not true or false"),
        ('[channels.apprise]\ntargets = "slack://"', "is not a table of URLs"),
        ('[channels]\nhook = "http://x"', "channels.hook: is a channel; write [channels.hook]"),
        ('[channels.mine]\nurl = "http://x"', "channels.mine.kind: missing"),
        ("[notices]\nchannels = [1]", "is not a list of channels"),
    ],
)
def test_a_wrong_setting_is_named(newcomer: Person, settings: str, wrong: str) -> None:
    configure(newcomer, settings)
    answer = newcomer.types("config", "check", code=1 if wrong else 0)
    assert wrong in answer.out + answer.err


def test_a_project_cannot_say_where_output_is_sent(newcomer: Person) -> None:
    (newcomer.cwd / "errands.toml").write_text('[channels.webhook]\nurl = "http://x"\nsecret = "env:X"\n')
    try:
        answer = newcomer.types("config", "check", code=1)
        assert "a project cannot decide this" in answer.out + answer.err
    finally:
        (newcomer.cwd / "errands.toml").unlink()


@pytest.mark.spec("X15")
def test_doctor_looks_at_channels(hooked: Person) -> None:
    assert "channel hook is ready (webhook)" in hooked.types("doctor", code=None).out
    secret = Path(f"{hooked.home}-secret")
    secret.chmod(0o644)
    assert f"chmod 600 {secret}" in hooked.types("doctor", code=1).out
    secret.unlink()
    assert "channel hook: the secret" in hooked.types("doctor", code=1).out


@pytest.mark.spec("X7")
def test_channels_complete(hooked: Person) -> None:
    names = hooked.types("complete", "fish", "--", "run", "--channel", "").out
    assert "hook\twebhook" in names
    assert "terminal" in names
