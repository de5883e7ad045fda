"""Secrets are written in one way: as the place where they are."""

from __future__ import annotations

from pathlib import Path

import keyring
import keyring.backend
import keyring.errors
import pytest

from errands.config.secret import is_secret, read_secret, with_secret
from errands.model.errors import BadValue


class Ring(keyring.backend.KeyringBackend):
    """A keyring of this test alone, used through the real library."""

    priority = 1.0

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.words: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise keyring.errors.KeyringLocked("it is locked")
        return self.words.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.words[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.words[service, username]


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Ring:
    ring = Ring()
    monkeypatch.setattr(keyring.core, "_keyring_backend", ring)
    return ring


def test_a_secret_is_read_from_a_file_a_variable_or_the_keyring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ring: Ring
) -> None:
    (tmp_path / "token").write_text("in a file\n")
    monkeypatch.setenv("TOKEN", "in a variable")
    keyring.set_password("model/openai", "me", "in the keyring")

    assert read_secret(f"file:{tmp_path / 'token'}") == "in a file"
    assert read_secret("env:TOKEN") == "in a variable"
    assert read_secret("keyring:model/openai/me") == "in the keyring"
    assert with_secret("Bearer env:TOKEN") == "Bearer in a variable"
    assert with_secret("Bearer TOKEN") == "Bearer TOKEN"
    assert not is_secret("sk-1234")


def test_a_secret_that_cannot_be_read_says_what_to_do(tmp_path: Path, ring: Ring) -> None:
    with pytest.raises(BadValue, match=r"the keyring has no model/me; add it with: keyring set model me"):
        read_secret("keyring:model/me")
    with pytest.raises(BadValue, match=r"write keyring:SERVICE/NAME"):
        read_secret("keyring:model")
    ring.is_locked = True
    with pytest.raises(BadValue, match=r"cannot be read: it is locked; unlock it, or use file:PATH"):
        read_secret("keyring:model/me")
    with pytest.raises(BadValue, match=r"the variable NO_SUCH of the secret is empty here"):
        read_secret("env:NO_SUCH")
    with pytest.raises(BadValue, match=r"nowhere cannot be read"):
        read_secret(f"file:{tmp_path / 'nowhere'}")
