"""The run directory: the name and format of every file of a run, for everything that writes or reads them.

    record.<attempt>  the run record of an attempt: lines `run`, `pid` and `exit`, or the one word `tombstone`
    output.log        a header, then what the run printed, up to half of its cap
    output.tail       a note, then a ring buffer with the end of what it printed beyond that
    output.<n>.log    what an earlier attempt of an agent printed
    progress          the latest progress that the task reported
    control           the socket that accepts input
    held              how long an agent has waited for others
    pause             whether the run should be paused: 1 or 0
    paused            exists while every process of the run is stopped
    placement         where a run is that another host carries out (`ports/fleet/placement.py`)
    placement.input.N input for it, and whether it was taken (`ports/fleet/spool.py`)
    speech            what an agent in a chat says, as it is generated
    event.json        the events that caused the run
    files/            all that a task in a sandbox may write to

Everything else in it belongs to the task. It can also replace each of these files, so `own_file` opens them.
Shims load this module, too, so it imports next to nothing.
"""

from __future__ import annotations

import errno
import os
import stat

from errands.ports.own_file import open_file, open_own, replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from errands.model.text.progress import Progress

    Word = str | int | float

LOG, TAIL = "output.log", "output.tail"
PROGRESS, CONTROL, WAIT = "progress", "control", "held"
PAUSE, PAUSED, PLACEMENT = "pause", "paused", "placement"
SPEECH, EVENT_FILE, FILES = "speech", "event.json", "files"
VERSION = 2  # of the run record; since 2 its shim looks at the pause when it gets SIGUSR1
TOMBSTONE = "tombstone"  # the whole run record of an attempt that will never run

STARTS_WITHIN = 10.0  # seconds until a started run takes input
# What a sender of input is told, by the run itself or by its record.
OVER = "the run is over, so it takes no input"
CUT_SHORT = "the run ended before it took all of it"
NO_INPUT = "the run was started without input; start it with --stdin or --pty to send it some"

NOTE_SIZE = 64  # bytes before the ring buffer itself
_OURS = (LOG, TAIL, PROGRESS, CONTROL, WAIT, f"{WAIT}.new", PAUSE, PAUSED, PLACEMENT, SPEECH, EVENT_FILE)
_OUR_BEGINNINGS = ("record.", f"{PLACEMENT}.")
_STARTED = b"# started "
LONGEST_HEADER = 1 << 20


def create(directory: str, header: bytes) -> None:
    """Create the directory of a run with the log in it, before the run is in the store.

    A disk error does not prevent the launch: the shim creates what is missing.
    """
    try:
        _make(directory)
    except OSError:
        return
    path = f"{directory}/{LOG}"
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            if os.write(file, header) < len(header):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(file)
    except OSError:
        # Without a log the directory would look as if the run had started and removed it.
        for remove, made in ((os.unlink, path), (os.rmdir, directory)):
            try:
                remove(made)
            except OSError:
                pass


def is_replaced(directory: str) -> bool:
    """Return whether a task put something else in the place of its directory, or locked us out of it."""
    try:
        return not stat.S_ISDIR(os.lstat(directory).st_mode) or not os.access(directory, os.R_OK | os.X_OK)
    except OSError:
        return False


def make_own(directory: str) -> None:
    """Create the directory of a run if its task removed it; move away what the task put in its place."""
    if is_replaced(directory):
        os.rename(directory, f"{directory}.replaced")
    os.makedirs(directory, 0o700, exist_ok=True)


def _make(directory: str) -> None:
    try:
        os.mkdir(directory, 0o700)
    except FileNotFoundError:
        os.mkdir(os.path.dirname(directory), 0o700)  # the first run of a home; never create the home itself
        os.mkdir(directory, 0o700)


