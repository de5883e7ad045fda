"""Harmless lines print the same and end the same behind the walls as outside of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from errands.runners.system import linux
from tests.fuzz.lines import CORPUS, read
from tests.runners.stage import Stage

walled = pytest.mark.skipif(bool(linux.missing_walls()), reason=linux.missing_walls())
LINES = [line for line in read(CORPUS) if line.is_harmless and line.family != "auto_tests"]
# These run code of the project, which is not held to reading.
LINES = [line for line in LINES if "pytest" not in line.command and "unittest" not in line.command]
MORE = (
    "git log --oneline | head -3", "git blame README.md", "git grep -n app", "git show --stat HEAD",
    "git diff HEAD~1 --stat", "git ls-files | xargs wc -l", "git for-each-ref", "git stash list",
    "seq 300000 | sort -S 100K -rn | head -1", "cat <<'EOF'\n" + "x" * 70000 + "\nEOF", "ls -laR src",
    "find . -name '*.py' | sort", "grep -rn def . | cut -d: -f1 | sort -u", "sed -n 1,3p README.md",
    "awk -F, '{ print $1 }' data.csv | sort | uniq -c", "diff README.md data.csv", "python3 --version",
    "ls missing", "true && false", "cat README.md | tee /dev/null", "echo a >&2", "env | grep -c PATH",
    "id", "stat -c %s README.md", "file README.md", "du -s src", "wc -c < README.md", "tac README.md",
    "nproc",
)  # fmt: skip
FAMILIES = [*sorted({line.family for line in LINES}), "more"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for name in ("src/app.py", "tests/test_app.py", "README.md", "data.csv"):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def app():\n    return 1  # TODO\na,b,c\n3,2,1\n")
    git = ("git", "-C", str(project), "-c", "user.name=x", "-c", "user.email=x@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run([*git, *words], check=True)
    (project / "README.md").write_text("def app():\nchanged\n")
    subprocess.run([*git, "commit", "-qam", "second"], check=True)
    (project / "src" / "app.py").touch()  # so that git would like to write its index
    return project


@walled
@pytest.mark.timeout(300)
@pytest.mark.parametrize("family", FAMILIES)
async def test_a_harmless_line_does_the_same_behind_the_walls(
    stage: Stage, project: Path, family: str
) -> None:
    lines = [line.command for line in LINES if line.family == family] if family != "more" else list(MORE)
    for command in lines:
        if not shutil.which("bash"):
            pytest.skip("needs bash")
        results = []
        for read_only in (False, True, False):
            run = stage.start(("bash", "-c", command), read_only=read_only, cwd=str(project), timeout=30.0)
            ending = await stage.ended(run)
            results.append((ending.code, ending.stop, stage.output(run)))
        free, walled_in, again = results
        if free == again:  # what changes with every call, such as the time, is not compared
            assert walled_in == free, command
        else:
            assert walled_in[:2] == free[:2], command
