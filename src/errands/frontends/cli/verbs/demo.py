"""demo: a tour of Errands in a temporary home."""

from __future__ import annotations

import os
import sys

from errands.engine.daemon.lock import daemon_facts
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments, Verb, option
from errands.model.errors import ErrandsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def demo(context: Context, arguments: Arguments) -> int:
    import shutil
    import tempfile

    home = tempfile.mkdtemp(prefix="errands-demo-")
    stage = Stage(context, home)
    try:
        play(stage)
    except KeyboardInterrupt:
        context.note("the demo ends here, and all its tasks with it")
        raise
    finally:
        stage.quietly("cancel", "--batch", "demo")
        stage.quietly("daemon", "stop")
        if not arguments.keep:
            shutil.rmtree(home, ignore_errors=True)
    kept = f"its home is kept (ERRANDS_HOME={home} errands ls)" if arguments.keep else "its home is removed"
    context.say("", f"That was the demo; {kept}.", "Now start something of yours: errands run -- make test")
    return 0


class Stage:
    """Prints commands as if typed, and runs them."""

    def __init__(self, context: Context, home: str) -> None:
        self._context = context
        self.home = home
        # The caller's own configuration does not apply: the demo is always the same.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ERRANDS_")}
        self._environ = {**kept, "ERRANDS_HOME": home, "XDG_CONFIG_HOME": f"{home}/none"}
        if context.look.colour:
            self._environ["CLICOLOR_FORCE"] = "1"

    def narrate(self, text: str) -> None:
        look = self._context.look
        self._context.say("", look.paint(f"{look.sign('▌', '|')} {text}", "bold"))

    def type(self, *words: str, expect: int = 0) -> None:
        """Print a command and run it; stop the demo if its exit code is not the expected one."""
        from errands.model.action import quoted

        shown = " ".join(map(quoted, words))
        self._context.say(self._context.look.paint(f"$ errands {shown}", "cyan"))
        sys.stdout.flush()
        code = self._run(words, quiet=False)
        if code != expect:
            raise ErrandsError(f"`errands {shown}` exited with {code} instead of {expect}; the demo ends")

    def quietly(self, *words: str) -> None:
        self._run(words, quiet=True)

    @property
    def can_watch(self) -> bool:
        from importlib.util import find_spec

        return find_spec("watchfiles") is not None

    def make(self, folder: str) -> None:
        os.mkdir(f"{self.home}/{folder}")

    def write(self, name: str, text: str) -> None:
        self._context.say(self._context.look.paint(f"$ echo {text!r} > {name}", "cyan"))
        with open(f"{self.home}/{name}", "w", encoding="utf-8") as file:
            file.write(f"{text}\n")

    def await_run(self, name: str) -> None:
        """Wait until a recurring task has run once."""
        import time

        engine = self._context.bootstrap.open_client(self._context.bootstrap.open_home(self.home))
        try:
            until = time.monotonic() + 20.0
            while engine.get(engine.resolve(name)).latest.completed_at is None:
                if time.monotonic() > until:
                    raise ErrandsError(f"{name} did not run within 20 s; the demo stops here")
                time.sleep(0.05)
        finally:
            engine.close()

    def kill_daemon(self) -> None:
        import signal

        facts = daemon_facts(self._context.bootstrap.open_home(self.home))
        if facts is None:
            raise ErrandsError("the demo found no daemon to kill")
        self._context.say(self._context.look.paint(f"$ kill -9 {facts['pid']}", "cyan"))
        os.kill(facts["pid"], signal.SIGKILL)

    def _run(self, words: Sequence[str], *, quiet: bool) -> int:
        import subprocess

        stream = subprocess.DEVNULL if quiet else None
        command = [sys.executable, "-P", "-m", "errands", *words]
        return subprocess.run(
            command, env=self._environ, cwd=self.home, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
        ).returncode


