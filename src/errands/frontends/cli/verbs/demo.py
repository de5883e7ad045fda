"""demo: the main work end to end, on a home of its own that is removed afterwards."""

from __future__ import annotations

import os
import sys

from errands.engine.daemon.lock import daemon_facts
from errands.frontends.cli.parser import Option, Verb
from errands.model.errors import ErrandsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments


def demo(context: Context, arguments: Arguments) -> int:
    import shutil
    import tempfile

    home = tempfile.mkdtemp(prefix="errands-demo-")
    stage = Stage(context, home)
    try:
        play(stage)
    finally:
        stage.quietly("cancel", "--batch", "demo")
        stage.quietly("daemon", "stop")
        if arguments.keep:
            context.say("", f"the home of this demo is kept: ERRANDS_HOME={home} errands ls")
        else:
            shutil.rmtree(home, ignore_errors=True)
    return 0


class Stage:
    """Types commands for everybody to see, and runs them for real."""

    def __init__(self, context: Context, home: str) -> None:
        self._context = context
        self.home = home
        # Nothing of the caller's own configuration shows here: everybody sees the same demo.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ERRANDS_")}
        self._environ = {**kept, "ERRANDS_HOME": home, "XDG_CONFIG_HOME": f"{home}/none"}
        if context.look.colour:
            self._environ["CLICOLOR_FORCE"] = "1"

    def tell(self, text: str) -> None:
        look = self._context.look
        self._context.say("", look.paint(f"{look.sign('▌', '|')} {text}", "bold"))

    def type(self, *words: str, expect: int = 0) -> None:
        """Show a command and run it; a demo that fails says so instead of going on."""
        from errands.model.action import quoted

        shown = " ".join(map(quoted, words))
        self._context.say(self._context.look.paint(f"$ errands {shown}", "cyan"))
        sys.stdout.flush()
        code = self._run(words, quiet=False)
        if code != expect:
            raise ErrandsError(f"`errands {shown}` gave exit code {code}, not {expect}; the demo stops here")

    def quietly(self, *words: str) -> None:
        self._run(words, quiet=True)

    @property
    def can_watch(self) -> bool:
        """Tell whether the library is there that watches files."""
        from importlib.util import find_spec

        return find_spec("watchfiles") is not None

    def make(self, folder: str) -> None:
        os.mkdir(f"{self.home}/{folder}")

    def write(self, name: str, text: str) -> None:
        self._context.say(self._context.look.paint(f"$ echo {text!r} > {name}", "cyan"))
        with open(f"{self.home}/{name}", "w", encoding="utf-8") as file:
            file.write(f"{text}\n")

    def await_run(self, name: str) -> None:
        """Wait until a standing task has run once."""
        import time

        engine = self._context.bootstrap.open_client(self._context.bootstrap.open_home(self.home))
        try:
            until = time.monotonic() + 20.0
            while engine.get(engine.resolve(name)).latest.completed_at is None:
                if time.monotonic() > until:
                    raise ErrandsError(f"nothing came of {name} within 20 s; the demo stops here")
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
        command = [sys.executable, "-m", "errands", *words]
        return subprocess.run(
            command, env=self._environ, cwd=self.home, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
        ).returncode


def play(stage: Stage) -> None:
    stage.tell("What is harmless starts at once, whoever asks; what it is, the judge says.")
    stage.type("judge", "git status && ls -l | head -3")
    stage.type("run", "--wait", "--batch", "demo", "ls -l | head -3")

    stage.tell(
        "An agent, which has no terminal, wants to delete something: that waits for the yes of a person."
    )
    stage.type("run", "--name", "clean", "--batch", "demo", "rm -rf build", expect=4)
    stage.type("ls")
    stage.tell("You look at it and say yes; then, and only then, it runs. Who said so stays on record.")
    stage.type("approve", "--wait", "clean")
    stage.type("audit")

    stage.tell(
        "Start slow work; each launch returns at once with an id. (--yes: this demo answers for itself.)"
    )
    count = 'for i in 1 2 3 4 5 6 7 8; do echo "::progress $i/8 compiling part $i"; sleep 0.5; done'
    stage.type("run", "--yes", "--name", "build", "--batch", "demo", "--key", "build", count)
    stage.type(
        "run", "--yes", "--name", "lint", "--batch", "demo", "echo 'src/app.py:3: unused import'; exit 3"
    )
    stage.type("run", "--yes", "--name", "server", "--batch", "demo", "--", "sleep", "600")

    stage.tell("Work that waits for other work, and is skipped when that fails.")
    stage.type(
        "run", "--yes", "--name", "tests", "--batch", "demo", "--after", "build", "echo '89 passed in 2.1s'"
    )
    stage.type("run", "--yes", "--name", "deploy", "--batch", "demo", "--after", "lint", "echo never printed")

    stage.tell("Everything at a glance: progress with time left, what failed, what waits.")
    stage.type("wait", "lint", expect=3)
    stage.type("ls")

    stage.tell("Now the worst: the daemon is killed in the middle of the build.")
    stage.kill_daemon()
    stage.type("daemon", "status", expect=1)

    stage.tell("Whoever waits has it started again. The build never noticed: same process, every line.")
    stage.type("wait", "tests")
    stage.type("logs", "build", "--tail", "3")
    stage.type("ls")

    stage.tell("Ask an agent. Without a model it is the offline one, which carries out what is quoted.")
    stage.type(
        "ask", "--name", "agent", "--batch", "demo", "--wait", "What is here? Look with `ls -A | head -3`."
    )
    stage.tell("Ask more in the same session, and in a fork of it, which leaves the session alone.")
    stage.type("resume", "--wait", "agent", "And who am I? `id -u`")
    stage.type(
        "ask", "--name", "fork", "--batch", "demo", "--wait", "--fork", "agent", "What was said before?"
    )
    stage.type("sessions")

    stage.tell("Work that comes again: on a schedule, and when something happens, such as a new file.")
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

    stage.tell("Stop what is no longer wanted: the whole process tree ends, and that is checked.")
    stage.type("cancel", "server")

    stage.tell("What went wrong, with the facts and the last lines of output; then run it again.")
    stage.type("show", "lint")
    stage.type("restart", "lint")
    stage.type("wait", "lint", expect=3)

    stage.tell("Whoever asked is told of every end exactly once, the kill notwithstanding.")
    stage.type("notices")
    stage.type("notices")

    stage.tell("Is all well? The doctor looks at store, daemon, runs, notices, permissions.")
    stage.type("doctor")


VERBS = (
    Verb(
        name="demo",
        summary="see the main work end to end, in under a minute, on a home of its own",
        run=demo,
        options=(Option(flags=("--keep",), help="keep the home of the demo afterwards"),),
    ),
)
