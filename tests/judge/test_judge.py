"""The judge proves what it can and asks about the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from errands.judge.judge import judge
from errands.judge.programs import usage
from errands.judge.rules import read_rules
from errands.judge.workspace import FoundProgram
from tests.judge.fake_workspace import FakeWorkspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.action import Command

pytestmark = [pytest.mark.spec("A1", "A2", "A3")]

CLEAN = FakeWorkspace()


def verdict(*commands: Command, place: FakeWorkspace = CLEAN) -> str:
    return judge(commands, place).verdict


def texts(*commands: Command, place: FakeWorkspace = CLEAN) -> str:
    return "\n".join(reason.text for reason in judge(commands, place).reasons)


@pytest.mark.parametrize(
    "line",
    [
        "ls -la | grep py && echo done; pwd",
        "git status",
        "grep -r foo src 2>/dev/null || true",
        "wc -l < README.md",
        "cat README.md > /dev/null",
        "ls &>/dev/null",
        "! grep -q x README.md",
        "LC_ALL=C sort data.csv",
        "bash -c 'ls | wc -l'",
        "sh -c 'git log -3 && git status'",
        "find . -name '*.py' -exec grep -l foo {} +",
        "find . -name '*.py' -print0 | xargs -0 wc -l",
        "cd src && ls",
        "cd src && cd .. && ls",
        "cd tests; grep -n def test_app.py",
        "ls src/*.py ./*.md",
        "test -f README.md && echo yes",
        "command -v git",
        "cat 'ünï.md'",
        "grep -rn --include=*.py foo .",
        "find . -name '*.py' -mtime -1 -exec wc -l {} +",
        "ls | xargs -n1 echo",
    ],
)
def test_what_is_proved_harmless_runs_at_once(line: str) -> None:
    judgement = judge([line], CLEAN)

    assert judgement.reasons == ()
    assert judgement.verdict == "auto"


@pytest.mark.parametrize(
    "line",
    [
        "ls; rm -rf x", "ls && touch x", "ls | sh", "ls > x", "ls >> x", "ls 2> x", "ls &> x", "ls >& x",
        "> x", "cat < .env", "cat < ~/.ssh/id_rsa", "cat < /dev/tcp/a/1", "cat <& 3", "ls 3>&1", "ls >&-",
        "FOO=1 ls", "PATH=. ls", "LANG=../x ls", "FOO=1", "NO_COLOR=1", "env FOO=1 ls", "env", "env rm x",
        "timeout 5 rm x", "nohup nice timeout 5 rm x", "bash -c 'rm x'", "bash -c \"bash -c 'rm x'\"",
        "env env env env env env ls", "ls *", "ls *.py", "cat -* x", "cat */../.env", "cat src/*/../../x",
        "l? -l", "'l's", "\\ls", "~/bin/ls", "./ls", "find . -exec rm {} +",
        "find . -name '.env*' -exec cat {} +", "find . -name '*env' -exec cat {} +",
        "find . -type f -exec cat {} +", "find ~ -name config -exec cat {} +",
        "find / -name x -exec cat {} +", "ls | xargs rm", "ls | xargs cat",
        "find . -print0 | xargs -0 cat", "cd /tmp && make", "cd .. && ./ls", "cd && ls", "cd - && ls",
        "cd ~ && cat *", "cd -P src && ls", "cd a b", "cd src/*", "cd src && git status", "cd src; git log",
        "cd vendor/evil && git status", "cd src | ls", "sudo ls", "eval ls", "exec ls", "command rm x",
        "xargs", "trap ls EXIT", "source x", ". x", "alias ls=rm", "export PATH=/x; ls", "ls\x00",
        "ls\r\nrm x", "ls \u202e", "ls\u00a0-l", "echo \u200bx", "echo '\u2066'", "ls"+" "*100+"; pwd",
        "echo "+"a"*10_000, "ls"+"\n"*30+"pwd",
    ],
)  # fmt: skip
def test_what_is_not_proved_is_not_harmless(line: str) -> None:
    assert verdict(line) != "auto"


def test_xargs_reads_only_what_find_printed() -> None:
    assert verdict("find . -name '*.py' -print0 2>/dev/null | xargs -0 wc -l") == "auto"
    assert verdict("find . -name '*.py' -print0 | xargs -0 wc -l < names") != "auto"
    assert verdict("find . -name '*.py' -print0 2>&1 | xargs -0 wc -l") != "auto"


@pytest.mark.parametrize(
    "line", ["zsh -c 'cat ^a'", "zsh -c 'cat a~b'", "zsh -c '<README.md'", "< README.md"]
)
def test_what_some_shells_make_more_of_is_asked(line: str) -> None:
    assert verdict(line) != "auto"


@pytest.mark.parametrize("half", [0xD800, 0xDB83, 0xDC80, 0xDF00])
def test_half_a_character_is_asked_about(half: int) -> None:
    assert verdict(f"ls {chr(half)}") == "ask"
    assert verdict(f"ls '{chr(half)}'") == "ask"
    assert verdict(("ls", chr(half))) == "ask"


def test_a_directory_that_may_or_may_not_have_been_entered_counts_both_ways() -> None:
    place = replace(CLEAN, links={"/project/src/x": "/home/person/.ssh/id_rsa"})

    assert verdict("cd src; cat x", place=place) == "ask"
    assert verdict("cd src && cat x", place=place) == "ask"
    assert verdict("cat x", place=place) == "auto"
    assert verdict("true || cd src && cat x", place=place) == "ask"


def test_nothing_but_reading_is_done_behind_a_link_out_of_the_project() -> None:
    place = replace(CLEAN, links={"/project/out": "/etc"})

    assert "leaves the project" in texts("cd out && make", place=place)
    assert texts("cd out && ls", place=place) == ""


def test_words_are_judged_without_a_shell() -> None:
    assert verdict(("echo", "$(rm -rf x)", "*", "; rm x")) == "auto"
    assert verdict(("rm", "-rf", "x")) == "ask"
    assert verdict(("bash", "-c", "rm x")) == "ask"
    assert verdict(("bash", "-c", "ls | wc")) == "auto"
    assert verdict(("timeout", "5", "pytest")) == "contained"
    assert verdict(("ls", "\u202e")) == "ask"
    assert verdict(()) == "ask"
    assert verdict() == "ask"


def test_every_step_of_a_sequence_and_every_hook_is_judged() -> None:
    assert verdict("ls", "rm x") == "ask"
    assert judge(["ls"], CLEAN, hooks=["rm x"]).verdict == "ask"
    assert judge(["ls"], CLEAN, hooks=["pwd"]).verdict == "auto"


def test_what_is_added_to_the_environment_is_judged() -> None:
    assert judge(["ls"], CLEAN, env={"NO_COLOR": "1"}).verdict == "auto"
    assert judge(["ls"], CLEAN, env={"LD_PRELOAD": "/tmp/x.so"}).verdict != "auto"
    (reason,) = judge(["ls"], CLEAN, env={"API_TOKEN": "hidden"}).reasons
    assert "API_TOKEN" in reason.text
    assert "hidden" not in reason.text


def test_a_poisoned_repository_is_asked_about() -> None:
    place = replace(CLEAN, dangers={"/project": ("core.fsmonitor runs a program",)})

    assert verdict("git status", place=place) != "auto"
    assert verdict("nice git status", place=place) != "auto"
    assert verdict("ls", place=place) == "auto"


def test_addresses_with_a_password_are_shown_behind_walls() -> None:
    place = replace(CLEAN, with_passwords=frozenset(("/project",)))

    for line in (
        "git remote -v",
        "git remote get-url origin",
        "git config --get remote.origin.url",
        "git config branch.main.remote",
    ):
        assert (verdict(line), verdict(line, place=place)) == ("auto", "contained")
    assert verdict("git remote", place=place) == "auto"
    assert verdict("git config user.name", place=place) == "auto"


def test_a_program_that_is_not_trusted_is_asked_about() -> None:
    place = replace(
        CLEAN, programs={"git": FoundProgram(path="/project/bin/git", doubt="it is inside the project")}
    )

    assert "cannot be trusted" in texts("git status", place=place)
    assert verdict(("git", "status"), place=place) != "auto"


def test_tests_may_run_with_the_projects_own_interpreter() -> None:
    own = FoundProgram(path="/project/.venv/bin/x", doubt="it is inside the project", own=True)
    place = replace(CLEAN, programs={"pytest": own, "python": own, "python3.12": own, "ls": own})

    assert verdict("pytest -q", place=place) == "contained"
    assert verdict("python -m pytest", place=place) == "contained"
    assert verdict("python3.12 -m pytest", place=place) == "contained"
    assert verdict("python3.12 -m pytest") == "contained"
    for line in ("ls", "python --version", "python3.12 -V"):  # a run in a sandbox may have written it
        assert verdict(line, place=place) == "contained"


def test_what_a_shell_does_itself_needs_no_program() -> None:
    evil = FoundProgram(path="/project/bin/echo", doubt="it is inside the project")
    place = replace(CLEAN, programs={"echo": evil})

    assert verdict("echo x", place=place) == "auto"
    assert verdict(("echo", "x"), place=place) != "auto"
    assert verdict("nice echo x", place=place) != "auto"


@pytest.mark.parametrize("shell", ["/usr/bin/fish", "/bin/ksh", ""])
def test_a_line_for_an_unknown_shell_is_asked_about(shell: str) -> None:
    assert verdict("ls", place=replace(CLEAN, shell=shell)) == "ask"
    assert verdict(("ls",), place=replace(CLEAN, shell=shell)) == "auto"


def test_tests_and_git_outside_of_the_project_are_asked_about() -> None:
    place = replace(CLEAN, cwd="/elsewhere")

    assert verdict("pytest", place=place) == "ask"
    assert verdict("python -m pytest", place=place) == "ask"
    assert verdict("git status", place=place) == "ask"


@pytest.mark.spec("A12")
@pytest.mark.parametrize(
    "line",
    [
        "rm -rf x",
        "sudo rm -rf x",
        "env -i rm -rf x",
        "for f in a; do rm -rf $f; done",
        "echo $(rm -rf x)",
        "bash -c 'rm -rf x' y",
        "eval 'rm -rf x'",
        "ls & rm -rf x",
        "'rm' -rf x",
        "git reset --hard",
        "git push --force",
        "cd a; cd b; cd c; cd d; rm -rf x",
        "env env env env env env env env rm -rf x",
        "sudo " * 30 + "rm -rf x",
    ],
)
def test_harm_that_lasts_is_named_wherever_it_is_found(line: str) -> None:
    assert judge([line], CLEAN).lasting


@pytest.mark.spec("A12")
@pytest.mark.parametrize(
    "line", ["mkdir x", "touch x", "echo $x", "make", "ls > x", "npm install", "git commit -m x"]
)
def test_what_can_be_undone_is_not_called_lasting(line: str) -> None:
    judgement = judge([line], CLEAN)

    assert judgement.verdict != "auto"
    assert judgement.lasting == ()


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "word", ["sudo ", "env ", "eval ", "xargs ", "bash -c ", "find . -exec ", "timeout 5 ", "nice "]
)
def test_no_pile_of_wrappers_takes_long(word: str) -> None:
    assert verdict(word * (9_000 // len(word)) + "rm x") == "ask"


@pytest.mark.spec("A10")
@pytest.mark.parametrize("line", ["sh < x", "timeout 5 bash <x", "python3 < ./x", "true; sh < x"])
def test_what_a_shell_or_interpreter_reads_is_its_script(line: str) -> None:
    assert judge([line], CLEAN).scripts == ("/project/x",)
    assert judge(["grep sh < x"], CLEAN).scripts == ()


@pytest.mark.spec("A10")
def test_scripts_and_programs_are_reported() -> None:
    judgement = judge(["bash build.sh && ./x.sh", "nice make", "sudo python y.py"], CLEAN)

    assert {"/project/build.sh", "/project/x.sh", "/project/Makefile", "/project/y.py"} <= set(
        judgement.scripts
    )
    assert dict(judge(["ls | wc"], CLEAN).programs) == {"ls": "/usr/bin/ls", "wc": "/usr/bin/wc"}


def test_reasons_are_said_once() -> None:
    reasons = judge(["touch x; touch x", "touch x"], CLEAN).reasons

    assert len(reasons) == len(set(reasons))


# Rules


def ruled(
    line: Command, *, allow: str = "", ask: str = "", deny: str = "", place: FakeWorkspace = CLEAN
) -> str:
    rules = read_rules(allow=[allow] if allow else [], ask=[ask] if ask else [], deny=[deny] if deny else [])
    return judge([line], place, rules=rules).verdict


@pytest.mark.spec("A9")
def test_a_rule_allows_a_command_anywhere_in_a_line() -> None:
    assert ruled("make test", allow="make *") == "auto"
    assert ruled("timeout 60 make test | tail -5", allow="make *") == "auto"
    assert ruled(("make", "test"), allow="make *") == "auto"


@pytest.mark.spec("A9")
@pytest.mark.parametrize(
    "line",
    [
        "make test; rm x",
        "make > x",
        "FOO=1 make",
        "make $x",
        "make $(rm x)",
        "./make",
        "sudo make",
        "make src/*",
    ],
)
def test_a_rule_allows_nothing_else(line: str) -> None:
    assert ruled(line, allow="make *") != "auto"


@pytest.mark.spec("A9")
def test_deny_wins_over_ask_and_ask_over_allow() -> None:
    assert ruled("make x", allow="make *", ask="make *") == "ask"
    assert ruled("make x", allow="make *", ask="make *", deny="make *") == "deny"
    assert ruled("ls", ask="ls *") == "ask"
    assert ruled("ls", deny="ls *") == "deny"


@pytest.mark.spec("A9")
@pytest.mark.parametrize(
    "line",
    [
        "git push", "ls; git push", "nice git push", "env -i git push", "bash -c 'git push'",
        "sudo git push", "/usr/bin/git push", "(git push)", "echo $(git push)", "if ls; then git push; fi",
        "git push &", "'git' push", "git \"push\" $x", "eval 'git push'", "xargs git push",
        "find . -exec git push ';'",
    ],
)  # fmt: skip
def test_a_forbidden_command_is_found_anywhere_in_a_line(line: str) -> None:
    assert ruled(line, deny="git push *") == "deny"


@pytest.mark.spec("A9")
def test_what_cannot_be_followed_stays_a_question() -> None:
    assert ruled("$x push", deny="git push *") == "ask"


def test_a_rule_does_not_make_a_poisoned_repository_harmless() -> None:
    place = replace(CLEAN, dangers={"/project": ("core.sshCommand runs a program",)})

    assert ruled("git push", allow="git push *", place=place) != "auto"
    assert ruled("git push", allow="git push *") == "auto"


def test_a_file_that_a_line_names_again_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []

    def ordinary(word: str, workspace: object) -> bool:
        looked_at.append(word)
        return True

    monkeypatch.setattr(usage, "is_ordinary", ordinary)

    assert judge(("cat notes.md; head notes.md; cd src && cat notes.md",), replace(CLEAN)).verdict == "auto"
    assert looked_at == ["notes.md", "notes.md"]  # it is another file in `src`
