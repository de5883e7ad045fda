"""Configuration: which source wins, and how mistakes are reported."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from errands import agents, config
from errands.agents.command import agent as command
from errands.agents.session_log import check_settings
from errands.config import BadConfig, Config, backends, check_file, inspect, load, unknown_variables
from errands.config.setting_kinds import PRESETS
from errands.model.errors import BadValue
from errands.model.record import fields

pytestmark = pytest.mark.spec("X13")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


class Places:
    """A user's file, a project with a subfolder, and an environment."""

    def __init__(self, root: Path) -> None:
        self.user = root / "config" / "errands" / "config.toml"
        self.project = root / "project" / "errands.toml"
        self.cwd = root / "project" / "src" / "deep"
        self.cwd.mkdir(parents=True)
        self.user.parent.mkdir(parents=True)
        self.environ = {"HOME": str(root), "XDG_CONFIG_HOME": str(root / "config")}

    def load(self, **overrides: str) -> Config:
        flags = {key.replace("__", "."): value for key, value in overrides.items()}
        return load(str(self.cwd), self.environ, flags)


def test_without_any_source_every_key_has_its_default(places: Places) -> None:
    found = places.load()

    assert found == Config()
    assert found.lanes == {"shell": 5, "agent": 4, "local": 1, "chat": 8}
    assert found.runs.grace == timedelta(seconds=5)
    assert found.runs.timeout is None
    assert found.runs.output_cap == 10 * 1024 * 1024
    assert found.retention.keep == timedelta(days=7)


def test_the_later_source_wins(places: Places) -> None:
    steps = [found_grace(places)]
    places.user.write_text('[runs]\ngrace = "6s"\n')
    steps.append(found_grace(places))
    places.project.write_text('[runs]\ngrace = "7s"\n')
    steps.append(found_grace(places))
    places.environ["ERRANDS_RUNS_GRACE"] = "8s"
    steps.append(found_grace(places))
    steps.append(places.load(runs__grace="9s").runs.grace.seconds)

    assert steps == [5, 6, 7, 8, 9]


def found_grace(places: Places) -> int:
    return places.load().runs.grace.seconds


def test_each_value_knows_where_it_came_from(places: Places) -> None:
    places.user.write_text("[lanes]\nshell = 2\ngpu = 1\n")
    places.project.write_text("[runs]\ntail_lines = 5\n")
    places.environ["ERRANDS_UI_COLOUR"] = "never"
    origin = {key.path: where for key, _, where in config.entries(places.load())}

    assert origin["lanes.shell"] == origin["lanes.gpu"] == str(places.user)
    assert origin["lanes.agent"] == "default"
    assert origin["runs.tail_lines"] == str(places.project)
    assert origin["ui.colour"] == "environment ERRANDS_UI_COLOUR"


def test_every_key_can_be_set_in_a_file_and_in_the_environment(places: Places) -> None:
    samples = {"duration": "90s", "size": "1MiB", "count": "7", "text": "/bin/dash"}
    samples |= {"rules": "make *; npm test", "addresses": "terminal; discord:1234"}
    for key in config.KEYS:
        if key.path == "approval.allow":
            continue  # a variable can never allow anything
        if key.kind == "flag":
            usual = getattr(getattr(Config(), key.section), key.name)
            value = "false" if usual else "true"
        else:
            value = key.choices[-1] if key.kind == "choice" else samples[key.kind]
        places.user.unlink(missing_ok=True)
        by_variable = load(str(places.cwd), {**places.environ, key.variable: value})
        quote = "" if key.kind in ("count", "flag") else '"'
        places.user.write_text(f"[{key.section}]\n{key.name} = {quote}{value}{quote}\n")
        by_file = load(str(places.cwd), places.environ)

        assert by_variable.origin == {key.path: f"environment {key.variable}"}
        assert (
            getattr(by_file, key.section)
            == getattr(by_variable, key.section)
            != getattr(Config(), key.section)
        )


