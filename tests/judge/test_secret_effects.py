"""Lines that show a secret of the project by a detour: each first shows it, then is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.judge.evidence import links
from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace
from tests.judge.test_effects import MARK, run, verdict

pytestmark = [pytest.mark.spec("A2")]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make a project with secrets, some of them behind links."""
    here, home = tmp_path / "project", tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (here / "src").mkdir(parents=True)
    (here / "empty").mkdir()
    (here / "linked").mkdir()
    (home / ".ssh/config").write_text(f"{MARK}\n")
    for name in (".env", ".dev.vars", "database.yml", "appsettings.json", ".mcp.json"):
        (here / name).write_text(f"KEY={MARK}\nQ: 1\n")
    (here / "src/main.py").write_text("print('hello')\n")
    (here / "old").mkdir()
    (here / "old/.env").write_text("other\n")
    (here / "linked/notes.txt").symlink_to(home / ".ssh/config")
    (here / "linked/more").symlink_to(home / ".ssh")
    run("git init -q && printf '.env\\n' >.gitignore && git add src .gitignore", here)
    return here


LINES = [
    "cat .[e]nv",
    "cat .en[!x]",
    "cat .[[:alpha:]]nv",
    "cat .[^x]nv",
    "cat .[]e]nv",
    "cat [d]atabase.yml",
    "cat ?atabase.yml",
    "cat .de?.vars",
    "cat .m[c]p.json",
    "cat database.yml",
    "cat appsettings.json",
    "cat .dev.vars",
    "cat .mcp.json",
    "find . -name '.[[:alpha:]]nv' -exec cat {} +",
    "find . -name '[.]env' -exec cat {} +",
    "find . -name '.en\\v' -exec cat {} +",
    "find . -name '.[!x]nv' -print0 | xargs -0 cat",
    "find . -type f -name 'data[b]ase.y[^]/]l' -exec cat {} +",
    "find . -type f -name 'data[b]ase.y[!/]l' -print0 | xargs -0 cat",
    "find . -type f -name 'data[b]ase.y[[:alpha:]/]l' -exec head {} +",
    "grep -r --include='data[b]ase.y[^/]l' KEY .",
    "find . -path '*/.env' -exec cat {} +",
    "grep -r --include='.[[:alpha:]]nv' KEY .",
    "grep -r --include='.en\\v' KEY .",
    "grep -r --include='data[b]ase.*' KEY .",
    "diff . old",
    "diff --from-file=old .",
    "grep -rh '' --include='*.yml' .",
    "grep -r KEY --include='*.vars' .",
    "cat linked/*.txt",
    "cat linked/*",
    "cat linked/m*/config",
    "head -5 l*/notes.txt",
    "grep -R c0 linked",
    "grep -R c0 .",
    "find -L linked -name '*.txt' -exec cat {} +",
    "find linked -follow -name 'config' -exec cat {} +",
    "diff -r src linked -s --unchanged-line-format=%L --new-line-format=%L --to-file=linked/more",
    "find linked -name '*.txt' -exec cat {} +",
    "find . -name 'note*' -print0 | xargs -0 cat",
    "grep -v zzz *",
    "grep '' ./*",
    "grep -rv zzz .",
    "grep -rz KEY .",
    "grep -rv zzz --include='*' .",
    "grep -rv zzz --include='?*' --include='*.py' .",
    "grep -r 'Q\\?' .",
    "grep -rE 'x*' .",
    "grep -r '[[:alnum:]]' .",
    "grep -r -C 500 KEY .",
    "grep -r -e = .",
    "cat ./*.yml",
    "head -n 1 ./*.json",
    "cat ./database.*",
    "diff -r . old",
    "diff -N empty .",
    "diff --new-file empty .",
    "git diff --no-index empty .",
    "git grep --untracked -v zzz",
    "git grep --no-exclude-standard --untracked KEY",
    "git grep --untracked KEY -- '.[[:alpha:]]nv' ':(glob)**/data[b]ase.*'",
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_shows_a_secret_is_not_auto(line: str, place: Path) -> None:
    shown = run(line, place)

    if "--to-file" not in line:  # whatever diff makes of that, it follows the links
        assert MARK in shown, "the line does not do what it is here for"
    assert verdict(line, place, home=str(place.parent / "home")) != "auto"


@pytest.mark.parametrize(
    "line",
    [
        "cat src/*.py",
        "cat src/[a-z]*.py",
        "head -3 s*/main.py",
        "grep -R hello src",
        "grep -rv zzz --include='*.py' .",
        "grep -rn 'def main' .",
        "grep -rnE 'print|hello' .",
        "grep -rn -A3 'import os' .",
        "find -L src -name '*.py' -exec cat {} +",
        "find . -type f -name '*.py' -exec head -3 {} +",
        "find src -name '*.py' -exec head -3 {} +",
        "grep -n hello src/*",
        "git diff --no-index src/main.py src/main.py",
        "git grep --untracked hello -- '*.py'",
        "ls linked/*",
    ],
)
def test_a_line_that_shows_none_is_auto(line: str, place: Path) -> None:
    assert MARK not in run(line, place)
    assert verdict(line, place, home=str(place.parent / "home")) == "auto"


def test_too_many_files_to_check_are_asked_about(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "_MOST", 20)
    many = place / "many"
    many.mkdir()
    for number in range(21):
        (many / f"{number}.txt").touch()

    assert verdict("grep -R x many", place, home=str(place.parent / "home")) == "ask"
    assert verdict("cat many/*.txt", place, home=str(place.parent / "home")) == "ask"
    assert verdict("grep -r foo many", place, home=str(place.parent / "home")) == "auto"


def test_rg_that_follows_links_into_secrets_is_asked_about(place: Path) -> None:
    linked = FakeWorkspace(links={"/project/docs/x": "/home/person/.ssh"})

    assert judge(("rg -L foo docs",), linked).verdict == "ask"
    assert judge(("rg foo docs",), linked).verdict == "auto"
    assert judge(("rg -L foo src",), linked).verdict == "auto"
    assert judge(("rg --hidden -v foo",), linked).verdict == "ask"
    assert judge(("rg -g '{.env,x}' foo",), linked).verdict == "ask"
    assert judge(("rg -v foo",), linked).verdict == "ask"
    assert judge(("rg -v foo -g '!*.md'",), linked).verdict == "ask"
    assert judge(("rg -t all ''",), linked).verdict == "ask"
    assert judge(("rg -v foo -t py",), linked).verdict == "auto"
    assert judge(("rg -v foo src/x.py",), linked).verdict == "auto"
