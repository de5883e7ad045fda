"""Lines that look harmless and are not: each first does its harm in a scratch directory, then is judged."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from errands.judge.evidence.local_workspace import LocalWorkspace
from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = [pytest.mark.spec("A2", "A3")]

MARK = "c0ffee-mark"
VARIABLES = {"PATH": "/usr/local/bin:/usr/bin:/bin", "MARK": MARK, "LANG": "C.UTF-8", "COLUMNS": "100000"}


def run(line: str, place: Path, *, shell: str = "bash", home: Path | None = None) -> str:
    """Run a line and return what it printed."""
    ran = subprocess.run(
        [shell, "-c", line],
        cwd=place,
        env={**VARIABLES, "HOME": str(home or place)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
    )
    return ran.stdout


def verdict(line: str, place: Path, *, shell: str = "/bin/bash", home: str = "/nonexistent") -> str:
    """Judge a line in a directory that is a project of its own."""
    workspace = LocalWorkspace(str(place), {**VARIABLES, "HOME": home}, project=str(place), shell=shell)
    return judge((line,), workspace).verdict


WRITING = [
    "echo 'touch pwned/' | sed 's/[]/]/;#/e'",
    "echo 'touch pwned 1/' | sed 's/[[:digit:]/]*$/;#/e'",
    "echo 'touch pwned/' | sed 's/[[.a.]/]/;#/e'",
    "echo 'touch pwned:' | sed 's:[]:]:;#:e'",
    "echo a/b | sed 's/[]/]/;#/w pwned'",
    "echo a/b | sed -n '/[]/]/ w pwned'",
    """echo 'a]b' | awk '/[]/"]/{system("touch pwned")} #"'""",
    """echo a1b | awk '/[[:digit:]/"]/{print > "pwned"} #"'""",
    """echo a1b | awk '/[[:digit:]/"]/{print | "tee pwned"} #"'""",
]

# To one awk the slash after these words divides, to another it begins a pattern.
SLASHES = [
    """mawk 'BEGIN { print case / 2 > "pwned"; x = 1 / 1 }'""",
    """gawk --posix 'BEGIN { print case / 2 > "pwned"; x = 1 / 1 }'""",
    """original-awk 'BEGIN { print case / 2 > "pwned"; x = 1 / 1 }'""",
    """original-awk 'BEGIN { print $exit / 2 > "pwned"; x = 1 / 1 }'""",
    """gawk 'BEGIN { print 1 /= / 2 > "pwned"; x = 1 / 1 }'""",
    """gawk 'BEGIN { print "a" /=; / 2 > "pwned"; x = 1 / 1 }'""",
    """gawk 'BEGIN { print x[1] $1 /= / 2 > "pwned"; x = 1 / 1 }'""",
]


@pytest.mark.parametrize("line", SLASHES)
def test_a_slash_that_awks_read_differently_hides_nothing(line: str, tmp_path: Path) -> None:
    name, _, rest = line.partition(" ")
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    run(line, tmp_path)

    assert (tmp_path / "pwned").exists(), "the line does not do what it is here for"
    assert verdict(f"awk {rest.removeprefix('--posix ')}", tmp_path) != "auto"


@pytest.mark.parametrize("line", ["sed 'b#;w pwned'", "sed -n '1{b#;w pwned\n}'", "sed 's/a/b/;t#;w pwned'"])
def test_a_label_that_seds_read_differently_hides_nothing(line: str, tmp_path: Path) -> None:
    if shutil.which("busybox"):
        run(f"echo a | busybox {line}", tmp_path)

        assert (tmp_path / "pwned").exists(), "the line does not do what it is here for"
    assert verdict(f"echo a | {line}", tmp_path) != "auto"


@pytest.mark.parametrize("line", WRITING)
def test_a_line_that_writes_is_not_auto(line: str, tmp_path: Path) -> None:
    run(line, tmp_path)

    assert (tmp_path / "pwned").exists(), "the line does not do what it is here for"
    assert verdict(line, tmp_path) != "auto"


SHOWING = [
    "jq -n '$ ENV.MARK'",
    "jq -n '$\n\tENV.MARK'",
    "jq -n '$ # and so on\nENV.MARK'",
    "ps -e -aux",
    "ps -aux -ef",
    "ps -eww -aux",
]


@pytest.mark.parametrize("line", SHOWING)
def test_a_line_that_shows_the_environment_is_not_auto(line: str, tmp_path: Path) -> None:
    if shutil.which(line.split()[0]) is None:
        pytest.skip(f"{line.split()[0]} is not installed")

    assert MARK in run(line, tmp_path), "the line does not do what it is here for"
    assert verdict(line, tmp_path) != "auto"


NAMED = [
    "find .// -name 1 -type f -print0 | xargs -0 jq -n",
    "find .// -name 1 -type f -print0 | xargs -0 jq -n --arg a b",
    "find .// -name 1 -exec jq -n {} +",
]


@pytest.mark.parametrize("line", NAMED)
def test_a_file_that_is_called_like_a_program_is_not_run_as_one(line: str, tmp_path: Path) -> None:
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    (tmp_path / "1 | env, 1").mkdir()
    (tmp_path / "1 | env, 1" / "1").touch()

    assert MARK in run(line, tmp_path), "the line does not do what it is here for"
    assert judge((line,), FakeWorkspace()).verdict == "contained"
    everyday = "find . -name package.json -exec jq -r .name {} +"
    assert judge((everyday,), FakeWorkspace()).verdict == "auto"


WALKING = [
    "git log -p stash",
    "git log -p --all",
    "git log -p --glob='*'",
    "git show :/untracked",
    "git log -U1 --reflog",
]


@pytest.mark.parametrize("line", WALKING)
def test_a_history_that_reaches_a_stash_is_contained(line: str, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    me = "-c user.name=n -c user.email=e"
    run(
        f"git init -q && git add a && git {me} commit -qm a && echo $MARK > b && git {me} stash -qu", tmp_path
    )

    assert MARK in run(line, tmp_path), "the line does not do what it is here for"
    assert verdict(line, tmp_path) == "contained"
    assert verdict("git log --all --oneline --graph", tmp_path) == "auto"
    assert verdict("git log -p", tmp_path) == "auto"


COMPUTED = [
    "printf %d 'path[$(touch pwned)]'",
    "printf '%s %d' x 'path[$(touch pwned)]'",
    "printf '%*s' 'path[$(touch pwned)]' x",
    "test -t 'path[$(touch pwned)]'",
]


@pytest.mark.parametrize("line", COMPUTED)
def test_a_number_that_zsh_computes_is_not_auto(line: str, tmp_path: Path) -> None:
    if shutil.which("zsh"):
        run(line, tmp_path, shell="zsh")

        assert (tmp_path / "pwned").exists(), "the line does not do what it is here for"
    assert verdict(line, tmp_path, shell="/bin/zsh") != "auto"


@pytest.mark.parametrize("line", ["test 'a[$(touch pwned)]' -eq 1", "[ 1 -lt 'a[$(touch pwned)]' ]"])
def test_a_number_that_some_versions_of_zsh_compute_is_not_auto(line: str, tmp_path: Path) -> None:
    assert verdict(line, tmp_path, shell="/bin/zsh") != "auto"


@pytest.mark.parametrize(
    "line", ["printf '%s %d\\n' a 5 b -7", "printf '%5.1f' 2.5", "test -t 1", "[ -t 1 ]", "[ 3 -gt 2 ]"]
)
def test_plain_numbers_are_auto(line: str) -> None:
    assert judge((line,), FakeWorkspace()).verdict == "auto"


@pytest.mark.parametrize(
    "line", ["gawk 1 /inet/tcp/0/127.0.0.1/9", "awk '{print}' x /inet4/udp/0/h/9", "gawk 1 //inet6/tcp/0/h/9"]
)
def test_a_file_of_awk_that_is_a_connection_is_not_auto(line: str) -> None:
    assert judge((line,), FakeWorkspace()).verdict == "ask"


@pytest.mark.parametrize(
    "line", ["ps -ef", "ps -eo pid,args --sort=pid", "ps aux", "ps -eLf", "ps -ef --forest"]
)
def test_an_everyday_ps_shows_no_environment_and_is_auto(line: str, tmp_path: Path) -> None:
    sleeper = subprocess.Popen(["sleep", "600"], env={**os.environ, "MARK": MARK})
    try:
        assert MARK not in run(line, tmp_path)
    finally:
        sleeper.kill()
        sleeper.wait()
    assert verdict(line, tmp_path) == "auto"


@pytest.mark.parametrize("line", ["date -d 'TZ=\"{}\" now'", "find . -newermt 'TZ=\":{}\" now'"])
def test_a_date_whose_time_zone_is_any_file_is_not_auto(line: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    line = line.format(tmp_path / "fifo")
    with pytest.raises(subprocess.TimeoutExpired):  # it waits for somebody to write into the file
        subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, timeout=2, check=False)

    assert verdict(line, tmp_path) != "auto"
    assert verdict("date -d 'TZ=\"Europe/Berlin\" 2024-01-01'", tmp_path) == "auto"


def test_nohup_writes_a_file_if_it_has_a_terminal(tmp_path: Path) -> None:
    leader, terminal = os.openpty()
    try:
        subprocess.run(
            ["nohup", "pwd"], cwd=tmp_path, stdin=terminal, stdout=terminal, stderr=terminal, check=True
        )
    finally:
        os.close(leader)
        os.close(terminal)

    assert (tmp_path / "nohup.out").exists()
    assert verdict("nohup pwd", tmp_path) == "contained"


def test_a_home_that_is_not_ones_own_may_decide_what_even_a_version_does(tmp_path: Path) -> None:
    (tmp_path / ".curlrc").write_text("stderr = pwned\n")

    run("curl --version", tmp_path)

    assert (tmp_path / "pwned").exists()
    assert verdict("curl --version", tmp_path, home=str(tmp_path)) != "auto"
    assert judge(("curl --version",), FakeWorkspace()).verdict == "auto"
