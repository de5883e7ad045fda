"""Signals as plain numbers: the `signal` module would bring `enum` into every shim."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import (
        SIG_IGN,
        SIG_SETMASK,
        SIGCHLD,
        SIGCONT,
        SIGHUP,
        SIGINT,
        SIGKILL,
        SIGSTOP,
        SIGTERM,
        pidfd_send_signal,
        pthread_sigmask,
        set_wakeup_fd,
        signal,
        valid_signals,
    )
else:
    from _signal import (
        SIG_IGN,
        SIG_SETMASK,
        SIGCHLD,
        SIGCONT,
        SIGHUP,
        SIGINT,
        SIGKILL,
        SIGSTOP,
        SIGTERM,
        pthread_sigmask,
        set_wakeup_fd,
        signal,
        valid_signals,
    )

    try:
        from _signal import pidfd_send_signal
    except ImportError:  # only Linux has it, and only Linux's part asks for it
        pidfd_send_signal = None

__all__ = [
    "SIGCHLD",
    "SIGCONT",
    "SIGHUP",
    "SIGINT",
    "SIGKILL",
    "SIGSTOP",
    "SIGTERM",
    "SIG_IGN",
    "SIG_SETMASK",
    "pidfd_send_signal",
    "pthread_sigmask",
    "set_wakeup_fd",
    "signal",
    "valid_signals",
]
