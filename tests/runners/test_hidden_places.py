"""What a command that only reads cannot open, with the real kernel: places of secrets, and the store."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from errands.runners.system import linux
from errands.runners.system.hidden_places import Readable, names_of, read_mounts
from tests.runners.stage import Stage, until

pytestmark = [
    pytest.mark.spec("A13"),
    pytest.mark.skipif(bool(linux.missing_walls()), reason=linux.missing_walls()),
]

SECRETS = (
    ".ssh/id_rsa", ".aws/credentials", ".config/gh/hosts.yml", ".docker/config.json", ".netrc", ".npmrc",
    ".gnupg/private-keys-v1.d/a.key", ".local/share/keyrings/login.keyring",
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


async def test_a_place_in_another_shows_nothing_of_that(stage: Stage, home: Path) -> None:
    (home / ".npmrc").unlink()
    write(home / ".secrets" / "npmrc")
    write(home / ".secrets" / "key")
    (home / ".npmrc").symlink_to(".secrets/npmrc")

    assert not await opened(stage, home, home / ".npmrc")
    assert not await opened(stage, home, home / ".secrets" / "key")


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
    write(home / ".claude" / "key")

    assert not await opened(stage, home, project / "app.py")
    assert await opened(stage, home, "app.py", cwd=str(project))
    assert not await opened(stage, home, home / ".claude" / "key", cwd=str(project))
    assert await opened(stage, home, "key", cwd=str(home / ".claude"))
    assert not await opened(stage, home, project / "app.py")


async def test_the_store_is_hidden_and_the_scratch_directory_beside_it_is_not(
    stage: Stage, home: Path
) -> None:
    write(stage.folder / "errands.db")
    assert not await opened(stage, home, stage.folder / "errands.db")
    assert not await opened(stage, stage.folder, stage.folder / "errands.db")

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


def test_a_place_is_hidden_under_all_its_names(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(
        "20 1 8:1 / / rw - ext4 /dev/a rw\n"
        "21 20 8:2 /@home /home rw shared:1 - btrfs /dev/b rw\n"
        "22 20 8:2 / /mnt/all\\040of\\040it rw - btrfs /dev/b rw\n"
        "23 20 8:2 /@home/ann/.ssh /keys rw - btrfs /dev/b rw\n"
        "24 20 8:2 /@other /other rw - btrfs /dev/b rw\n"
        "25 20 8:1 /srv /home/ann/srv rw - ext4 /dev/a rw\n"
    )
    mounts = read_mounts(str(table))

    assert set(names_of("/home/ann/.ssh", mounts)) == {
        "/home/ann/.ssh", "/mnt/all of it/@home/ann/.ssh", "/keys",
    }  # fmt: skip
    assert set(names_of("/srv/x", mounts)) == {"/srv/x", "/home/ann/srv/x"}
    assert set(names_of("/home/ann/srv", mounts)) == {"/home/ann/srv", "/srv"}
    assert list(names_of("/home/ann/.ssh", read_mounts(str(tmp_path / "missing")))) == ["/home/ann/.ssh"]


async def test_a_directory_that_cannot_be_listed_is_hidden_and_a_project_below_one_is_not(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = os.listdir
    closed = (str(home.parent), str(home / ".config"))

    def only_where_allowed(path: str) -> list[str]:
        if path in closed:
            raise PermissionError(13, "not allowed", path)
        return listed(path)

    monkeypatch.setattr(os, "listdir", only_where_allowed)
    project = home.parent / "shared" / "project"
    look = Readable(str(home), str(project), store="/missing")

    assert str(home / "notes.txt") in look.paths
    assert str(home.parent / "shared") in look.paths
    assert not {str(home), str(home.parent), str(home / ".config")}.intersection(look.paths)
    assert not look.is_still_true(str(home), str(home.parent / "other" / "project"))


async def look_that_lasts(home: Path) -> Readable:
    looks: list[Readable] = []

    def is_one_that_lasts() -> bool:  # beside the folders of tests there are changes all the time
        looks.append(Readable(str(home), "/", store="/missing"))
        return looks[-1].is_still_true(str(home), "/usr")

    await until(is_one_that_lasts, "a moment without a change")
    return looks[-1]


async def test_a_look_is_true_until_something_changes_beside_those_places(home: Path) -> None:
    look = await look_that_lasts(home)
    assert not look.is_still_true(str(home.parent), "/")
    assert not look.is_still_true(str(home), str(home / ".ssh"))

    write(home / ".config" / "new")

    assert not look.is_still_true(str(home), "/")


async def test_a_time_that_is_set_back_hides_no_change(home: Path) -> None:
    before = os.stat(home)
    look = await look_that_lasts(home)

    (home / ".ssh").rename(home / "other")
    (home / "project").rename(home / ".ssh")
    os.utime(home, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert not look.is_still_true(str(home), "/")


async def test_a_look_ends_when_a_link_on_the_way_leads_elsewhere(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    between = tmp_path_factory.mktemp("between") / "profiles"
    for name in ("one", "two"):
        write(home / "profiles" / name / "aws" / "credentials")
    between.mkdir()
    (between / "current").symlink_to(home / "profiles" / "one")
    shutil.rmtree(home / ".aws")
    (home / ".aws").symlink_to(between / "current" / "aws")
    look = await look_that_lasts(home)

    (between / "current").unlink()
    (between / "current").symlink_to(home / "profiles" / "two")

    assert not look.is_still_true(str(home), "/")
