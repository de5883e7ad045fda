"""Rules see the plain words of one command; none of them can allow everything."""

from __future__ import annotations

import shlex

import pytest

from errands.judge.rules import read_rules
from errands.judge.shell.grammar import Word
from errands.model.errors import BadValue

pytestmark = [pytest.mark.spec("A9")]


def command(line: str) -> tuple[Word, ...]:
    return tuple(Word(text=text) for text in shlex.split(line))


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("make *", "make"),
        ("make *", "make all -j4"),
        ("npm test", "npm test"),
        ("git push *", "git push --force origin"),
        ("npm run build:*", "npm run build:all"),
        ("ruff ?heck *", "ruff check ."),
    ],
)
def test_a_pattern_matches_the_words_of_a_command(pattern: str, line: str) -> None:
    assert read_rules(allow=[pattern]).allowing(command(line))
    assert read_rules(deny=[pattern]).denying(command(line))


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("npm test", "npm test --x"),
        ("npm test", "npm"),
        ("make *", "cmake all"),
        ("git push *", "git -c x=y push"),
        ("make", "make all"),
        ("npm run build:*", "npm run build"),
    ],
)
def test_a_pattern_does_not_match_anything_else(pattern: str, line: str) -> None:
    assert not read_rules(allow=[pattern]).allowing(command(line))


def test_a_path_counts_as_its_program_when_forbidding_and_never_when_allowing() -> None:
    assert read_rules(deny=["make *"]).denying(command("/usr/bin/make all"))
    assert not read_rules(allow=["make *"]).allowing(command("./make all"))


def test_a_word_that_is_not_literal_may_be_what_is_forbidden_and_is_never_allowed() -> None:
    words = (Word(text="git"), Word(text="$x", literal=False), Word(text="origin"))

    assert read_rules(deny=["git push *"]).denying(words)
    assert not read_rules(allow=["git push *"]).allowing(words)


@pytest.mark.parametrize(
    "line", ["git -C x push", "git --no-pager -c a=b push --force", "git --git-dir=x push"]
)
def test_options_in_front_of_a_subcommand_hide_nothing_that_is_forbidden(line: str) -> None:
    assert read_rules(deny=["git push *"]).denying(command(line))
    assert not read_rules(allow=["git push *"]).allowing(command(line))


def test_a_pattern_of_the_shell_is_never_allowed() -> None:
    assert not read_rules(allow=["make *"]).allowing((Word(text="make"), Word(text="a*", pattern=True)))


@pytest.mark.parametrize(
    "pattern",
    [
        "bash *", "sh -c *", "python x.py", "python3.12 *", "env *", "xargs *", "find *", "sudo *",
        "timeout *", "node *", "*", "ma* x", "git *", "git", "git -c *", "npm", "uv run *",
        "uv run python *", "npm exec *", "npx *", "docker run *", "/usr/bin/env x", "eval *", "awk *",
    ],
)  # fmt: skip
def test_a_rule_that_would_allow_anything_is_refused(pattern: str) -> None:
    with pytest.raises(BadValue, match="allow rule"):
        read_rules(allow=[pattern])


@pytest.mark.spec("A6", "A9")
@pytest.mark.parametrize(
    ("pattern", "line", "word"),
    [
        ("git fetch *", "git fetch --upload-pack=./evil .", "--upload-pack=./evil"),
        ("git fetch *", "git fetch --upload-p ./evil origin", "--upload-p"),
        ("git fetch *", "git fetch ext::evil", "ext::evil"),
        ("git push *", "git push --receive-pack=./evil origin", "--receive-pack=./evil"),
        ("git push *", "git push ./evil.git main", "./evil.git"),
        ("git clone *", "git clone -c core.fsmonitor=evil x", "-c"),
        ("git grep *", "git grep -O./evil x", "-O./evil"),
        ("tar *", "tar xf a.tar --to-command=./evil", "--to-command=./evil"),
        ("tar xf *", "tar xf a.tar -I ./evil", "-I"),
        ("rsync *", "rsync -e ./evil a b:", "-e"),
        ("rg *", "rg --pre ./evil x", "--pre"),
        ("sort *", "sort --compress-prog=./evil big", "--compress-prog=./evil"),
        ("kubectl get *", "kubectl get pods --kubeconfig=evil", "--kubeconfig=evil"),
        ("gh *", "gh extension exec evil", "extension"),
        ("poetry *", "poetry run evil", "run"),
        ("sqlite3 *", "sqlite3 x.db '.shell id'", ".shell id"),
        ("sed *", "sed '1e id' x", "1e id"),
        ("sed -i *", "sed -i -e s/a/b/ -e s/a/id/e x", "s/a/id/e"),
        ("sed *", "sed -nf evil x", "-nf"),
    ],
)  # fmt: skip
def test_a_wildcard_does_not_cover_what_runs_another_program(pattern: str, line: str, word: str) -> None:
    rules = read_rules(allow=[pattern])

    assert rules.allowing(command(line)) is None
    assert rules.exceeding(command(line)) == (
        f"the rule {pattern!r} does not cover {word!r}, which can run another program"
    )


@pytest.mark.spec("A9")
@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("git fetch *", "git fetch --all --prune"),
        ("git push *", "git push -u origin feature/x"),
        ("git push *", "git push git@example.com:a/b.git main"),
        ("git fetch --upload-pack *", "git fetch --upload-pack ./mine origin"),
        ("git push ./mirror.git *", "git push ./mirror.git main"),
        ("git log *", "git log --exclude=x --oneline"),
        ("tar *", "tar xzf a.tar.gz -C out"),
        ("rsync *", "rsync -av a b"),
        ("kubectl get *", "kubectl get pods -A"),
        ("gh run *", "gh run list --limit 5"),
        ("poetry *", "poetry lock"),
        ("sed *", "sed -i.save s/old/else/g src/main.py"),
        ("curl *", "curl -s -o /dev/null https://example.com"),
    ],
)
def test_a_wildcard_covers_everything_else(pattern: str, line: str) -> None:
    rules = read_rules(allow=[pattern])

    assert rules.allowing(command(line))
    assert rules.exceeding(command(line)) == ""


@pytest.mark.parametrize("pattern", ["ipython *", "ld.so *", "/lib64/ld-linux-x86-64.so.2 *", "vim *",
                                     "errands *", "errands run *", "gosu *", "crontab *"])  # fmt: skip
def test_a_rule_for_a_program_that_runs_any_other_is_refused(pattern: str) -> None:
    with pytest.raises(BadValue, match="allow rule"):
        read_rules(allow=[pattern])
    assert read_rules(allow=["ipython setup.py"]).allow


@pytest.mark.parametrize("pattern", ["", "  ", "make; ls", "echo 'x'", "a | b", "make $x"])
def test_a_rule_that_is_not_plain_words_is_refused(pattern: str) -> None:
    with pytest.raises(BadValue):
        read_rules(deny=[pattern])


def test_anything_can_be_forbidden() -> None:
    assert read_rules(deny=["*"]).denying(command("ls"))
    assert read_rules(deny=["python *"]).denying(command("python x.py"))