def files_in(directory: str) -> list[str]:
    """Return the names of the files that a task left in its run directory."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []
    found = [name for name in names if name not in _OURS and not name.startswith(_OUR_BEGINNINGS)]
    if FILES in found and os.path.isdir(own_files(directory)):
        found.remove(FILES)
        found += [f"{FILES}/{name}" for name in files_in(own_files(directory))]
    return found


def own_files(directory: str) -> str:
    """Return the part of a run directory that a task in a sandbox has."""
    return f"{directory}/{FILES}"


def make_own_files(directory: str) -> None:
    """Create the part of a run directory that a task in a sandbox has."""
    for each in (directory, own_files(directory)):
        try:
            _make(each)
        except FileExistsError:
            pass


def remove_tree(directory: str) -> None:
    """Remove a run directory; the janitor later removes what cannot be removed now."""
    import shutil

    # Rename it first, so that it cannot become the directory of a later run while it is being emptied.
    gone = directory if directory.endswith(".gone") else f"{directory}.gone"
    try:
        os.rename(directory, gone)
    except OSError:
        gone = directory
    try:
        os.unlink(gone)  # a task replaced its directory
    except OSError:
        shutil.rmtree(gone, ignore_errors=True)


def read_at(file: int, size: int, at: int) -> bytes:
    """Read `size` bytes from an open file, or up to its end; a missing file (-1) is empty."""
    content = piece = os.pread(file, size, at) if size > 0 and file >= 0 else b""
    while piece and len(content) < size:
        piece = os.pread(file, size - len(content), at + len(content))
        content += piece
    return content


# The run record of an attempt.


def record_path(directory: str, attempt: int) -> str:
    return f"{directory}/record.{attempt}"


def attempts(directory: str) -> list[int]:
    """Return the attempts that have a run record, the latest first."""
    names = (name.partition(".") for name in os.listdir(directory))
    return sorted((int(number) for word, _, number in names if word == "record" and number.isdecimal()))[::-1]


def first_line(run: str, *, attempt: int, shim: int, boot: str, header: int, cap: int) -> bytes:
    """Return the first line of a run record; the output starts at `header`, the ring after `head` bytes."""
    facts: dict[str, Word] = {"attempt": attempt, "shim": shim, "boot": boot, "v": VERSION}
    return record_line(f"run {run}", facts | {"header": header, "head": head_size(cap)})


def pid_line(pid: int, *, since: float, until: float, step: int) -> bytes:
    """Return the line with a command's pid and start time, so that a reused pid is not mistaken for it."""
    return b"pid %d since=%.2f until=%.2f step=%d\n" % (pid, since, until, step)


def record_line(word: str, fields: Mapping[str, Word]) -> bytes:
    """Return one line of a run record: a word, then `key=value` for every field."""
    for key, value in fields.items():
        word += f" {key}={_quote(value) if type(value) is str else value}"
    return word.encode("utf-8", "backslashreplace") + b"\n"


def record_lines(content: bytes) -> list[str]:
    """Split a run record into its lines; a last one without a newline was cut off and does not count."""
    return content.decode("utf-8", "replace").split("\n")[:-1]


def fields_of(text: str) -> dict[str, str]:
    """Parse the `key=value` fields of a line."""
    pairs = (word.partition("=") for word in text.split(" "))
    return {key: _unquote(value) for key, found, value in pairs if found}


def _quote(value: str) -> str:
    value = value.replace("%", "%25").replace(" ", "%20")
    return value.replace("\n", "%0A").replace("\r", "%0D") if not value.isprintable() else value


def _unquote(word: str) -> str:
    if "%" not in word:
        return word
    first, *others = word.split("%")
    try:
        return first + "".join(chr(int(part[:2], 16)) + part[2:] for part in others)
    except ValueError:
        return word  # the task wrote into its own run record


# Output.


def head_size(cap: int) -> int:
    """Return how many bytes of output are kept in the log; the rest of the cap is for the ring."""
    return cap // 2


def header_of(file: int) -> bytes:
    """Read the header of an open log: lines that begin with `# `, up to the first empty one."""
    content = os.pread(file, LONGEST_HEADER, 0)
    if not content.startswith(b"# "):
        return b""
    end = content.find(b"\n\n")
    return content if end < 0 else content[: end + 2]


def has_begun(directory: str) -> bool:
    """Return whether the log says that its run was started: the shim then completes the header."""
    try:
        file = open_file(f"{directory}/{LOG}")
    except OSError:
        return True  # the run removed or replaced it
    try:
        return is_completed(header_of(file))
    finally:
        os.close(file)


def is_completed(header: bytes) -> bool:
    """Return whether this is the header of a run that was started; a task may have removed it."""
    return header[header.rfind(b"\n", 0, -2) + 1 :].startswith(_STARTED) or not header


def keep_log(directory: str, *, attempt: int) -> None:
    """Set aside the log of an earlier attempt whose process died."""
    if attempt > 1 and has_begun(directory):
        try:
            os.rename(f"{directory}/{LOG}", f"{directory}/output.{attempt - 1}.log")
        except OSError:
            pass  # no log


