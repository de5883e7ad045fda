"""A command judged harmless runs without the variables that would make it run something else."""

from __future__ import annotations

import pytest

from errands.judge.shell.variables import is_harmless, removed

pytestmark = [pytest.mark.spec("A2")]


@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV",
        "BASH_FUNC_ls%%", "PS4", "CDPATH", "GIT_DIR", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_CONFIG_COUNT",
        "GIT_SSH_COMMAND", "PAGER", "LESSOPEN", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONPATH",
        "PYTHONWARNINGS", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT",
        "RIPGREP_CONFIG_PATH", "PIP_PYTHON", "DPKG_PAGER", "ERRANDS_RUNS_SHELL",
        "BC_ENV_ARGS", "GREP_OPTIONS", "JAVA_TOOL_OPTIONS", "GCONV_PATH", "IFS", "UV_PYTHON",
    ],
)  # fmt: skip
def test_what_loads_or_starts_something_is_removed(name: str) -> None:
    assert removed({name: "/tmp/x", "HOME": "/home/a"}) == (name,)


def test_ordinary_variables_stay() -> None:
    kept = {
        "PATH": "/usr/bin",
        "HOME": "/home/a",
        "LANG": "C",
        "USER": "a",
        "TMPDIR": "/tmp",
        "VIRTUAL_ENV": "/x",
    }

    assert removed(kept) == ()


def test_a_python_path_within_the_project_stays() -> None:
    assert removed({"PYTHONPATH": "/p/src:/p"}, project="/p") == ()
    assert removed({"PYTHONPATH": "/p/src:/tmp/evil"}, project="/p") == ("PYTHONPATH",)
    assert removed({"PYTHONPATH": "/p/../tmp"}, project="/p") == ("PYTHONPATH",)
    assert removed({"PYTHONPATH": "src"}, project="/p") == ("PYTHONPATH",)


@pytest.mark.parametrize(
    ("name", "value"), [("LANG", "C.UTF-8"), ("TZ", "Europe/Berlin"), ("NO_COLOR", "1"), ("LC_ALL", "")]
)
def test_language_time_and_colours_are_harmless(name: str, value: str) -> None:
    assert is_harmless(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LANG", "../evil"),
        ("TZ", "/etc/shadow"),
        ("PATH", "/usr/bin"),
        ("FOO", "1"),
        ("lang", "C"),
        ("LC_EVIL", "C"),
    ],
)
def test_anything_else_is_not_known_to_be_harmless(name: str, value: str) -> None:
    assert not is_harmless(name, value)
