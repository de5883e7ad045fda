"""The rules in the account's own file hold, whatever the variables of a caller say."""

from __future__ import annotations

import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest

from errands.config import load

OWN = '[approval]\nallow = ["make *"]\nask = ["ls *"]\ndeny = ["dd *"]\n[runs]\ngrace = "7s"\n'


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The home directory that the system knows, with a configuration in it."""
    monkeypatch.setattr(pwd, "getpwuid", lambda _: SimpleNamespace(pw_dir=str(tmp_path / "ada")))
    own = tmp_path / "ada" / ".config" / "errands" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(OWN)
    return str(tmp_path / "ada")


@pytest.mark.spec("A9")
@pytest.mark.parametrize("names", [("XDG_CONFIG_HOME",), ("HOME",), ("HOME", "XDG_CONFIG_HOME")])
def test_rules_that_deny_stay_whatever_the_variables_of_a_caller_say(
    account: str, tmp_path: Path, names: tuple[str, ...]
) -> None:
    approval = load("/", {"HOME": account, **{name: str(tmp_path / "elsewhere") for name in names}}).approval

    assert (approval.deny, approval.ask) == (("dd *",), ("ls *",))
    assert approval.allow == ()  # and nothing else of that file


def test_the_rules_of_both_files_hold_where_a_variable_names_another_one(
    account: str, tmp_path: Path
) -> None:
    other = tmp_path / "elsewhere" / "errands" / "config.toml"
    other.parent.mkdir(parents=True)
    other.write_text('[approval]\ndeny = ["rm *"]\n')
    found = load("/", {"HOME": account, "XDG_CONFIG_HOME": str(tmp_path / "elsewhere")})

    assert found.approval.deny == ("dd *", "rm *")


def test_the_own_file_is_read_once_where_nothing_names_another_one(account: str) -> None:
    approval = load("/", {"HOME": account}).approval

    assert (approval.deny, approval.ask, approval.allow) == (("dd *",), ("ls *",), ("make *",))
