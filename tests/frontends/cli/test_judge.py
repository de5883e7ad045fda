"""judge: the verdict on a command, for people and for programs, without starting anything."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.cli.person import COMMAND, Person
from tests.fuzz.lines import CORPUS, UNSEEN, read

pytestmark = [pytest.mark.spec("A1")]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A clean repository, which every line of the corpus assumes."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def answers(person: Person, *lines: Any, cwd: Path | None = None) -> list[dict[str, Any]]:
    given = "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines)
    return person.types("judge", "--jsonl", given=given, cwd=cwd).objects


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["git status --short"], 0, "auto: "),
        (["--", "git", "status"], 0, "auto: "),
        (["rm -rf build"], 4, "deletes build recursively; cannot be undone"),
        (["--", "rm", "-rf", "build"], 4, "; cannot be undone\n"),
        (["git add x"], 4, "ask: "),
        (["--env", "LD_PRELOAD=x.so", "git add x"], 4, "LD_PRELOAD"),
        (["--env", "TZ=UTC", "true"], 0, "auto: "),
        (["git add x"], 4, "\nit can be undone\n"),
        (["git commit -m x"], 4, "\nit is not known whether it can be undone\n"),
    ],
)
def test_the_verdict_has_reasons_and_an_exit_code(
    newcomer: Person, project: Path, words: list[str], code: int, said: str
) -> None:
    answer = newcomer.types("judge", *words, code=code, cwd=project)

    assert said in answer.out
    assert not newcomer.home.exists()


def test_trusted_work_is_not_said_to_start_in_a_sandbox(newcomer: Person, project: Path) -> None:
    line = "for f in *.py; do echo $f; done"
    assert "without approval, in a sandbox, because:\n" in newcomer.types("judge", line, cwd=project).out

    newcomer.configures('[approval]\nmode = "trusting"\n')

    said = newcomer.types("judge", line, cwd=project).out
    assert "without approval, and without a sandbox because approval.mode is trusting; it\n" in said
    assert "not analysed" in said
    assert "without a sandbox (approval.mode is trusting)" in newcomer.types("doctor", code=None).out

    newcomer.configures('[approval]\nmode = "careful"\n')
    assert "waits because approval.mode is careful" in newcomer.types("judge", "make test", code=4).out
    assert newcomer.types("judge", line, cwd=project, code=4).out.startswith("ask: it would wait")
    assert "own work waits for approval (approval.mode is careful)" in newcomer.types("doctor", code=None).out


def test_json_prints_the_same_as_an_object(newcomer: Person, project: Path) -> None:
    verdict = newcomer.types("judge", "--json", "./deploy.sh && rm x", code=4, cwd=project).object

    assert verdict["verdict"] == "ask"
    assert "deletes x; cannot be undone" in verdict["reasons"]
    assert verdict["undo"] == "no"
    assert verdict["scripts"] == [f"{project}/deploy.sh"]
    assert set(verdict["programs"]) == {"rm"}


@pytest.mark.spec("A2")
@pytest.mark.parametrize("corpus", [CORPUS, UNSEEN], ids=lambda place: str(place.stem))
def test_the_corpus_is_judged_as_expected(newcomer: Person, project: Path, corpus: Path) -> None:
    lines = read(corpus)
    found = answers(newcomer, *({"command": line.command} for line in lines), cwd=project)

    assert len(found) == len(lines)
    judged = list(zip(lines, [answer["verdict"] for answer in found], strict=True))
    assert [line.command for line, verdict in judged if verdict == "auto" and not line.is_harmless] == []
    # Test runs are contained, or asked about where no sandbox can be built.
    known = [line for line, verdict in judged if verdict == "auto" or line.family == "auto_tests"]
    assert sum(line.is_harmless for line in known) >= 0.95 * sum(line.is_harmless for line in lines)
    assert all(answer["reasons"] or answer["verdict"] == "auto" for answer in found)


def test_a_bad_line_gets_an_error_and_the_others_are_still_answered(newcomer: Person) -> None:
    found = answers(
        newcomer,
        "",
        "{",
        "[1]",
        {"command": 1},
        {"command": []},
        {"command": ["ls", 2]},
        {"command": "ls", "cwd": 5},
        {"command": "ls", "cwd": "\0"},
        "[" * 100_000,
        {"command": "ls"},
        {"command": ["ls", "-l"]},
        {"command": "ls \ud800"},
        {"command": ["./x\0.sh"]},
        {"command": " "},
    )

    assert [set(each) == {"error"} for each in found] == [True] * 9 + [False] * 5
    assert [each.get("verdict") for each in found[9:]] == ["auto", "auto", "ask", "ask", "ask"]


def test_the_directory_of_a_line_counts(newcomer: Person, project: Path) -> None:
    (project / "inner").mkdir()
    subprocess.run(["git", "-C", str(project), "config", "core.fsmonitor", "./evil"], check=True)
    here, there, below = answers(
        newcomer,
        {"command": "git status"},
        {"command": "git status", "cwd": str(project)},
        {"command": "git status", "cwd": f"{project}/inner"},
    )

    assert here["verdict"] == "auto"
    assert "auto" not in (there["verdict"], below["verdict"])


def test_each_line_is_answered_at_once(newcomer: Person) -> None:
    with subprocess.Popen(
        [*COMMAND, "judge", "--jsonl"],
        env=newcomer.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as program:
        assert program.stdin
        assert program.stdout
        for command, verdict in (("ls", "auto"), ("rm x", "ask"), ("ls -l", "auto")):
            program.stdin.write(json.dumps({"command": command}).encode() + b"\n")
            program.stdin.flush()
            assert json.loads(program.stdout.readline())["verdict"] == verdict
        program.stdin.close()
        assert program.wait(20) == 0


@pytest.mark.fault("F35")
def test_a_reason_cannot_control_the_terminal(newcomer: Person) -> None:
    said = newcomer.types("judge", "rm $'\\x1b' '\x1b]0;owned\x07\u202e\u200b'", code=4).out

    assert said.replace("\n", "").isprintable()
    assert "<U+001B>" in said


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "nothing to judge; give"),
        ([" "], "nothing to judge; give"),
        (["--jsonl", "ls"], "--jsonl reads commands from standard input; leave out the command"),
        (["--jsonl", "--json"], "leave out the command and other options"),
        (["--jsonl", "--cwd", "/"], "leave out the command and other options"),
        (["-l", "ls"], "judge has no option -l"),
    ],
)
def test_what_makes_no_sense_is_refused(newcomer: Person, words: list[str], complaint: str) -> None:
    assert complaint in newcomer.types("judge", *words, code=2).err
