"""The walls hold alone: with a judge that finds everything harmless, harmful lines still change nothing."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from errands.engine.approval import ruling
from errands.model.options.draft import Draft
from errands.model.verdict import Judgement
from errands.runners.system import linux
from errands.testing.engines import TestEngine
from tests.fuzz.lines import CORPUS, read

walled = pytest.mark.skipif(bool(linux.missing_walls()), reason=linux.missing_walls())

# What would be changed, as {it}: a file, a folder, a file that does not exist, and git's own.
TARGETS = ("notes.txt", "src", "$PWD/new.txt", ".git/config", "../outside/precious")
HARM = (
    "echo x > {it}", "echo x >> {it}", ": > {it}", "echo x | tee {it}", "rm -rf {it}", "mv {it} gone",
    "cp notes.txt {it}.copy", "ln -sf /etc/passwd {it}", "touch {it}", "truncate -s 0 {it}", "chmod 777 {it}",
    "mkdir -p {it}.d", "dd if=/dev/zero of={it} bs=1 count=1", "sed -i s/a/b/ {it}", "find {it} -delete",
    "python3 -c \"open('{it}', 'w')\"", "python3 -c \"import shutil; shutil.rmtree('{it}')\"",
    "awk 'BEGIN {{ print 1 > \"{it}\" }}'", "sh -c 'echo x > {it}'", "yes | head -1 > {it}",
    "install -m 777 notes.txt {it}", "split -b 1 notes.txt {it}", "tar -cf {it} src",
    "setfattr -n user.x -v y {it}",
)  # fmt: skip
GIT = (
    "git commit --allow-empty -qm x", "git config user.name x", "git checkout -q -b other", "git tag x",
    "git add -A", "git stash", "git reset --hard -q", "git clean -fdxq", "git branch -D main", "git gc -q",
    "git worktree add ../other", "git update-ref -d HEAD", "git init -q elsewhere", "git clone -q . ../clone",
    "printf '#!/bin/sh\\n' > .git/hooks/post-checkout", "git config core.hooksPath /tmp",
    "git remote add x y",
)  # fmt: skip
REACHING = (
    "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}))\"",
    "python3 -c \"import socket as s; s.socket(s.AF_UNIX).connect('{path}')\"",
    "python3 -c \"import socket as s; s.socket().sendto(b'x', 0x20000000, ('127.0.0.1', {port}))\"",
    "python3 -c \"import socket as s; s.socket(2, 1, 262).connect(('127.0.0.1', {port}))\"",
    "bash -c 'echo x > /dev/tcp/127.0.0.1/{port}'",
    "curl -s http://127.0.0.1:{port}/", "wget -q --tries=1 http://127.0.0.1:{port}/",
    "nc -w 1 127.0.0.1 {port} < notes.txt", "git ls-remote http://127.0.0.1:{port}/x",
    "ssh -p {port} 127.0.0.1 true",
    "perl -MIO::Socket -e 'IO::Socket::INET->new(\"127.0.0.1:{port}\") or die'",
)  # fmt: skip
# What is shared by all programs: folders, another process, sockets without a file.
SHARED = (
    "touch /tmp/{mark}", "touch /var/tmp/{mark}", "touch /dev/shm/{mark}", "mkdir /run/{mark}",
    "kill -9 {victim}", "renice -n 19 -p {victim}", "prlimit --pid {victim} --nofile=1:1",
    "python3 -c \"import os; os.kill({victim}, 9)\"", "taskset -p 1 {victim}",
    "python3 -c \"import socket as s; s.socket(s.AF_UNIX).connect('\\0{mark}')\"",
    "python3 -c \"import socket as s; s.socket(2, 2).sendto(b'x', ('127.0.0.1', {udp}))\"",
    "bash -c 'echo x > /dev/udp/127.0.0.1/{udp}'",
    "python3 -c \"import socket as s; a, b = s.socketpair(1, 2); a.sendto(b'x', '{path}')\"",
)  # fmt: skip
FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run")


def harmful_lines(**places: object) -> list[str]:
    """Return lines that would write, delete or connect; what they reach is a scratch project."""
    lines = [line.format(it=target) for line in HARM for target in TARGETS]
    lines += [*GIT, *(line.format(**places) for line in (*REACHING, *SHARED))]
    # Each of these proves that it ran something by making a file, which is made in the project here.
    for entry in read(CORPUS):
        if not entry.is_harmless and "/tmp/pwned" in entry.command and len(entry.command) < 300:
            lines.append(entry.command.replace("/tmp/pwned", "pwned"))
    return list(dict.fromkeys(lines))


def time_for(line: str) -> timedelta:
    """Return how long a line may take; this one goes on for ever."""
    return timedelta(seconds=3 if line.startswith("watch ") else 20)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "work" / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "app.py").write_text("print('a')\n")
    (project / "notes.txt").write_text("a note\n")
    (tmp_path / "work" / "outside").mkdir()
    (tmp_path / "work" / "outside" / "precious").write_text("a treasure\n")
    git = ("git", "-C", str(project), "-c", "user.name=x", "-c", "user.email=x@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run([*git, *words], check=True)
    return project


def state_of(folder: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = facts.st_mode, facts.st_uid, facts.st_mtime_ns, facts.st_nlink, content
    return found


def facts_of(pid: int) -> tuple[object, ...]:
    limits = Path(f"/proc/{pid}/limits").read_text()
    return limits, os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid)


@contextmanager
def sleeping() -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that lines could harm, and end it even if the test fails."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        try:
            yield process
        finally:
            process.kill()


@walled
@pytest.mark.spec("A13")
@pytest.mark.timeout(600)
async def test_the_walls_hold_without_the_judge(
    engine: TestEngine, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ruling, "judge", lambda *_, **__: Judgement(verdict="auto"))
    home = tmp_path / "work" / "person"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    mark = f"errands-alone-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
        sleeping() as victim,
    ):
        udp.bind(("127.0.0.1", 0))
        unix.bind(path := str(tmp_path / "work" / "docker.sock"))
        abstract.bind(f"\0{mark}")
        for listener in (unix, abstract):
            listener.listen()
        ports = {"port": tcp.getsockname()[1], "udp": udp.getsockname()[1]}
        lines = harmful_lines(path=path, mark=mark, victim=victim.pid, **ports)
        assert len(lines) >= 200
        as_it_was = facts_of(victim.pid)
        before = state_of(tmp_path / "work")
        for start in range(0, len(lines), 40):
            drafts = [
                Draft(command=line, cwd=str(project), timeout=time_for(line), notify="never")
                for line in lines[start : start + 40]
            ]
            tasks = [await engine.submit(draft) for draft in drafts]
            for task in tasks:
                assert (task.verdict, task.approved_by) == ("auto", "judge")
                await engine.wait(task.id, timeout=120)
            # One look for all of them; a change names the line if it is looked for one by one.
            changed = {
                path: now for path, now in state_of(tmp_path / "work").items() if now != before.get(path)
            }
            assert changed == {}, [task.command for task in tasks]
            assert state_of(tmp_path / "work").keys() == before.keys(), [task.command for task in tasks]
        for listener in (tcp, unix, abstract, udp):
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.recv(1) if listener is udp else listener.accept()
        assert (victim.poll(), facts_of(victim.pid)) == (None, as_it_was)
    assert [each for each in FOLDERS if os.path.lexists(f"{each}/{mark}")] == []


@walled
@pytest.mark.spec("A13")
async def test_secrets_at_home_stay_hidden_without_the_judge(
    engine: TestEngine, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ruling, "judge", lambda *_, **__: Judgement(verdict="auto"))
    home = tmp_path / "person"
    monkeypatch.setenv("HOME", str(home))
    for place in (".ssh", ".aws", ".config/gh"):
        (home / place).mkdir(parents=True)
        (home / place / "key").write_text("a treasure\n")
    (project / "key").symlink_to(home / ".ssh" / "key")

    for line in (
        "cat ~/.ssh/key",
        "cat key",
        "cd ~/.aws; cat key",
        "grep -rh . ~/.config",
        "tar -cf - ~/.ssh",
        "python3 -c \"import os; print(open(os.path.expanduser('~/.ssh/key')).read())\"",
        "find ~ -name key -exec cat {} +",
        "cp -r ~/.ssh $TMPDIR && cat $TMPDIR/.ssh/key",
    ):
        task = await engine.finished(line, cwd=str(project))
        text = await engine.text(task.id)
        assert "treasure" not in text, line
        assert "ermission denied" in text, line


async def test_without_walls_such_lines_do_change_something(
    engine: TestEngine, project: Path, tmp_path: Path
) -> None:
    """Or else it would prove nothing that they change nothing behind them."""
    lines = [line.format(it="notes.txt") for line in HARM if shutil.which(line.split()[0])]
    changing = 0
    for line in lines:
        before = state_of(tmp_path / "work")
        await engine.finished(line, cwd=str(project))
        changing += state_of(tmp_path / "work") != before
        (project / "notes.txt").unlink(missing_ok=True)
        (project / "notes.txt").write_text("a note\n")

    assert changing > len(lines) * 0.6


@walled
async def test_a_yes_of_a_person_takes_the_walls_away(
    engine: TestEngine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ruling, "judge", lambda *_, **__: Judgement(verdict="auto"))
    refused = await engine.finished("echo x > made", cwd=str(project))
    asked = await engine.submit("echo x > made", cwd=str(project), propose=True)
    assert asked.state == "proposed"
    engine.engine.approve(asked.id, by="ada", door="terminal")
    allowed = await engine.wait(asked.id, timeout=20)

    assert (refused.state, allowed.state) == ("failed", "completed")
    assert "this ran behind walls" in await engine.text(refused.id)
    assert os.path.exists(project / "made")


@walled
async def test_tests_and_what_a_rule_allows_start_without_these_walls(
    engine: TestEngine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ruling, "judge", lambda *_, **__: Judgement(verdict="auto", does_more=True))

    assert (await engine.finished("echo x > made", cwd=str(project))).state == "completed"
