"""A decoy: a foreign process that resembles a task and records every signal it receives.

The engine must never signal it.
"""

from __future__ import annotations

import os
import signal
import sys


def main(path: str) -> None:
    every = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    signal.pthread_sigmask(signal.SIG_BLOCK, every)
    while True:
        number = signal.sigwait(every)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, f"{number}\n".encode())
        if number == signal.SIGUSR2:  # how the harness says that the round is over
            return


if __name__ == "__main__":
    main(sys.argv[1])