def renew_log(directory: str, header: bytes) -> None:
    """Replace the log of a run that has not begun, if that is possible: its shim does so, too."""
    try:
        replace_file(f"{directory}/{LOG}", header)
    except OSError:
        pass


def ring_note(written: int, writing: int, size: int) -> bytes:
    """Return the note of a ring: complete up to `written`, maybe overwritten `size` before `writing`."""
    return (b"%d %d %d" % (written, writing, size)).ljust(NOTE_SIZE)


def read_ring_note(note: bytes) -> tuple[int, int, int]:
    """Parse `written`, `writing` and `size`; a damaged note means an empty ring."""
    words = note.split()
    if len(words) != 3 or not all(map(bytes.isdigit, words)):
        return 0, 0, 1
    written, writing, size = map(int, words)
    return written, writing, max(size, 1)


def last_output(directory: str) -> float | None:
    """Return when a run last printed something; None if it has no log yet."""
    last = None
    for name in (LOG, TAIL):  # after half of the cap only the second one is written
        try:
            last = max(last or 0.0, os.lstat(f"{directory}/{name}").st_mtime)
        except OSError:
            pass
    return last


# Progress.


def write_progress(directory: str, text: bytes) -> None:
    """Replace the shown progress, unless the disk is full."""
    try:
        replace_file(f"{directory}/{PROGRESS}", text + b"\n")
    except OSError:
        pass


def _read(path: str, most: int) -> bytes:
    file = open_file(path)
    try:
        return os.read(file, most)
    finally:
        os.close(file)


def reported_progress(directory: str) -> Progress | None:
    """Return the progress that a task reported explicitly."""
    text = progress_text(directory)
    if text is None:
        return None
    from errands.model.text import progress

    return progress.parse(text)


def progress_text(directory: str) -> str | None:
    """Return the progress that a task reported explicitly, as it wrote it."""
    for path in (f"{directory}/{PROGRESS}", f"{own_files(directory)}/{PROGRESS}"):
        try:
            return _read(path, 4096).decode("utf-8", "replace").strip()
        except OSError:
            continue
    return None


# The time an agent waits for a person, a shared model or a slot does not count towards its time-outs.


def write_wait(directory: str, *, total: float, since: float, last: float) -> None:
    """Write how many seconds the run waited, since when it is waiting (0: it is not), and when it last was.

    All of them are on the monotonic clock.
    """
    replace_file(f"{directory}/{WAIT}", b"%.3f %.3f %.3f" % (total, since, last))


def waited(directory: str, *, now: float) -> tuple[float, float]:
    """Return how many seconds a run has waited, and when it last did: now, if it is waiting.

    A run that died while it waited counts as waiting until now.
    """
    try:
        total, since, last = (float(each) for each in _read(f"{directory}/{WAIT}", 200).split())
    except (OSError, ValueError):
        return 0.0, 0.0
    return (total + max(0.0, now - since), now) if since else (total, last)


def forget_wait(directory: str) -> None:
    """Remove the waiting time of an earlier attempt."""
    try:
        os.unlink(f"{directory}/{WAIT}")
    except OSError:
        pass  # it never waited


# The pause of a run: what is wanted, and what is true.


def want_pause(directory: str, wanted: bool) -> None:
    """Write whether a run should be paused; its shim looks when it is told to, and at its start."""
    replace_file(f"{directory}/{PAUSE}", b"1" if wanted else b"0")


def pause_wanted(directory: str) -> bool | None:
    """Return whether a run should be paused; None if that was never asked for."""
    path = f"{directory}/{PAUSE}"
    try:
        # Hardly any run has the file, and every run looks for it.
        return _read(path, 1) == b"1" if os.access(path, os.F_OK) else None
    except OSError:
        return None


def note_paused(directory: str, is_paused: bool) -> None:
    path = f"{directory}/{PAUSED}"
    try:
        os.close(open_own(path, os.O_WRONLY)) if is_paused else os.unlink(path)
    except OSError:
        pass  # it was not there, or the disk is full


def is_paused(directory: str) -> bool:
    return os.path.lexists(f"{directory}/{PAUSED}")


def lock_of(run_directory: str) -> str:
    """Return the lock file of the daemon of a run's home."""
    return f"{os.path.dirname(os.path.dirname(run_directory))}/lock"


def scratch_of(run_directory: str, shim: int) -> str:
    """Return the scratch directory of read-only runs, one per shim."""
    return f"{os.path.dirname(os.path.dirname(run_directory))}/scratch/{shim}"
