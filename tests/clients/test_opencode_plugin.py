"""The plugin for OpenCode alone, with a client that refuses the first report."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.programs import program
from tests.frontends.cli.person import Person

# Messages arrive in the session until the client has accepted the report.
_PLAYED = """
import { Errands } from "./errands.mjs"
const given = []
const promptAsync = async ({ body }) => {
  given.push(body.parts[0].text)
  if (given.length === 1) return { error: "busy" }
  if (given.length === 2) throw new Error("away")
  return {}
}
const plugin = await Errands({ client: { session: { promptAsync } }, directory: "." })
const until = Date.now() + 20000
while (given.length < 3 && Date.now() < until) {
  await plugin["chat.message"]({ sessionID: "ses_1" })
  await new Promise((resolve) => setTimeout(resolve, 50))
}
console.log(JSON.stringify(given))
"""


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path / "errands", tmp_path)
    person.environ["HOME"] = str(tmp_path / "home")
    yield person
    person.leaves()


@pytest.mark.spec("N6")
@pytest.mark.trap(12)
def test_an_undelivered_report_comes_with_the_next_message(person: Person) -> None:
    person.types("install", "opencode", "--project", "--yes")
    plugin = person.cwd / ".opencode" / "plugin" / "errands.js"
    (person.cwd / "errands.mjs").write_text(plugin.read_text())
    (person.cwd / "played.mjs").write_text(_PLAYED)
    launched = person.types("run", "-q", "--yes", "echo news", yes=False, ERRANDS_SESSION="opencode:ses_1")
    person.types("wait", "-q", launched.out.strip())

    played = subprocess.run(
        [program("node"), "played.mjs"], cwd=person.cwd, env=person.environ, capture_output=True, check=True
    )

    given = json.loads(played.stdout)
    assert [f"{launched.out.strip()} completed" in each for each in given] == [True, True, True]
    assert person.types("client", "opencode", "news", "ses_1").out == ""
