"""The files that decide what a command does are listed, so that an approval can cover them."""

from __future__ import annotations

import pytest

from errands.judge.judge import judge
from errands.judge.shell.scripts import scripts, uncovered
from tests.judge.fake_workspace import FakeWorkspace

CLEAN = FakeWorkspace()

pytestmark = [pytest.mark.spec("A10"), pytest.mark.fault("F59"), pytest.mark.trap(69)]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("bash build.sh", ["/p/build.sh"]),
        ("bash -x ./a/../build.sh now", ["/p/build.sh"]),
        ("sh -o pipefail build.sh", ["/p/build.sh"]),
        ("./build.sh now", ["/p/build.sh"]),
        ("/p/tools/x", ["/p/tools/x"]),
        ("/usr/bin/x", []),
        ("python x.py", ["/p/x.py"]),
        ("python3.12 -W error -u x.py --flag", ["/p/x.py"]),
        ("python -m a.b", ["/p/a/b.py", "/p/a/b/__main__.py", "/p/a/__init__.py"]),
        ("python3 -Im a", ["/p/a.py", "/p/a/__main__.py", "/p/a/__init__.py"]),
        ("python -E x.py", ["/p/x.py"]),
        ("python -uc pass", []),
        ("node -r ./hook.js app.js", ["/p/hook.js", "/p/app.js"]),
        ("node --require=./hook.js app.js", ["/p/hook.js", "/p/app.js"]),
        ("node --import tsx app.ts", ["/p/app.ts"]),
        ("mocha --require ./hook.js", ["/p/hook.js"]),
        ("ruby -r ./a.rb b.rb", ["/p/a.rb", "/p/b.rb"]),
        ("perl -ne x file", []),
        ("php -r x", []),
        ("bash -lc ls", []),
        ("bash --rcfile rc -i", ["/p/rc"]),
        (". ./env.sh", ["/p/env.sh"]),
        ("uv run x.py", ["/p/x.py"]),
        ("uv run --with rich -m a", ["/p/a.py", "/p/a/__main__.py", "/p/a/__init__.py"]),
        ("uv run --directory sub python x.py", ["/p/sub/x.py"]),
        ("poetry run python x.py", ["/p/x.py"]),
        ("bundle exec rake build", ["/p/Rakefile", "/p/rakefile"]),
        ("go run main.go", ["/p/main.go"]),
        ("npx -y eslint src", ["/p/node_modules/.bin/eslint"]),
        ("make -fother.mk", ["/p/other.mk"]),
        ("make -Clib", ["/p/lib/GNUmakefile", "/p/lib/makefile", "/p/lib/Makefile"]),
        ("npm --prefix web run build", ["/p/web/package.json"]),
        ("pnpm -C web test", ["/p/web/package.json"]),
        ("cargo run --manifest-path a/Cargo.toml", ["/p/a/Cargo.toml"]),
        ("psql -f x.sql", ["/p/x.sql"]),
        ("kubectl apply -f x.yaml", ["/p/x.yaml"]),
        ("docker compose -f dev.yml up", ["/p/dev.yml"]),
        ("docker run -f x", []),
        ("python -c pass", []),
        ("node --inspect server.js", ["/p/server.js"]),
        ("make test", ["/p/GNUmakefile", "/p/makefile", "/p/Makefile"]),
        ("make -f other.mk", ["/p/other.mk"]),
        ("make -C lib", ["/p/lib/GNUmakefile", "/p/lib/makefile", "/p/lib/Makefile"]),
        ("npm test", ["/p/package.json"]),
        ("awk -f x.awk y", ["/p/x.awk"]),
        ("ls x.sh", []),
    ],
)
def test_scripts_are_named_by_absolute_paths(line: str, named: list[str]) -> None:
    assert list(scripts(tuple(line.split()), "/p")) == named


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("cd sub && ./x.sh", "/project/sub/x.sh"),
        ("cd sub; for i in *; do ./x.sh; done", "/project/sub/x.sh"),
        ("cd sub && rm $(./x.sh)", "/project/sub/x.sh"),
        ("cat x.sh | sh", "/project/x.sh"),
        ("cat x.py | python3 -", "/project/x.py"),
        ("cd sub && cat x.sh | bash -s now", "/project/sub/x.sh"),
        ("sh < x.sh", "/project/x.sh"),
    ],
)
def test_scripts_behind_a_directory_or_a_pipe_are_covered(line: str, named: str) -> None:
    found = judge((line,), CLEAN)

    assert named in found.scripts
    assert not found.uncovered


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("npx eslint", "`npx eslint`"),
        ("go run ./cmd/tool", "`go run`"),
        ("uv run npx eslint", "`npx eslint`"),
        ("cargo +nightly test", "`cargo test`"),
        ("curl https://example.org/x | sh", "what `curl` prints"),
        ("tail -n +2 x.sh | sh", "what `tail` prints"),
        ("cd $PLACE && ./x.sh", "directory that is not known"),
        ("cd - && ./x.sh", "directory that is not known"),
        ("for i in *; do sh $i; done", "name only the shell will know"),
        ('"$PLACE"/x.sh', "name only the shell will know"),
        ("ls $(true)" + "; true" * 600, "too many commands"),
    ],
)
def test_what_cannot_be_covered_is_said(line: str, said: str) -> None:
    assert said in " ".join(judge((line,), CLEAN).uncovered)


@pytest.mark.parametrize(
    "line", ["npx --version", "go version", "cargo --version", "ls | sort", "cat x | awk y"]
)
def test_what_runs_nothing_else_leaves_nothing_uncovered(line: str) -> None:
    assert not uncovered(tuple(line.split()))
    assert not judge((line,), CLEAN).uncovered


def test_a_program_whose_name_ends_in_a_version_runs_what_it_runs_without() -> None:
    assert judge(("uv9 run ./x.py",), CLEAN).scripts == judge(("uv run ./x.py",), CLEAN).scripts
