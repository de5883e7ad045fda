"""Run a command in a sandbox as an ordinary user: `as_user.py UID HOME PROJECT RUN WORD...`.

Everything is imported before the user changes, who may not be able to read the interpreter's own files,
or ours.
"""

from __future__ import annotations

import os
import subprocess
import sys

import errands.model.text.secrets  # noqa: F401 - what a sandbox is given is looked through with it
from errands.engine.walls.sandbox import sandboxed
from errands.model.action import Sandbox
from errands.ports.home import Home
from errands.ports.runner import Launch
from errands.runners.shim.walls import enclosed
from errands.runners.shim.wire import start_message

user, home, project, run, *words = sys.argv[1:]
subprocess.run(["true"], check=True)  # loads what a child needs
if int(user) and os.geteuid() == 0:
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
launch = Launch(
    run_id="x.1", attempt=1, directory=run, header=b"", steps=(), cwd=project, cap=1, grace=1.0,
    base={"PATH": "/usr/bin:/bin", "HOME": home}, env={},
)  # fmt: skip
message = start_message(
    sandboxed(launch, Sandbox(writable=(project,), network=False), Home(path=f"{home}/e"))
)
argv, files = enclosed(message["walls"], words, {**launch.base, "HOME": home})
sys.exit(subprocess.run(argv, env={}, pass_fds=files, stdin=subprocess.DEVNULL, check=False).returncode)
