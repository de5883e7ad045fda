"""What a command that only reads cannot open, with the real kernel: places of secrets, and the store."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from errands.runners.system import linux
from errands.runners.system.hidden_places import Readable
from tests.runners.stage import Stage, until

pytestmark = [
    pytest.mark.spec("A13"),
    pytest.mark.skipif(bool(linux.missing_walls()), reason=linux.missing_walls()),
]

SECRETS = (
    ".ssh/id_rsa", ".aws/credentials", ".config/gh/hosts.yml", ".docker/config.json", ".netrc", ".npmrc",
    ".gnupg/private-keys-v1.d/a.key", ".local/share/keyrings/login.keyring", ".cache/some/history",
    ".bash_history", ".git-credentials", ".mozilla/firefox/x/logins.json", ".cargo/credentials.toml",
)  # fmt: skip
OTHERS = (
    ".bashrc", ".gitconfig", ".config/git/ignore", ".cargo/config.toml", "notes.txt", "project/app.py",
    ".local/lib/x", ".cache/pip/x", ".ssh-notes", ".docker/cli-plugins/x",
)  # fmt: skip


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("person")
    for name in (*SECRETS, *OTHERS):
        write(home / name)
    return home


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("what is in it\n")


async def opened(stage: Stage, home: Path, path: Path | str, **options: object) -> bool:
    """Return whether `cat` can open a file behind the walls."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    run = stage.start(("cat", str(path)), **{"read_only": True, "cwd": "/", "env": env, **options})
    code, output = (await stage.ended(run)).code, stage.output(run)
    assert (code, output) in ((0, b"what is in it\n"), (1, output)), output
    assert not code or b"Permission denied" in output, output
    return code == 0


async def test_places_of_secrets_cannot_be_opened_and_everything_else_can(stage: Stage, home: Path) -> None:
    assert [name for name in SECRETS if await opened(stage, home, home / name)] == []
    assert [name for name in OTHERS if not await opened(stage, home, home / name)] == []


async def test_no_other_way_leads_there(stage: Stage, home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(home / ".ssh")
    (home / "project" / "key").symlink_to(home / ".ssh" / "id_rsa")

    for path in (
        tmp_path / "link" / "id_rsa",
        home / "project" / "key",
        f"{home}/project/../.ssh/id_rsa",
        f"/proc/self/root{home}/.ssh/id_rsa",
    ):
        assert not await opened(stage, home, path), path


async def test_names_are_listed_there(stage: Stage, home: Path) -> None:
    run = stage.start(("ls", str(home / ".ssh")), read_only=True, env={"PATH": "/bin", "HOME": str(home)})
    await stage.ended(run)

    assert stage.output(run) == b"id_rsa\n"


async def test_a_place_that_is_a_link_is_hidden_where_it_leads(stage: Stage, home: Path) -> None:
    shutil.move(home / ".ssh", home / "dotfiles" / "ssh")
    write(home / "dotfiles" / "vimrc")
    (home / ".ssh").symlink_to("dotfiles/ssh")

    assert not await opened(stage, home, home / "dotfiles" / "ssh" / "id_rsa")
    assert await opened(stage, home, home / "dotfiles" / "vimrc")


async def test_a_link_from_a_place_to_the_whole_home_hides_nothing_more(stage: Stage, home: Path) -> None:
    (home / ".jupyter").symlink_to(home)

    assert await opened(stage, home, home / "notes.txt")


async def test_what_is_made_later_is_seen_by_the_next_run_of_a_shim(stage: Stage, home: Path) -> None:
    shutil.rmtree(home / ".ssh")
    shutil.rmtree(home / ".config" / "gh")
    assert await opened(stage, home, home / "notes.txt")

    for name in ("new.txt", ".config/new", ".ssh/id_rsa", ".config/gh/hosts.yml"):
        write(home / name)

    assert await opened(stage, home, home / "new.txt")
    assert await opened(stage, home, home / ".config" / "new")
    assert not await opened(stage, home, home / ".ssh" / "id_rsa")
    assert not await opened(stage, home, home / ".config" / "gh" / "hosts.yml")


async def test_a_project_is_readable_wherever_it_is(stage: Stage, home: Path) -> None:
    project = home / ".claude" / "worktrees" / "project"
    write(project / "app.py")

    assert not await opened(stage, home, project / "app.py")
    assert await opened(stage, home, "app.py", cwd=str(project))
    assert not await opened(stage, home, project / "app.py")


async def test_the_store_is_hidden_and_the_scratch_directory_beside_it_is_not(
    stage: Stage, home: Path
) -> None:
    write(stage.folder / "errands.db")
    assert not await opened(stage, home, stage.folder / "errands.db")

    run = stage.start("echo seen > $TMPDIR/x; cat $TMPDIR/x", read_only=True, cwd="/")
    await stage.ended(run)
    assert stage.output(run) == b"seen\n"


async def test_a_terminal_changes_nothing(stage: Stage, home: Path) -> None:
    assert not await opened(stage, home, home / ".ssh" / "id_rsa", input="pty")


async def test_other_runs_read_everything(stage: Stage, home: Path) -> None:
    assert await opened(stage, home, home / ".ssh" / "id_rsa", read_only=False)


@pytest.mark.parametrize("home", ["", "relative", "/", "/missing"])
async def test_a_strange_home_keeps_nothing_from_being_read(
    stage: Stage, home: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("other") / "file"
    write(file)

    assert await opened(stage, Path(home), file, env={"PATH": "/bin", "HOME": home})


async def test_a_look_is_true_until_something_changes_beside_those_places(home: Path) -> None:
    looks: list[Readable] = []

    def is_one_that_lasts() -> bool:  # beside the folders of tests there are changes all the time
        looks.append(Readable(str(home), "/", store="/missing"))
        return looks[-1].is_still_true(str(home), "/usr")

    await until(is_one_that_lasts, "a moment without a change")
    assert not looks[-1].is_still_true(str(home.parent), "/")
    assert not looks[-1].is_still_true(str(home), str(home / ".ssh"))

    write(home / ".config" / "new")

    assert not looks[-1].is_still_true(str(home), "/")
