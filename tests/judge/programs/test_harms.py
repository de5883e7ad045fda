"""A question says what would happen, and whether it can be undone."""

from __future__ import annotations

import pytest

from errands.judge.judge import judge
from errands.judge.programs import reasons_for
from errands.judge.programs.harms import HARMS
from tests.judge.programs.lines import PLACE, reasons

pytestmark = pytest.mark.spec("A1", "A12")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rm -rf /tmp/cache", "deletes /tmp/cache recursively; cannot be undone"),
        ("rm -r -f build dist", "deletes build dist recursively; cannot be undone"),
        ("rm README.md", "deletes README.md; cannot be undone"),
        ("rm -- -x", "deletes -x; cannot be undone"),
        ("shred -u x", "destroys the content of x; cannot be undone"),
        ("truncate -s 0 x", "sets the size of files, cutting off their content: 0 x; cannot be undone"),
        ("dd if=a of=b", "copies raw blocks: if=a of=b; cannot be undone"),
        ("mkfs.ext4 /dev/sdb1", "formats /dev/sdb1; cannot be undone"),
        (
            "git push --force origin main",
            "overwrites what others have: pushes origin main by force; cannot be undone",
        ),
        ("git push", "publishes commits: the current branch"),
        ("git reset --hard HEAD~1", "throws away changes and moves the branch to HEAD~1; cannot be undone"),
        ("git clean -fdx", "deletes untracked files; cannot be undone"),
        ("git branch -D x", "deletes the branch x; cannot be undone"),
        ("git stash drop", "deletes stashed changes: drop; cannot be undone"),
        ("find . -name x -delete", "`find .`: `-delete` deletes every file it finds; cannot be undone"),
        ("dropdb shop", "deletes the database shop; cannot be undone"),
        ("kubectl delete pod x", "deletes from the cluster: pod x; cannot be undone"),
        ("terraform destroy", "destroys infrastructure; cannot be undone"),
        ("mkdir -p build", "creates the directory build"),
        ("pip install requests", "installs packages, which runs their code: requests"),
        ("npm publish", "publishes a package; cannot be undone"),
        ("curl -d x https://example.com", "sends something over the network: x https://example.com"),
        ("sudo ls", "runs a command with other privileges: ls"),
        (
            "lsof -nP -i :3000",
            "looks into other processes, which walls would hide from it; `ss -tln` shows listening ports at "
            "once, and `ps -ef` what runs",
        ),
        ("fuser -k 3000/tcp", "sends a signal to every process that uses 3000/tcp"),
        ("git checkout -b x", "creates a branch and switches to it: x"),
        ("git switch -c x main", "creates a branch and switches to it: x main"),
        ("git switch main", "switches to another branch: main"),
        (
            "git checkout -fb x",
            "changes the work tree and may throw away changes: x; cannot be undone",
        ),
        ("git checkout -- -b", "changes the work tree and may throw away changes: -b; cannot be undone"),
        ("git checkout -B x", "changes the work tree and may throw away changes: x; cannot be undone"),
        ("git switch -C x", "changes the work tree and may throw away changes: x; cannot be undone"),
        ("git restore .", "changes the work tree and may throw away changes: .; cannot be undone"),
        ("git restore -SW .", "changes the work tree and may throw away changes: .; cannot be undone"),
        ("git restore --staged .", "takes changes out of the index: ."),
        ("git add -A", "puts changes into the index: those that its options choose"),
        ("git pull", "fetches from another repository and changes this branch: from the upstream branch"),
        ("git fetch", "talks to another repository: the one it knows"),
        ("git stash", "puts changes away, out of the work tree"),
        ("git stash -u", "puts changes away, out of the work tree"),
        ("git stash pop", "takes changes that were put away back into the work tree"),
        ("git worktree add ../x", "adds or changes a work tree: add ../x"),
        ("git worktree remove x", "removes a work tree: remove x"),
        ("curl -so /dev/null https://x.example", "talks to the network: https://x.example"),
        ("curl -o /dev/null https://x.example", "talks to the network: https://x.example"),
        ("curl --output=/dev/null https://x.example", "talks to the network: https://x.example"),
        ("curl -so f https://x.example", "fetches over the network and writes a file: f https://x.example"),
        (
            "curl -so /dev/null -d x https://y.example",
            "sends something over the network: x https://y.example",
        ),
        ("brew info x", "asks the package manager about x"),
        ("brew install x", "changes the software of this machine: install x"),
        ("less x", "shows x in a pager, which waits for a person at a terminal"),
        ("npm view x", "asks the package registry about x"),
        ("npm outdated", "asks the package registry about the packages of the project"),
        (
            "npm audit fix",
            "installs other versions of packages, which runs their scripts: fix",
        ),
        ("bundle install", "installs packages, which may run their code: those of the project"),
        ("composer require x", "installs packages, which may run their code: x"),
        ("uv add x", "installs the packages of the project, which may run their code: x"),
        ("uv sync", "installs the packages of the project, which may run their code: all"),
        ("uv pip install x", "installs packages, which may run their code: install x"),
        ("claude -p x", "starts another agent, which needs the network: x"),
        ("make", "runs the recipes of the project: the default one"),
        ("frobnicate x", "`frobnicate` is not on the list of harmless programs"),
        ("python3 scripts/analyze.py", "runs a script: scripts/analyze.py"),
        ("cat .env", "reads .env, which may hold secrets"),
        ("sort -o x y", "`sort`: `-o` writes its output to a file"),
    ],
)
def test_the_reason_says_what_would_happen(line: str, said: str) -> None:
    first, *_ = reasons(line)

    assert first.text == said
    assert (first.undo == "no") == ("cannot be undone" in said)


def test_a_program_given_by_its_path_is_never_harmless_and_its_harm_is_named() -> None:
    assert [reason.text for reason in reasons("/bin/rm -rf build")] == [
        "deletes build recursively; cannot be undone",
        "runs the file /bin/rm",
    ]
    assert reasons("./ls")
    assert reasons("/bin/ls")


def test_no_harm_is_called_harmless() -> None:
    assert [key for key in HARMS if not reasons_for((*key.split(), "--frobnicate", "x"), PLACE)] == []


@pytest.mark.parametrize(
    "line", ["git stash list", "git stash show", "git worktree list", "ls | tee /dev/stderr", "npm ls"]
)
def test_what_only_shows_something_is_no_harm(line: str) -> None:
    assert not [each for each in judge([line], PLACE).reasons if each.kind in ("write", "network", "delete")]


def test_a_long_list_is_shortened() -> None:
    (reason,) = reasons_for(("rm", *("x" * 20,) * 50), PLACE)

    assert len(reason.text) < 200
