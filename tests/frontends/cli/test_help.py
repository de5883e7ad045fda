"""Help, completion and reference come from the same tables as the parser."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from errands import __version__
from errands.frontends.cli import reference
from errands.frontends.cli.help import explained, overview, verb_help
from errands.frontends.cli.parser import parse
from errands.frontends.cli.verbs import GROUPS, HIDDEN, NAMES, load
from errands.text import Look, width
from tests.frontends.cli.person import COMMAND, Person

VISIBLE = [name for _, names in GROUPS for name in names]


@pytest.mark.spec("X7")
@pytest.mark.parametrize("name", VISIBLE)
def test_every_option_of_a_verb_is_in_its_help_and_in_the_reference(name: str) -> None:
    verb = load(name)
    text = verb_help(verb, Look(columns=100))
    section = reference.reference().partition(f"### errands {name}\n")[2].partition("\n### ")[0]

    for option in verb.options:
        assert option.help
        for flag in option.flags:
            assert flag in text
            assert flag in section
    assert max(width(line) for line in text.splitlines()) <= 110


def test_what_is_said_about_an_option_is_in_one_pair_of_brackets() -> None:
    said = [explained(option) for name in NAMES for option in load(name).options]

    assert any(each.endswith(" (docs/how-to/events.md; repeatable)") for each in said)
    assert [each for each in said if ") (" in each] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_verb_is_found_by_its_name_and_no_option_hides_another(name: str) -> None:
    verb = load(name)
    flags = [flag for option in verb.options for flag in option.flags]

    assert verb.name == name
    assert len(flags) == len(set(flags))
    assert len({option.name for option in verb.options}) == len(verb.options)
    assert parse(verb, ["--help"]).help


def test_the_reference_is_up_to_date() -> None:
    written = Path(__file__).parents[3] / reference.PLACE

    assert written.read_text() == reference.reference(), "run 'make docs'"


def test_the_overview_lists_every_verb_once_and_no_hidden_one() -> None:
    text = overview(Look(columns=100))

    assert [text.count(f"\n  {name} ") for name in VISIBLE] == [1] * len(VISIBLE)
    assert not any(f"\n  {name} " in text for name in HIDDEN)


@pytest.mark.spec("X7")
def test_help_and_version_can_be_asked_for_in_every_usual_way(person: Person) -> None:
    overview_text = person.types("--help").out

    assert overview_text == person.types("help").out == person.types("-h").out
    assert person.types("run", "--help").out == person.types("help", "run").out
    assert person.types("daemon", "--help").out.count("\n  daemon ") == 4
    assert len(person.types("template", "--help").out.splitlines()) < 24, "it fits a small terminal"
    for words in (["--help"], ["run", "--help"], ["template"]):
        answer = person.types(*words, code=None)
        lines = (answer.out or answer.err).splitlines()
        assert max(map(len, lines)) <= 80, "a pager shows it in a terminal"
    assert person.types("--version").out == f"errands {__version__}\n"


@pytest.mark.spec("X7")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "Usage: errands VERB"),
        (["shwo"], "unknown verb 'shwo' (did you mean show?)"),
        (["me"], "unknown verb 'me'; see errands --help"),
        (["queue"], "unknown verb 'queue'; use errands ls: list tasks"),
        (["abort", "x"], "unknown verb 'abort'; use errands cancel: cancel tasks"),
        (["groups"], "unknown verb 'groups'; a lane is a group here: errands lane gpu 2 adds one"),
        (["lane", "shell", "-3"], "lane has no option -3"),
        (["ls", "--state", "wild"], "held, cancelling\n"),
        (["show", "a", "b"], "show does not take 'b'; it shows one task; errands ls lists several"),
        (["approve", "--all"], "approve does not take --all: read each question, and answer it"),
        (["notices", "--all"], "--all needs retry; errands ls --all lists everything that ended"),
        (["daemon"], "Usage: errands daemon VERB"),
        (["daemon", "restart"], "unknown verb 'daemon restart'; errands daemon stop ends it"),
        (
            ["daemon", "strat"],
            "daemon has no verb 'strat' (did you mean start?); choose one of: start, stop, status, run",
        ),
        (["config", "set", "runs.grace", "5s"], "unknown verb 'config set'; edit the file that"),
        (["--watch", "ls"], "unknown option --watch; options follow a verb"),
        (["events"], "unknown verb 'events'; use errands ls --watch"),
        (["web", "--port", "80"], "web does not take --port: give HOST:PORT"),
        (["run", "-d", "true"], "run does not take -d: every task is in the background; --at +10m"),
        (["edit", "x", "--cmd", "true"], "edit does not take --cmd: write it after --"),
        (["reject", "x", "--reason", "no"], "reject has no option --reason; use --note"),
        (["ls", "--failed"], "ls has no option --failed; use --state failed"),
        (["ask", "why", "does", "it", "fail"], "ask does not take 'does'; write PROMPT in quotes"),
        (["config", "show", "--jsno"], "config show has no option --jsno (did you mean --json?)"),
        (["completion", "tcsh"], "SHELL cannot be 'tcsh'; choose one of: bash, zsh, fish"),
    ],
)
def test_a_wrong_verb_is_a_usage_error_that_helps(person: Person, words: list[str], complaint: str) -> None:
    answer = person.types(*words, code=2)

    assert complaint in answer.err
    assert answer.out == ""


def test_help_has_colours_where_they_are_wanted(person: Person) -> None:
    assert "\x1b[" not in person.types("--help").out
    assert "\x1b[1mUsage:\x1b[0m" in person.types("--help", CLICOLOR_FORCE="1").out
    assert "\x1b[" not in person.types("--help", CLICOLOR_FORCE="1", NO_COLOR="1").out


def test_help_works_with_a_wrong_configuration(person: Person) -> None:
    assert person.types("--help", ERRANDS_RUNS_GRACE="x").out.startswith("Errands runs")
    assert person.types("run", "--help", ERRANDS_RUNS_GRACE="x").out.startswith("Usage: errands run")


def test_closed_streams_are_harmless(person: Person) -> None:
    task_id = person.finishes("printf hello")
    errands = f"'{COMMAND[0]}' -m errands"
    shell = f"{errands} logs {task_id} >&- 2>&- <&-; echo $?; {errands} ls 2>&- | wc -l"
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, text=True, env=person.environ, check=True
    )

    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "0"
    assert int(done.stdout.splitlines()[1]) >= 2


def candidates(person: Person, *words: str, shell: str = "zsh") -> list[str]:
    return [
        line.partition("\t")[0] for line in person.types("complete", shell, "--", *words).out.splitlines()
    ]


@pytest.mark.spec("X7")
def test_completion_knows_verbs_options_values_ids_and_names(person: Person) -> None:
    live = person.starts("--name", "alive", "--batch", "night", "--stdin", "read line")
    dead = person.finishes("--name", "ended", "true")
    person.types("template", "save", "cake", "true")

    assert candidates(person, "re") == ["resume", "restart", "reject", "release"]
    assert set(candidates(person, "d")) >= {"daemon", "doctor"}
    assert candidates(person, "daemon", "st") == ["start", "stop", "status"]
    assert candidates(person, "run", "--idle") == ["--idle-timeout"]
    assert candidates(person, "run", "--priority", "") == ["high", "normal", "low"]
    assert candidates(person, "ls", "--state=com") == ["--state=completed"]
    assert candidates(person, "ls", "--state", "=", "com", shell="bash") == ["completed"]
    assert candidates(person, "cancel", "") == [live]
    assert candidates(person, "cancel", live, "") == []
    assert candidates(person, "approve", "") == []
    assert candidates(person, "restart", "e") == [dead]
    assert candidates(person, "show", "e") == [dead]
    assert candidates(person, "ls", "--batch", "") == ["night"]
    assert candidates(person, "run", "--lane", "a") == ["agent"]
    assert candidates(person, "template", "run", "") == ["cake"]
    assert candidates(person, "run", "--cwd", "") == [":directories"]
    assert candidates(person, "run", "") == [":command"]
    assert candidates(person, "run", "--", "make", "") == [":files"]
    assert candidates(person, "config", "check", "") == [":files"]
    assert candidates(person, "completion", "") == ["bash", "zsh", "fish"]
    assert candidates(person, "nonsense", "") == []
    assert candidates(person, "show", "x", "") == []


def test_completion_of_a_store_that_cannot_be_read_is_empty_and_quiet(newcomer: Person) -> None:
    newcomer.home.mkdir(mode=0o700)
    (newcomer.home / "errands.db").write_bytes(b"no database at all" * 100)
    answer = newcomer.types("complete", "bash", "--", "show", "")

    assert (answer.out, answer.err) == ("", "")


@pytest.mark.spec("X7")
def test_bash_completes_a_command_line(person: Person, tmp_path: Path) -> None:
    task_id = person.finishes("--name", "completable", "true")
    program = tmp_path / "errands"
    program.write_text(f'#!/bin/sh\nexec {COMMAND[0]} -m errands "$@"\n')
    program.chmod(0o755)
    script = """
        source <(errands completion bash)
        words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _errands; echo "${COMPREPLY[*]}"; }
        words errands dem; words errands show comple; words errands ls --state = fail; words errands run --tim
    """
    path = f"{tmp_path}:{person.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        env={**person.environ, "PATH": path},
        check=True,
    )

    assert done.stdout.splitlines() == ["demo", task_id, "failed", "--timeout"]


@pytest.mark.parametrize(("shell", "check"), [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")])
def test_the_scripts_are_understood_by_their_shells(
    person: Person, tmp_path: Path, shell: str, check: str
) -> None:
    script = tmp_path / f"errands.{shell}"
    script.write_text(person.types("completion", shell).out)

    assert "errands complete" in script.read_text()
    if shutil.which(shell):
        subprocess.run([shell, check, str(script)], check=True)


@pytest.mark.parametrize("verb", ["ls", "show", "wait", "cancel", "run", "logs"])
def test_the_commands_people_wait_for_import_nothing_heavy(person: Person, verb: str) -> None:
    task_id = person.finishes("true")
    words = {"ls": [], "run": ["-q", "true"]}.get(verb, [task_id])
    script = (
        "import sys; from errands.__main__ import run; "
        f"run({[verb, *words]!r}); "
        "print(*(set(sys.modules) & set(sys.argv[1:])), file=sys.stderr)"
    )
    heavy = [
        "asyncio",
        "argparse",
        "dataclasses",
        "typing",
        "subprocess",
        "logging",
        "inspect",
        "tomllib",
        "pathlib",
        "tree_sitter",
    ]
    # What output needs to be looked at (masking), only those pay for that look.
    heavy += [] if verb in ("show", "logs", "run") else ["re", "enum", "json", "signal"]
    done = subprocess.run(
        [COMMAND[0], "-c", script, *heavy], capture_output=True, text=True, env=person.environ, check=True
    )

    assert done.stderr.splitlines()[-1] == ""
