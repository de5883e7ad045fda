"""A wrapper is followed to exactly what it runs, or not at all."""

from __future__ import annotations

import pytest

from errands.judge.judge import judge
from errands.judge.shell.followed import Followed
from errands.judge.shell.grammar import LONGEST, Step, parse
from errands.judge.shell.wrappers import follow
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = [pytest.mark.spec("A3")]


def followed(line: str, source: str = "") -> Followed:
    piped: Step | None = parse(source).steps[0] if source else None
    found = follow(parse(line).steps[0].words, piped)
    assert found is not None
    return found


def inner(line: str) -> list[str]:
    found = followed(line)
    assert found.doubt == ""
    return [" ".join(word.text for word in step.words) for step in found.steps]


@pytest.mark.parametrize(
    "prefix",
    [
        "nohup",
        "time",
        "time -p",
        "nice",
        "nice -n 10",
        "nice -10",
        "nice -n10",
        "nice --adjustment=5",
        "ionice -c3",
        "ionice -c 2 -n 7",
        "stdbuf -oL -eL",
        "stdbuf --output=0",
        "timeout 5",
        "timeout 10m",
        "timeout 1.5h",
        "timeout -s KILL 5",
        "timeout --signal=KILL --kill-after=3 5",
        "timeout -k 3 --preserve-status 5",
        "env",
        "env LANG=C",
        "command",
    ],
)
def test_a_prefix_is_taken_off(prefix: str) -> None:
    assert inner(f"{prefix} ls -l") == ["ls -l"]


@pytest.mark.parametrize(
    "line",
    [
        "env -i ls", "env -S 'ls -l'", "env", "env A=1", "env -u PATH ls", "env -C / ls", "nice",
        "nice --adj=5 ls", "timeout ls", "timeout 5", "timeout --sig=KILL 5 ls", "timeout -5 ls",
        "time -o x ls", "time -f x ls", "stdbuf -o x ls", "ionice -p 1", "command -p ls", "nohup -- ls",
        "nohup", "xargs ls", "xargs -a x ls", "xargs -I{} ls {}", "sudo ls", "setsid ls", "exec ls",
        "eval ls", "watch ls", "flock x ls", "builtin ls", "busybox ls", "ssh host ls", "bash", "bash -i",
        "bash x.sh", "bash -lc ls", "bash -c ls x", "bash -c", "bash -x -c ls", "bash --rcfile x -c ls",
        "bash -s", "sh -", "bash -O extglob -c ls", "fish -c ls",
    ],
)  # fmt: skip
def test_what_is_not_on_the_list_leaves_a_doubt(line: str) -> None:
    assert followed(line).doubt


@pytest.mark.parametrize(
    "line", ["sh -c 'ls | wc'", "bash -ec 'ls | wc'", "dash -e -c 'ls | wc'", "zsh -c 'ls | wc'"]
)
def test_a_shell_is_followed_to_its_line(line: str) -> None:
    assert followed(line) == Followed(lines=("ls | wc",))


def test_what_env_sets_is_kept() -> None:
    (step,) = followed("env A=1 B=2 ls").steps

    assert [(name, value.text) for name, value in step.assignments] == [("A", "1"), ("B", "2")]


def test_what_might_run_is_found_behind_a_doubt() -> None:
    found = followed("sudo -u root rm -rf /")

    assert "rm -rf /" in [" ".join(word.text for word in step.words) for step in found.steps]


@pytest.mark.parametrize("end", ["{} +", "{} ';'"])
def test_find_is_cut_into_itself_and_what_it_runs(end: str) -> None:
    found = followed(f"find src -name '*.py' -exec head -1 {end}")

    assert found.doubt == ""
    assert [word.text for word in found.itself] == ["find", "src", "-name", "*.py"]
    run = [" ".join(word.text for word in step.words) for step in found.steps]
    assert "head -1 src/*.py" in run


def test_find_without_a_name_may_find_everything() -> None:
    run = [step.words[-1].text for step in followed("find . -type f -exec cat {} +").steps]

    assert {"./*", "./.env"} <= set(run)


@pytest.mark.parametrize(
    "test", ["-name '*env'", "-iname '*ENV'", "-name '[.]env'", "-name '?env'", "-name '\\.env'"]
)
def test_the_wildcards_of_find_match_hidden_files(test: str) -> None:
    assert "./.env" in [step.words[-1].text for step in followed(f"find . {test} -exec cat {{}} +").steps]


