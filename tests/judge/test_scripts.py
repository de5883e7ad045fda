"""The files that decide what a command does are listed, so that an approval can cover them."""

from __future__ import annotations

import pytest

from errands.judge.shell.scripts import scripts

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
        ("python -m pytest", []),
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