@pytest.mark.spec("A12")
@pytest.mark.parametrize(("name", "value"), [("ALLOW", "rm *"), ("YES", "true"), ("YES", " Yes ")])
def test_a_caller_cannot_allow_its_own_command_with_a_variable(places: Places, name: str, value: str) -> None:
    places.user.write_text("[approval]\nyes = false\n")

    with pytest.raises(config.BadConfig, match="a variable cannot allow more than you do"):
        load(str(places.cwd), {**places.environ, f"ERRANDS_APPROVAL_{name}": value})
    assert not load(str(places.cwd), {**places.environ, "ERRANDS_APPROVAL_YES": "false"}).approval.yes


def test_every_field_of_every_section_has_a_key_and_every_key_a_field() -> None:
    in_records = {f"{section}.{name}" for section, kind in config.SECTIONS.items() for name in fields(kind)}

    assert in_records == {key.path for key in config.KEYS}


@pytest.mark.parametrize(
    ("text", "key", "advice"),
    [
        ('[runs]\ngrase = "5s"', "runs.grase", "no such key (did you mean grace?)"),
        ("[lane]\nshell = 2", "lane", "no such section (did you mean lanes?)"),
        ("tick = 3", "tick", "no such key outside every section; the sections are: agents, approval, "),
        ("[web]\nport = 80", "web.port", "no such key; there are: address, cert, cert_key, mcp, origin"),
        ("runs = 3", "runs", "is a section; write [runs]"),
        ("[runs]\ngrace = 5", "runs.grace", 'write a duration with its unit, in quotes, such as "5s"'),
        ('[runs]\ngrace = "soon"', "runs.grace", "soon"),
        ('[retention]\nkeep = "7"', "retention.keep", "has no unit"),
        ('[runs]\ngrace = "0s"', "runs.grace", "not a positive duration"),
        ('[runs]\noutput_cap = "1K"', "runs.output_cap", "the minimum is 4 KiB"),
        ("[runs]\noutput_cap = true", "runs.output_cap", "not a size"),
        ("[runs]\nmemory = 1.5", "runs.memory", "not a size"),
        ("[runs]\nmemory = 1", "runs.memory", "the minimum is 1 MiB"),
        ('[runs]\non_idle = "sotp"', "runs.on_idle", "choose one of: stop, report (did you mean stop?)"),
        ("[lanes]\nshell = -1", "lanes.shell", "whole number of at least 0"),
        ("[lanes]\nshell = true", "lanes.shell", "whole number of at least 0"),
        ('[lanes]\n"two words" = 1', "lanes.two words", "no such key"),
        ('[retention]\nenabled = "maybe"', "retention.enabled", "neither true nor false"),
        ('[runs]\nshell = ""', "runs.shell", "not text"),
        ("[runs\n", "", "not valid TOML"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_its_file_and_what_to_write(
    places: Places, text: str, key: str, advice: str
) -> None:
    places.user.write_text(text)

    with pytest.raises(BadConfig) as caught:
        places.load()

    (problem,) = caught.value.problems
    assert problem.source == str(places.user)
    assert problem.key == key
    assert advice in problem.advice
    assert str(places.user) in str(caught.value)
    assert caught.value.exit_code == 2


def test_all_problems_are_reported_at_once_and_the_rest_is_still_read(places: Places) -> None:
    places.user.write_text('[runs]\ngrase = "5s"\ntail_lines = 7\n[ui]\ncolour = 3\n')
    found, problems = inspect(str(places.cwd), places.environ)

    assert [problem.key for problem in problems] == ["runs.grase", "ui.colour"]
    assert found.runs.tail_lines == 7
    assert check_file(str(places.user)) == problems


def test_a_wrong_variable_is_named(places: Places) -> None:
    places.environ["ERRANDS_RUNS_GRASE"] = "5s"

    with pytest.raises(BadConfig, match=r"ERRANDS_RUNS_GRASE: runs\.grase: no such key \(did you mean grace"):
        places.load()


def test_an_unknown_variable_is_only_a_warning() -> None:
    environ = {"ERRANDS_HOEM": "/x", "ERRANDS_HOME": "/y", "ERRANDS_LANES_GPU": "1", "OTHER": "z"}

    assert [str(problem) for problem in unknown_variables(environ)] == [
        "environment: ERRANDS_HOEM: not a setting (did you mean ERRANDS_HOME?)"
    ]


def test_a_project_cannot_choose_the_shell(places: Places) -> None:
    places.project.write_text('[runs]\nshell = "./evil"\n')

    with pytest.raises(BadConfig, match="a project cannot decide this"):
        places.load()


@pytest.mark.parametrize("text", ["[lanes]\nshell = 9", '[retention]\nkeep = "1s"', '[daemon]\ntick = "1s"'])
def test_a_project_cannot_change_settings_of_the_shared_daemon(places: Places, text: str) -> None:
    places.project.write_text(text)

    with pytest.raises(BadConfig, match=f"set it in your own file, {places.user}, or ERRANDS_"):
        places.load()
    assert check_file(str(places.project))


def test_an_optional_limit_can_be_removed(places: Places) -> None:
    places.user.write_text('[runs]\ntimeout = "1h"\nmemory = "1G"\n')
    places.project.write_text('[runs]\ntimeout = "none"\n')
    found = places.load()

    assert found.runs.timeout is None
    assert found.runs.memory == 1 << 30


def test_lanes_can_be_added_and_closed(places: Places) -> None:
    places.environ.update(ERRANDS_LANES_GPU="2", ERRANDS_LANES_SHELL="0")

    assert places.load().lanes == {"shell": 0, "agent": 4, "local": 1, "chat": 8, "gpu": 2}


def test_an_unreadable_file_is_a_problem_not_a_crash(places: Places) -> None:
    places.user.write_bytes(b"\xff\xfe[runs]")

    with pytest.raises(BadConfig, match=r"config\.toml: is not UTF-8 text; save it as UTF-8"):
        places.load()


def test_a_directory_in_place_of_the_file_is_a_problem_not_a_crash(places: Places) -> None:
    places.user.mkdir()

    with pytest.raises(BadConfig, match=r"config\.toml: is a directory; put a file in its place"):
        places.load()


def test_a_deep_file_is_named_in_one_line_and_the_rest_is_still_read(places: Places) -> None:
    places.user.write_text('[runs]\ngrace = "7s"\n')
    places.project.write_text(f"[runs]\nshell = {'[' * 5000}{']' * 5000}")
    found, problems = inspect(str(places.cwd), places.environ)

    assert found.runs.grace == timedelta(seconds=7)
    assert [str(each) for each in problems] == [
        f"{places.project}: not valid TOML: tables or lists are nested more than 32 levels deep, "
        "which no setting needs; remove them"
    ]


def test_home_is_the_variable_or_the_state_directory() -> None:
    assert config.home({"ERRANDS_HOME": "/a/b", "HOME": "/h"}) == "/a/b"
    assert config.home({"XDG_STATE_HOME": "/s", "HOME": "/h"}) == "/s/errands"
    assert config.home({"XDG_STATE_HOME": "relative", "HOME": "/h"}) == "/h/.local/state/errands"
    assert config.home({"HOME": "/h"}) == "/h/.local/state/errands"


# Every setting and variable of the systems that users migrate from.
ELSEWHERE = [
    *("background_max_concurrent", "background_task_retention_days", "background_auto_cleanup"),
    *("CO_BACKGROUND_MAX_CONCURRENT", "CO_BACKGROUND_TASK_RETENTION_DAYS", "CO_BACKGROUND_AUTO_CLEANUP"),
    *("[tasks] enabled", "tick_interval_ms", "max_concurrent", "task_timeout_ms"),
    *("discovery_enabled", "discovery_interval_ms", "idle_threshold_ms"),
    *("maxConcurrentTasks", "maxOutputSize", "taskRetention"),
]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_every_setting_of_the_systems_users_migrate_from_is_mapped(name: str) -> None:
    page = Path(__file__).parents[1] / "docs" / "reference" / "configuration.md"
    table = page.read_text().partition("## Coming from elsewhere")[2]

    assert f"`{name}`" in table


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("runs.output_cap", 10 << 20, "10MiB"),
        ("runs.output_cap", 4097, "4097"),
        ("runs.grace", timedelta(hours=1, minutes=30), "1h30m"),
        ("runs.grace", timedelta(milliseconds=200), "200ms"),
        ("runs.timeout", None, "none"),
        ("retention.enabled", False, "false"),
    ],
)
def test_a_written_value_can_be_read_back(key: str, value: object, text: str) -> None:
    section, _, name = key.partition(".")
    found = next(each for each in config.KEYS if each.path == key)

    assert config.written(found, value) == text
    assert getattr(getattr(load("/", {"HOME": "/none"}, {key: text}), section), name) == value


@pytest.mark.spec("A9")
def test_a_project_can_add_rules_that_ask_and_deny_but_not_rules_that_allow(places: Places) -> None:
    places.user.write_text('[approval]\nallow = ["make *"]\ndeny = ["dd *"]\nyes = false\n')
    places.project.write_text('[approval]\nask = ["ls *"]\ndeny = ["rm *"]\n')
    places.environ["ERRANDS_APPROVAL_DENY"] = "mkfs *; fdisk *"
    approval = places.load().approval

    assert approval.deny == ("dd *", "rm *", "mkfs *", "fdisk *")
    assert (approval.allow, approval.ask, approval.yes) == (("make *",), ("ls *",), False)
    for line in ('allow = ["rm *"]', "yes = true", 'expires = "900d"'):
        places.project.write_text(f"[approval]\n{line}\n")
        with pytest.raises(BadConfig, match="a project cannot decide this"):
            places.load()


@pytest.mark.spec("A9")
def test_a_check_finds_an_unusable_rule(places: Places) -> None:
    places.user.write_text('[approval]\nallow = ["bash *", "make *"]\ndeny = "rm | x"\nask = [1]\n')
    advice = {problem.key: problem.advice for problem in config.check_file(str(places.user))}

    assert set(advice) == {"approval.allow", "approval.deny", "approval.ask"}
    assert "would allow anything" in advice["approval.allow"]


@pytest.mark.parametrize(
    ("text", "key", "advice"),
    [
        ('[agents.builtin]\nmodle = "m"', "agents.builtin.modle", "did you mean model?"),
        ('[agents.offline]\nmodel = "m"', "agents.offline.model", "'offline' has no such key"),
        ('[agents.x]\nbackend = "acp"\nhome = "/tmp"', "agents.x.home", "'acp' has no such key"),
        ("[agents.x]\nbackend = 5", "agents.x.backend", "5 is not text"),
        ('[agents.opencode]\nretries = "three"', "agents.opencode.retries", "'three' is not a whole number"),
        ("[agents.opencode]\npoll = -1", "agents.opencode.poll", "-1 is not a number of seconds"),
        ('[agents.opencode]\ntakeover = "no"', "agents.opencode.takeover", "'no' is not true or false"),
        ("[agents.command]\ncommand = []", "agents.command.command", "[] is not a command"),
        ('[agents.command]\narguments = "-v"', "agents.command.arguments", "'-v' is not a list of words"),
        ('[agents.command]\ncommand = "claude \'x"', "agents.command.command", "is not a command"),
        ('[agents.command]\ncommand = "cat"\nretries = 5', "agents.command.retries", 'preset "claude"'),
        ('[agents.command]\npreset = "plain"\narguments = ["-v"]', "agents.command.arguments", "`command`"),
        ('[agents.command]\npreset = "cloud"', "agents.command.preset", "one of: claude, plain"),
        ("[agents.acp.env]\nA = 1", "agents.acp.env", "not a table of strings"),
        ("[agents.offline.budget]\ntokens = 5", "agents.offline.budget.tokens", "did you mean"),
        ("[agents.offline.budget]\nrequests = 0", "agents.offline.budget.requests", "of at least 1"),
        ("[agents.builtin.escalate]\nname = 1", "agents.builtin.escalate.name", "a model has no such key"),
        ("[agents.builtin.mcp.x]\nenv = {}", "agents.builtin.mcp.x", "neither a command nor a url"),
        ('[agents.builtin.mcp.x]\nurl = "u"', "agents.builtin.mcp.x.url", "'u' is not an address"),
        ('[agents.builtin.escalate]\nurl = "ftp://x"', "agents.builtin.escalate.url", "is not an address"),
        ('[agents.builtin]\nurl = "not a url"', "agents.builtin.url", "write http:// or https://"),
        ('[agents.builtin]\nurl = "http:///v1"', "agents.builtin.url", "is not an address"),
        ('[agents.builtin]\nurl = "http://a b/"', "agents.builtin.url", "is not an address"),
        ('[agents.opencode]\nurl = "localhost:4096"', "agents.opencode.url", "is not an address"),
        ('[agents.opencode]\nurl = "http://x:port"', "agents.opencode.url", "is not an address"),
        ('[agents.builtin.mcp.x]\nurl = "http://u"\nkey = 1', "agents.builtin.mcp.x.key", "has no such key"),
    ],
)
def test_a_wrong_setting_of_an_agent_is_named_with_its_file(
    places: Places, text: str, key: str, advice: str
) -> None:
    places.user.write_text(text)
    with pytest.raises(BadConfig) as caught:
        places.load()

    (problem,) = caught.value.problems
    assert (problem.source, problem.key) == (str(places.user), key)
    assert advice in problem.advice


@pytest.mark.parametrize(
    ("text", "key", "advice"),
    [
        ('[agents.gemini]\ncommand = "gemini"', "agents.gemini.backend", "unknown backend 'gemini'"),
        ('[agents.x]\nbackend = "bultin"', "agents.x.backend", "did you mean builtin?"),
        ('[agents.builtin]\nurl = "http://localhost"', "agents.builtin.model", "is missing; write model = "),
        ("[agents.acp]", "agents.acp.command", "is missing; write command = "),
        ('[agents.offline]\nlane = "gpu"', "agents.offline.lane", "unknown lane 'gpu'"),
        ('[agents]\ndefault = "ofline"', "agents.default", "did you mean offline?"),
    ],
)
def test_a_check_finds_an_agent_that_could_never_answer(
    places: Places, text: str, key: str, advice: str
) -> None:
    places.user.write_text(text)
    _, problems = inspect(str(places.cwd), places.environ, thorough=True)

    (problem,) = problems
    assert (problem.source, problem.key) == (str(places.user), key)
    assert advice in problem.advice
    places.load()  # it only matters when that agent is used


def test_usable_agents_cause_no_problem(places: Places) -> None:
    places.user.write_text(
        '[agents]\ndefault = "strong"\n[lanes]\ngpu = 1\n[agents.strong]\nbackend = "builtin"\nlane = "gpu"\n'
        'model = "m"\nescalate = { model = "n", url = "http://[::1]:80/v1" }\n'
        "patience = 0.5\nbudget = { requests = 3 }\n"
        '[agents.strong.mcp.x]\ncommand = "npx \'x y\'"\nenv = { A = "b" }\n[agents.opencode]\n'
        '[agents.claude]\nbackend = "command"\narguments = ["-v"]\npreset = "claude"\n'
    )

    assert inspect(str(places.cwd), places.environ, thorough=True)[1] == ()
    assert check_file(str(places.user)) == ()
    assert set(places.load().backends) == {"strong", "opencode", "claude"}


def test_the_listed_settings_of_every_backend_are_those_it_accepts() -> None:
    assert list(backends.BACKENDS) == list(agents.BUILT_IN)
    for name, keys in backends.BACKENDS.items():
        check_settings(name, dict.fromkeys((*keys, *backends.COMMON, "home")))
        with pytest.raises(BadValue, match=f"{name!r} has no setting 'colour'"):
            check_settings(name, {"colour": "red"})
    assert tuple(command.PRESETS) == PRESETS