def play(stage: Stage) -> None:
    stage.narrate("Harmless commands start at once. `errands judge` shows what counts as harmless.")
    stage.type("judge", "git status && ls -l | head -3")
    stage.type("run", "--wait", "--batch", "demo", "ls -l | head -3")

    stage.narrate("An agent, which has no terminal, wants to delete something: that waits for approval.")
    stage.type("run", "--name", "clean", "--batch", "demo", "rm -rf build", expect=4)
    stage.type("ls")
    stage.narrate("You approve it, and only then does it run. Who approved it stays on record.")
    stage.type("approve", "--wait", "clean")
    stage.type("audit")

    stage.narrate(
        "Start slow work; each command returns at once with an id. (--yes approves it without asking.)"
    )
    count = 'for i in 1 2 3 4 5 6 7 8; do echo "::progress $i/8 compiling part $i"; sleep 1; done'
    stage.type("run", "--yes", "--name", "build", "--batch", "demo", "--key", "build", count)
    stage.type(
        "run", "--yes", "--name", "lint", "--batch", "demo", "echo 'src/app.py:3: unused import'; exit 3"
    )
    stage.type("run", "--yes", "--name", "server", "--batch", "demo", "--", "sleep", "600")

    stage.narrate("A task can wait for another one, and is skipped if that one fails.")
    stage.type(
        "run", "--yes", "--name", "tests", "--batch", "demo", "--after", "build", "echo '89 passed in 2.1s'"
    )
    stage.type("run", "--yes", "--name", "deploy", "--batch", "demo", "--after", "lint", "echo never printed")

    stage.narrate("Everything at a glance: progress and time left, what failed, what is waiting.")
    stage.type("wait", "lint", expect=3)
    stage.type("ls")

    stage.narrate("Now the worst case: the daemon is killed in the middle of the build.")
    stage.kill_daemon()
    stage.type("daemon", "status", expect=1)

    stage.narrate("Waiting starts it again. The build never noticed: same process, no line lost.")
    stage.type("wait", "tests")
    stage.type("logs", "build", "--tail", "3")
    stage.type("ls")

    stage.narrate("Ask an agent. Without a model, the offline agent runs the commands quoted in the prompt.")
    stage.type(
        "ask", "--name", "agent", "--batch", "demo", "--wait", "What is here? Look with `ls -A | head -3`."
    )
    stage.narrate("Continue the same session, then fork it, which leaves the original as it is.")
    stage.type("resume", "--wait", "agent", "And who am I? `id -u`")
    stage.type("ask", "--name", "fork", "--batch", "demo", "--wait", "--fork", "agent", "On a copy: `pwd`")
    stage.type("sessions")

    stage.narrate("Recurring work: on a schedule, or when something happens, such as a new file.")
    stage.type("run", "--name", "clock", "--batch", "demo", "--every", "1s", "--max-runs", "2", "date +%T")
    if stage.can_watch:
        stage.make("inbox")
        watch = ("--on", "file:inbox/*", "--debounce", "100ms")
        stage.type("run", "--name", "post", "--batch", "demo", *watch, "ls inbox")
    stage.type("wait", "clock")
    stage.type("schedule", "clock")
    if stage.can_watch:
        stage.write("inbox/letter", "Dear Errands")
        stage.await_run("post")
        stage.type("show", "post")

    stage.narrate("Cancel what is no longer needed: its whole process tree ends.")
    stage.type("cancel", "server", *(["post"] if stage.can_watch else []))

    stage.narrate("See what went wrong, with the last lines of output; then run it again.")
    stage.type("show", "lint")
    stage.type("restart", "lint")
    stage.type("wait", "lint", expect=3)

    stage.narrate("Every result is reported exactly once, even though the daemon was killed.")
    stage.type("notices")
    stage.type("notices")

    stage.narrate("Finally, check the store, the daemon, runs, notices and permissions.")
    stage.type("doctor")


VERBS = (
    Verb(
        name="demo",
        summary="take a one-minute tour of Errands in a temporary home",
        run=demo,
        options=(option("--keep", "keep the temporary home afterwards"),),
    ),
)
