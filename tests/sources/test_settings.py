"""The settings of webhooks: yours alone, secrets elsewhere, and every mistake named."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands import config
from errands.config.secret import read_secret
from errands.model.errors import BadValue


@pytest.mark.spec("X13")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[webhooks.a]\nsecret = "whsec_abc"', "webhooks.a.secret: don't put secrets in this file"),
        ("[webhooks.a]", "webhooks.a.secret: is missing"),
        ('[webhooks.a]\nsecret = "env:A"\nkind = "gitlab"', "kind: cannot be 'gitlab'; choose one of"),
        (
            '[webhooks.a]\nsecret = "env:A"\nsecrets = "x"',
            "no such setting of a webhook (did you mean secret?)",
        ),
        ('[webhooks.A]\nsecret = "env:A"', "'A' cannot be a webhook"),
        ('[webhooks]\na = "env:A"', "is a webhook; write [webhooks.a]"),
        ('[webhook.a]\nsecret = "env:A"', "no such section (did you mean webhooks?)"),
    ],
)
def test_what_is_wrong_with_a_webhook_is_named(config_file: Path, text: str, said: str) -> None:
    config_file.write_text(text)
    _, problems = config.inspect("/")

    assert said in "\n".join(map(str, problems))


@pytest.mark.spec("X13")
def test_a_project_cannot_say_whom_to_believe(project: Path) -> None:
    (project / "errands.toml").write_text(
        '[webhooks.a]\nsecret = "env:A"\n[events]\nlisten = "0.0.0.0:1"\ngithub = "http://example.org"\n'
    )
    _, problems = config.inspect(str(project))

    assert [each.key for each in problems] == ["webhooks.a", "events.listen", "events.github"]
    assert all("a project cannot decide this" in each.advice for each in problems)


def test_secrets_are_read_from_files_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text(" words \n")
    (tmp_path / "empty").touch()
    monkeypatch.setenv("HOOK_SECRET", "other words")

    assert read_secret(f"file:{tmp_path}/secret") == "words"
    assert read_secret("env:HOOK_SECRET") == "other words"
    for place, said in (
        (f"file:{tmp_path}/empty", "is empty"),
        (f"file:{tmp_path}/nothing", "cannot be read"),
        ("env:NO_SUCH_SECRET", "is empty here"),
    ):
        with pytest.raises(BadValue, match=said):
            read_secret(place)
