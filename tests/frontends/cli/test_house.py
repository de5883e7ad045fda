"""daemon, config and doctor: keeping house."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
from pathlib import Path

import pytest

from errands import __version__
from errands.runners.system import linux
from tests.engine.daemons import eventually
from tests.frontends.cli.person import Person


def daemon_pid(person: Person) -> int:
    return int(person.types("daemon", "status", "--json").object["pid"])


@pytest.mark.spec("L20")
def test_the_daemon_starts_by_itself_and_has_a_status(newcomer: Person) -> None:
    before = newcomer.types("daemon", "status", "--json", code=1).object
    newcomer.finishes("true")
    after = newcomer.types("daemon", "status", "--json").object

    assert before == {"running": False, "pid": None, "version": __version__, "home": str(newcomer.home)}
    assert after["running"] is True
    assert Path(f"/proc/{after['pid']}").exists()
    assert (after["version"], after["home"]) == (__version__, str(newcomer.home))
    assert f"process {after['pid']}" in newcomer.types("daemon", "status").out


def test_starting_and_stopping_the_daemon_twice_is_harmless(newcomer: Person) -> None:
    assert newcomer.types("daemon", "stop").out == "no daemon is running\n"
    assert newcomer.types("daemon", "start").out.startswith("started the daemon (process ")
    pid = daemon_pid(newcomer)
    assert newcomer.types("daemon", "start").out == f"the daemon is already running (process {pid})\n"
    assert "running tasks continue" in newcomer.types("daemon", "stop").out
    assert newcomer.types("daemon", "status", code=1).out.startswith("no daemon is running for ")


@pytest.mark.spec("L20")
@pytest.mark.trap(22)
def test_stopping_the_daemon_stops_no_task(newcomer: Person) -> None:
    task_id = newcomer.starts("sleep 0.5; echo survived; exit 7")
    newcomer.waits_until(task_id, "state", "running")
    newcomer.types("daemon", "stop")

    assert newcomer.types("wait", task_id, code=7).code == 7
    assert newcomer.types("logs", task_id).out == "survived\n"


@pytest.mark.fault("F4")
@pytest.mark.spec("L20")
def test_wait_returns_the_exit_code_although_the_daemon_is_killed(newcomer: Person) -> None:
    task_id = newcomer.starts("sleep 0.5; exit 9")
    newcomer.waits_until(task_id, "state", "running")
    os.kill(daemon_pid(newcomer), signal.SIGKILL)

    assert newcomer.types("wait", task_id, code=9).code == 9


@pytest.mark.spec("X13")
def test_config_show_prints_each_value_and_where_it_came_from(newcomer: Person) -> None:
    own = Path(newcomer.environ["XDG_CONFIG_HOME"]) / "errands" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("[lanes]\nshell = 2\n")
    (newcomer.cwd / "errands.toml").write_text('[runs]\ngrace = "9s"\n')
    shown = newcomer.types("config", "show", "--json", ERRANDS_UI_COLOUR="never").object
    text = newcomer.types("config", "show").out

    assert shown["home"] == str(newcomer.home)
    assert shown["keys"]["lanes.shell"] == {"value": 2, "from": str(own)}
    assert shown["keys"]["runs.grace"] == {"value": "9s", "from": str(newcomer.cwd / "errands.toml")}
    assert shown["keys"]["ui.colour"] == {"value": "never", "from": "environment ERRANDS_UI_COLOUR"}
    assert shown["keys"]["runs.timeout"] == {"value": None, "from": "default"}
    assert ["lanes.shell", "2", str(own)] in [line.split() for line in text.splitlines()]


@pytest.mark.spec("X13")
def test_config_check_names_every_wrong_key_and_exits_with_1(newcomer: Person) -> None:
    good = newcomer.types("config", "check")
    wrong = newcomer.cwd / "errands.toml"
    wrong.write_text('[runs]\ngrase = "9s"\ntimeout = 5\n')
    bad = newcomer.types("config", "check", code=1)
    objects = newcomer.types("config", "check", "--json", code=1).objects
    elsewhere = newcomer.types("config", "check", str(wrong), code=1, cwd=newcomer.cwd.parent)

    assert good.out == "✓ no problems in the environment (no configuration file)\n"
    assert f"✗ {wrong}: runs.grase: no such key (did you mean grace?)\n" in bad.out
    assert f"✗ {wrong}: runs.timeout: " in bad.out
    assert [problem["key"] for problem in objects] == ["runs.grase", "runs.timeout"]
    assert "2 problems" in elsewhere.out


@pytest.mark.spec("X13")
def test_config_check_names_a_channel_of_an_unknown_kind(newcomer: Person) -> None:
    file = newcomer.configures('[channels.team]\nkind = "pigeon"\n')
    said = newcomer.types("config", "check", code=1).out

    assert said.startswith(f"✗ {file}: channels.team: unknown kind of channel 'pigeon'; known: ")


@pytest.mark.spec("X13", "X15")
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('[approval]\nallow = ["bash *"]\n', "approval.allow: "),
        ('[approval]\ndeny = ["*"]\nask = ["\'"]\n', "approval.ask: "),
        ('[runs]\nshell = "/no/such/shell"\n', "runs.shell: '/no/such/shell' cannot be started"),
        ('[runs]\nshell = "/bin/true"\n', "runs.shell: '/bin/true' does not run what follows -c"),
        ('[schedules]\nzone = "Mars/Olympus"\n', "schedules.zone: unknown time zone 'Mars/Olympus'"),
        ('[notices]\nchannels = ["pigeon"]\n', "notices.channels: unknown channel 'pigeon'"),
    ],
)
def test_a_configuration_that_breaks_every_launch_fails_the_checks(
    newcomer: Person, wrong: str, said: str
) -> None:
    own = Path(newcomer.environ["XDG_CONFIG_HOME"]) / "errands" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(wrong)

    assert f"✗ {own}: {said}" in newcomer.types("config", "check", code=1).out
    assert f"✗ {own}: {said}" in newcomer.types("config", "check", str(own), code=1).out
    assert f"{own}: {said}" in newcomer.types("doctor", code=1).out


@pytest.mark.spec("X13")
def test_a_wrong_configuration_stops_a_start_with_the_reason(newcomer: Person) -> None:
    answer = newcomer.types("run", "true", code=2, ERRANDS_RUNS_GRACE="soon")

    assert answer.err.startswith(
        "errands: environment ERRANDS_RUNS_GRACE: runs.grace: 'soon' is not a duration"
    )
    assert "errands config check" in answer.err


@pytest.mark.spec("X13")
def test_a_wrong_configuration_does_not_stop_commands_that_read_or_cancel(newcomer: Person) -> None:
    task_id = newcomer.starts("sleep 600")
    (newcomer.cwd / "errands.toml").write_text('[runs]\nx = 1\ntimeout = "9m"\n')
    for words in (["ls"], ["show", task_id], ["logs", task_id], ["notices"], ["cancel", task_id]):
        assert "runs.x: no such key" in newcomer.types(*words).err
    shown = newcomer.types("config", "show", "--json")

    assert newcomer.types("wait", task_id, code=143).err.startswith("errands: ignoring invalid settings:\n")
    assert shown.object["keys"]["runs.timeout"]["value"] == "9m"
    assert newcomer.types("restart", task_id, code=2).out == ""


def test_the_configuration_is_what_a_task_is_started_with(newcomer: Person) -> None:
    (newcomer.cwd / "errands.toml").write_text('[runs]\ntimeout = "0.2s"\ntail_lines = 1\ngrace = "0.1s"\n')
    task_id = newcomer.finishes("echo one; echo two; sleep 300")
    view = newcomer.sees(task_id)

    assert view["failure"] == "timeout"
    assert view["output_tail"] == "two\n"
    assert newcomer.types("run", "-w", "--timeout", "none", "sleep 0.4").code == 0


def test_a_template_can_remove_a_limit(newcomer: Person) -> None:
    (newcomer.cwd / "errands.toml").write_text('[runs]\ntimeout = "0.1s"\n')
    newcomer.types("template", "save", "patient", "--timeout", "none", "sleep 0.3")

    assert newcomer.types("template", "run", "patient", "-w").code == 0


@pytest.mark.spec("X15")
def test_doctor_finds_nothing_wrong_with_a_healthy_home(newcomer: Person) -> None:
    untouched = newcomer.types("doctor")
    newcomer.finishes("true")
    findings = newcomer.types("doctor", "--json").objects

    assert untouched.out.endswith("\nno problems found\n")
    assert {finding["level"] for finding in findings} == {"ok"}
    assert {finding["section"] for finding in findings} == {
        *("configuration", "permissions", "disk", "store", "daemon", "platform", "runs", "approvals"),
        *("schedules", "events", "notices", "agents"),
    }


@pytest.mark.spec("X15")
def test_doctor_says_whether_what_only_reads_is_held_to_that(newcomer: Person) -> None:
    here = newcomer.types("doctor").out
    elsewhere = newcomer.types("doctor", ERRANDS_PLATFORM="posix").out

    assert ("cannot write or connect" in here) is not bool(linux.missing_walls())
    assert "have no walls here" in elsewhere


@pytest.mark.spec("X15")
def test_doctor_says_of_each_agent_whether_it_can_start(newcomer: Person) -> None:
    file = Path(newcomer.environ["XDG_CONFIG_HOME"], "errands", "config.toml")
    file.parent.mkdir(parents=True)
    with socket.socket() as listening, socket.socket() as closed:
        for each in (listening, closed):
            each.bind(("127.0.0.1", 0))
        listening.listen()
        there, gone = (f"http://127.0.0.1:{each.getsockname()[1]}" for each in (listening, closed))
        file.write_text(
            f'[agents.opencode]\nurl = "{there}"\n[agents.away]\nbackend = "opencode"\nurl = "{gone}"\n'
            f'[agents.model]\nbackend = "builtin"\nmodel = "m"\nurl = "{gone}/v1"\n'
            '[agents.keyless]\nbackend = "builtin"\nmodel = "m"\nkey = "env:NO_SUCH_KEY"\n'
            '[agents.shell]\nbackend = "command"\ncommand = ["sh", "-c", "cat"]\n'
            '[agents.nobody]\nbackend = "acp"\ncommand = "no-such-program --acp"\n'
            '[agents.acp]\n[agents.strange]\nbackend = "nowhere"\n'
            '[agents.typo]\nbackend = "builtin"\nmodel = "antropic:x"\n'
            f'[agents.served]\nbackend = "builtin"\nmodel = "m"\nurl = "{there}"\n'
            '[agents.served.mcp.issues]\ncommand = ["no-such-server"]\n'
        )
        found = newcomer.types("doctor", "--json", code=1, OLLAMA_BASE_URL=f"{gone}/ollama").objects

    told = {each["text"].split()[0]: each for each in found if each["section"] == "agents"}
    levels = {name: each["level"] for name, each in told.items()}
    ready = {name for name, level in levels.items() if level == "ok"}
    assert ready == {"offline", "opencode", "shell"}
    assert set(levels) - ready == {"away", "model", "keyless", "nobody", "acp", "strange", "typo", "served"}
    assert f"cannot start: {gone}: nothing is listening there; start it with `op" in told["away"]["text"]
    assert f"cannot start: m at {gone}/v1: nothing is listening there" in told["model"]["text"]
    assert f"antropic:x of Ollama at {gone}/ollama: nothing is listening there" in told["typo"]["text"]
    assert "the MCP server 'issues' is not there: no-such-server: program not found" in told["served"]["text"]
    assert "the variable NO_SUCH_KEY of the secret is empty" in told["keyless"]["text"]
    assert "no-such-program: program not found" in told["nobody"]["text"]
    assert "it has no command" in told["acp"]["text"]
    assert "unknown backend 'nowhere'" in told["strange"]["text"]
    wrong = [each["text"] for each in found if each["level"] == "fail"]
    assert [text.split(": ")[1] for text in wrong] == ["agents.acp.command", "agents.strange.backend"]


@pytest.mark.spec("X13")
def test_config_show_prints_the_settings_of_agents_but_no_secrets(newcomer: Person) -> None:
    file = Path(newcomer.environ["XDG_CONFIG_HOME"], "errands", "config.toml")
    file.parent.mkdir(parents=True)
    file.write_text(
        '[agents.opencode]\nurl = "http://there"\npassword = "file:/nowhere"\n'
        '[agents.claude]\nbackend = "command"\n'
        '[agents.builtin]\nmodel = "m"\nkey = "env:MY_KEY"\n[agents.builtin.mcp.x]\n'
        'command = ["npx", "a b"]\nenv = { TOKEN = "0f9e8d7c6b5a4321" }\n[agents.builtin.mcp.y]\n'
        'url = "http://u"\nheaders = { Authorization = "Bearer me" }\n'
    )
    shown, keys = (
        newcomer.types("config", "show").out,
        newcomer.types("config", "show", "--json").object["keys"],
    )

    assert keys["agents.opencode.url"] == {"value": "http://there", "from": str(file)}
    assert keys["agents.builtin.mcp.x.command"]["value"] == "npx 'a b'"
    assert keys["agents.builtin.key"]["value"] == "env:MY_KEY"
    assert keys["agents.opencode.password"]["value"] == "file:/nowhere"
    assert "agents.claude.backend" in shown
    for secret in ("0f9e8d7c6b5a4321", "Bearer me"):
        assert secret not in shown
        assert secret not in str(keys)


@pytest.mark.spec("X13")
def test_a_secret_in_the_configuration_is_refused_and_not_repeated(newcomer: Person) -> None:
    file = Path(newcomer.environ["XDG_CONFIG_HOME"], "errands", "config.toml")
    file.parent.mkdir(parents=True)
    file.write_text(
        '[agents.opencode]\npassword = "swordfish"\n[agents.builtin]\nmodel = "m"\nkey = "sk-swordfish"\n'
    )

    check = newcomer.types("config", "check", code=1)

    for key in ("agents.opencode.password", "agents.builtin.key"):
        assert f"{key}: don't put secrets in this file; write file:PATH, env:NAME or" in check.out + check.err
    assert "swordfish" not in check.out + check.err + newcomer.types("config", "show").out


@pytest.mark.spec("X15")
@pytest.mark.parametrize("below", ["", "/home"])
def test_doctor_finds_a_home_that_cannot_be_created(newcomer: Person, below: str) -> None:
    taken = newcomer.cwd / "taken"
    taken.write_text("")
    answer = newcomer.types("doctor", code=1, ERRANDS_HOME=f"{taken}{below}")

    assert f"cannot use {taken}{below} for the store: {taken} is not a directory" in answer.out
    assert "set ERRANDS_HOME to a directory of your own" in answer.out


def test_a_home_that_is_a_file_and_a_store_of_another_version_say_what_to_do(
    newcomer: Person,
) -> None:
    for home in ("/dev/null", "/dev/null/below"):  # which every user may write to
        refused = newcomer.types("run", "true", code=1, ERRANDS_HOME=home).err
        assert f"cannot use {home} for the store: it, or a part of its path, is not a directory" in refused

    newcomer.finishes("true")
    newcomer.types("daemon", "stop")
    with sqlite3.connect(newcomer.home / "errands.db") as store:
        store.execute("DROP TABLE exchanges")
    store.close()
    refused = newcomer.types("ls", code=1).err
    assert "was written by another version of Errands (no such table: exchanges)" in refused
    assert "point ERRANDS_HOME elsewhere" in refused


def test_an_unknown_variable_is_a_warning_with_a_suggestion(newcomer: Person) -> None:
    said = newcomer.types("config", "check", ERRANDS_FOO_BAR="1").out.splitlines()

    assert said[0] == "! environment: ERRANDS_FOO_BAR: not a setting"
    assert said[1].endswith("no errors, 1 warning in the environment (no configuration file)")


@pytest.mark.spec("X15")
def test_doctor_finds_what_is_wrong_and_says_what_to_do(newcomer: Person) -> None:
    newcomer.finishes("true")
    pid = daemon_pid(newcomer)
    os.chmod(newcomer.home, 0o755)
    (newcomer.cwd / "errands.toml").write_text("[runs]\nx = 1\n")
    os.kill(pid, signal.SIGSTOP)
    try:
        answer = newcomer.types("doctor", code=1, ERRANDS_HOEM="x", ERRANDS_LANES_SHELL="9")
    finally:
        os.kill(pid, signal.SIGCONT)

    assert "✗ " + str(newcomer.cwd / "errands.toml") in answer.out
    assert "ERRANDS_HOEM: not a setting (did you mean ERRANDS_HOME?)" in answer.out
    assert f"chmod 700 {newcomer.home}" in answer.out
    assert f"daemon (pid {pid}) does not respond" in answer.out
    assert f"kill -CONT {pid}" in answer.out
    assert answer.out.endswith("\nsomething is wrong\n")


@pytest.mark.spec("X15")
def test_doctor_warns_of_a_daemon_that_was_started_with_other_lanes(newcomer: Person) -> None:
    newcomer.finishes("true")
    answer = newcomer.types("doctor", ERRANDS_LANES_SHELL="9")

    assert "! lane shell is 5 wide for the daemon, and 9 wide in your configuration" in answer.out
    assert answer.out.endswith("\nit works, with warnings\n")


@pytest.mark.spec("X15")
@pytest.mark.fault("F18")
def test_a_damaged_store_is_reported_and_repaired_only_on_request(newcomer: Person) -> None:
    newcomer.finishes("true")
    newcomer.types("daemon", "stop")
    store = newcomer.home / "errands.db"
    (newcomer.home / "errands.db-wal").unlink(missing_ok=True)
    content = bytearray(store.read_bytes())
    content[:100] = b"x" * 100
    store.write_bytes(content)

    refused = newcomer.types("ls", code=1)
    sick = newcomer.types("doctor", code=1)
    repaired = newcomer.types("doctor", "--repair", code=None)
    aside = list(newcomer.home.glob("errands.db.damaged-*"))

    assert "run `errands daemon stop`, then `errands doctor --repair`" in refused.err
    assert sick.out.count("file is not a database") == 2, (
        "by the store's own check, and by the first other one"
    )
    assert "! not checked, for the same reason" in sick.out
    assert "the damaged file is" in repaired.err
    assert aside[0].read_bytes()[:100] == b"x" * 100
    assert newcomer.types("ls").code == 0
    assert "was set aside by a repair" in newcomer.types("doctor").out


@pytest.mark.spec("X15")
@pytest.mark.fault("F10")
def test_doctor_warns_of_a_run_whose_supervisor_is_gone(newcomer: Person) -> None:
    task_id = newcomer.starts("echo $PPID; sleep 300")
    newcomer.waits_for_output(task_id, "\n")
    shim = int(newcomer.types("logs", task_id).out)
    newcomer.types("daemon", "stop")
    os.kill(shim, signal.SIGKILL)
    eventually(lambda: not linux.is_alive(shim))
    answer = newcomer.types("doctor")

    assert f"! {task_id} started " in answer.out
    assert "no daemon is running; live or queued: 1 run" in answer.out
    unknown = "so it is not known yet which tasks have ended: errands daemon start"
    assert unknown in newcomer.types("ls").out
    assert unknown in newcomer.types("show", task_id).out
    newcomer.types("daemon", "start")
    newcomer.types("wait", task_id, code=125)


@pytest.mark.spec("X15")
def test_doctor_says_when_nothing_will_start_the_daemon(newcomer: Person) -> None:
    task_id = newcomer.types("run", "-q", "--every", "1h", "true").out.strip()
    findings = [each for each in newcomer.types("doctor", "--json").objects if each["section"] == "schedules"]

    assert [each["level"] for each in findings] == ["warn"]
    assert findings[0]["text"].startswith("1 recurring task: ")
    has_manager = "neither systemd nor launchd" not in findings[0]["text"]
    assert ("errands install service" in findings[0]["advice"]) is has_manager, "it advises what cannot work"
    newcomer.types("cancel", task_id)
    findings = [each for each in newcomer.types("doctor", "--json").objects if each["section"] == "schedules"]
    assert [each["text"] for each in findings] == ["nothing is scheduled"]