def test_a_name_behind_what_is_run_limits_nothing() -> None:
    steps = followed("find . -exec cat {} ';' -name '*.py'").steps

    assert "./.env" in [step.words[-1].text for step in steps]


@pytest.mark.parametrize(
    "line",
    [
        "find . -exec rm {} +",
        "find . -exec sh -c 'cat {}' ';'",
        "find . -exec cat x{}y ';'",
        "find . -ok cat {} ';'",
        "find . -exec cat {}",
        "find . -exec git log {} +",
        "find . -exec python3 {} +",
        "find . -name -exec cat {} +",
        "find . -exec env cat {} +",
        "find . -exec ';'",
        "find . -execdir cat {} +",
    ],
)
def test_what_find_runs_is_one_of_a_few_that_read(line: str) -> None:
    assert followed(line).doubt


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("-name '*.py'", "*.py"),
        ("-type f -name '*.py' -not -path './.venv/*'", "*.py"),
        ("! -path '*/.git/*' -name '*.yml'", "*.yml"),
        ("-name node_modules -prune -o -type f -name '*.js'", "*.js"),
        ("'(' -name node_modules -o -name dist ')' -prune -o -name '*.ts'", "*.ts"),
        ("-type f '(' -name '*.ts' -o -name '*.tsx' ')'", "*.ts *.tsx"),
        ("-name '*.js' -not '(' -path ./a -o -path ./b ')'", "*.js"),
        # These let other names through.
        ("! -name '*.py'", "*"),
        ("-name '*.py' -o -true", "*"),
        ("-name '*.py' , -true", "*"),
        ("-name '*.py' -o -not -name x", "*"),
        ("'(' -name '*.ts' -o -true ')'", "*"),
        ("'(' -name '*.ts' -o ! -name x ')'", "*"),
        ("'(' -name a '(' -name b ')' ')'", "*"),
        ("! '(' -name '*.ts' ')'", "*"),
        ("'(' -name '*.ts'", "*"),
        ("-path -name", "*"),
        ("-exec grep -e -name '*.js' {} ';'", "*"),
        ("-newermt -name -true", "*"),
    ],
)
def test_the_names_that_find_passes_on_are_known(expression: str, names: str) -> None:
    found = followed(f"find . {expression} -exec head {{}} +")

    assert {word.text for step in found.steps for word in step.words} >= {
        f"./{name}" for name in names.split()
    }
    assert any(word.text == "./*" for step in found.steps for word in step.words) == (names == "*")


def test_exact_names_from_find_are_followed_through_xargs() -> None:
    found = followed("xargs -0 wc -l", "find . -name '*.py' -print0")

    assert found.doubt == ""
    assert "wc -l ./*.py" in [" ".join(word.text for word in step.words) for step in found.steps]


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("xargs wc -l", "find . -name '*.py'"),
        ("xargs -0 wc -l", "cat names"),
        ("xargs -0 wc -l", "find . -print -print0"),
        ("xargs -0 wc -l", "find . -printf x -print0"),
        ("xargs -0 rm", "find . -print0"),
        ("xargs -0 sh -c ls", "find . -print0"),
        ("xargs -0 -I{} wc {}", "find . -print0"),
    ],
)
def test_other_names_may_be_anything(line: str, source: str) -> None:
    assert followed(line, source).doubt


@pytest.mark.parametrize("line", ["ls -l", "git status", "pytest", "echo sudo"])
def test_other_programs_are_not_wrappers(line: str) -> None:
    assert follow(parse(line).steps[0].words) is None


@pytest.mark.spec("A2")
@pytest.mark.parametrize(
    "wrapper",
    ["timeout 5", "nohup", "env A=1", "uv run", "bundle exec", "conda run", "xargs", "find . -exec"],
)
@pytest.mark.parametrize("end", ["", "; curl x", " &"])
def test_programs_that_start_each_other_without_end_are_not_followed(wrapper: str, end: str) -> None:
    line = f"{wrapper} " * (LONGEST // (len(wrapper) + 2)) + end
    found = judge((line,), FakeWorkspace())
    assert found.verdict == "ask"
    if not end:  # what is followed all the same would take minutes
        assert [each.text for each in found.reasons] == ["nests commands too deeply to be analysed"]
