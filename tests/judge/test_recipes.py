"""Recipes: a few files decide what a test or a build runs."""

from __future__ import annotations

import pytest

from errands.judge.recipes import covered_files, deciding_files

pytestmark = pytest.mark.spec("A14")


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("npm test", "package.json"), ("npm run test:unit", "package.json"), ("npm t", "package.json"),
        ("pnpm run build", "package.json"), ("yarn lint", "package.json"), ("bun test", "package.json"),
        ("bun run types", "package.json"), ("make test", "GNUmakefile"), ("make -j4 check", "GNUmakefile"),
        ("cargo test --all", "Cargo.toml"), ("cargo clippy", "Cargo.toml"), ("go test ./...", "go.mod"),
        ("go vet ./...", "go.mod"), ("tox", "tox.ini"), ("just test", "justfile"), ("mvn verify", "pom.xml"),
        ("gradle test", "build.gradle"),
    ],
)  # fmt: skip
def test_a_test_or_a_build_is_decided_by_files_of_its_project(line: str, first: str) -> None:
    assert deciding_files(line.split())[0] == first


@pytest.mark.parametrize(
    "line",
    [
        "make deploy", "npm run deploy", "npm publish", "npm exec test", "bun x.js", "bun run x.ts",
        "go run .", "make -f other.mk test", "make -C lib test", "npm --prefix lib test", "cargo run",
        "make --eval=x test",
        "cargo test --manifest-path x/Cargo.toml", "cargo --config x test", "go test -exec ./x ./...",
        "bun test --preload ./x", "npm test --script-shell ./x", "./make test", "make", "npm", "tox x",
        "python3 test", "gradle -I x test",
    ],
)  # fmt: skip
def test_other_commands_are_not(line: str) -> None:
    assert deciding_files(line.split()) == ()


def test_every_command_of_a_task_must_be_one_and_its_files_must_exist() -> None:
    known = {"/p/package.json": "x", "/p/Makefile": "y", "/p/.npmrc": ""}

    assert covered_files(["npm test", ("make", "test")], "/p", known) == ("package.json", "Makefile")
    for commands in (
        ["npm test", "rm x"],
        ["npm test; rm x"],
        ["npm test $X"],
        ["cargo test"],
        ["X=1 npm test"],
    ):
        assert covered_files(commands, "/p", known) == ()
    assert covered_files(["npm test"], "/q", known) == ()
