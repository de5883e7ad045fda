"""A connection to the SQLite file: short transactions, waiting for locks, and errors of our own.

A transaction never awaits. This module waits for the write lock itself, in much finer steps than SQLite
does, because a daemon and its clients commit many times a second.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from errands.model.errors import HomeError, StoreError, StoreTooNew, StoreUnreadable, StoreUnwritable
from errands.ports.home import make_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from errands.config.sections import Durability

    T = TypeVar("T")
else:
    # The package around it adds conversions that are not used here, and takes every command 0.6 ms.
    import _sqlite3 as sqlite3

SCHEMA = 8  # the number of migrations, which are loaded only for a store that lacks some
PATIENCE = 5.0  # seconds to wait for another process's transaction
# Pages in the journal before they are copied into the store, which waits for the disk several times: after
# about 500 short runs instead of 100.
_JOURNAL = 4000
IntegrityError = sqlite3.IntegrityError
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Connection:
    """One process's connection. `with connection:` is a transaction; an inner one joins the outer."""

    def __init__(self, path: str, *, durability: Durability = "normal", new: bool = False) -> None:
        self.path = path
        self._depth = 0
        _prepare(path, new=new)
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=0, cached_statements=256)
            self._patiently(lambda: self._db.execute("PRAGMA journal_mode = WAL").fetchone())
            self._db.execute(f"PRAGMA synchronous = {durability}")
            self._db.execute("PRAGMA foreign_keys = ON")
            self._db.execute(f"PRAGMA wal_autocheckpoint = {_JOURNAL}")
            found = self.version()
        except sqlite3.Error as error:
            raise _meaning(error, path) from error
        if found > SCHEMA:
            self._db.close()
            raise StoreTooNew(
                f"the store {path} has schema {found}, this version of Errands knows {SCHEMA}; "
                "nothing was changed: upgrade Errands, or point ERRANDS_HOME elsewhere"
            )
        if found < SCHEMA:
            self._migrate()

    def _migrate(self) -> None:
        """Bring the file to the newest schema; several processes may try at once, and one does it."""
        from errands.stores.sqlite.migrations import MIGRATIONS

        with self:
            for number in range(self.version(), SCHEMA):
                for statement in _statements(MIGRATIONS[number]):
                    self.write(statement)
                self.write(f"PRAGMA user_version = {number + 1}")

    def version(self) -> int:
        return int(self._patiently(lambda: self._db.execute("PRAGMA user_version").fetchone())[0])

    @property
    def own_changes(self) -> int:
        """Return how many rows this connection has changed so far."""
        return self._db.total_changes

    def read(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """Run a query; it waits for no writer, except while the journal is restarted."""
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            return self._after(error, lambda: self._db.execute(sql, values).fetchall())

    def write(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Change something inside a transaction; integrity errors are passed on to the caller."""
        try:
            return self._db.execute(sql, values)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise _meaning(error, self.path) from error

    def write_all(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        try:
            self._db.executemany(sql, rows)
        except sqlite3.Error as error:
            raise _meaning(error, self.path) from error

    def __enter__(self) -> Connection:
        if self._depth == 0:
            try:
                self._db.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                self._after(error, lambda: self._db.execute("BEGIN IMMEDIATE"))
        self._depth += 1
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._depth -= 1
        if self._depth:
            return
        try:
            self._db.execute("COMMIT" if kind is None else "ROLLBACK")
        except sqlite3.Error as failure:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if kind is None:
                raise _meaning(failure, self.path) from failure

    def close(self) -> None:
        self._db.close()

    def _after(self, error: sqlite3.Error, act: Callable[[], T]) -> T:
        """Try again if the store was locked; raise any other error as one of ours."""
        try:
            if _code(error) not in _BUSY:
                raise error
            return self._patiently(act)
        except sqlite3.Error as failure:
            raise _meaning(failure, self.path) from failure

    def _patiently(self, act: Callable[[], T]) -> T:
        pause, deadline = 0.00005, 0.0
        while True:
            try:
                return act()
            except sqlite3.OperationalError as error:
                if _code(error) not in _BUSY:
                    raise
                moment = time.monotonic()
                deadline = deadline or moment + PATIENCE
                if moment > deadline:
                    raise
                time.sleep(pause)
                pause = min(pause * 1.5, 0.001)


def _prepare(path: str, *, new: bool) -> None:
    """Create the directory and the file so that only their owner can read them."""
    folder = os.path.dirname(path)
    try:
        make_home(folder)
        facts = os.stat(folder)
        if facts.st_uid != os.geteuid():
            raise HomeError(
                f"{folder} belongs to another user (uid {facts.st_uid}); "
                "set ERRANDS_HOME to a directory of your own"
            )
        if facts.st_mode & 0o077:
            if not os.path.exists(path) and os.listdir(folder):
                raise HomeError(
                    f"{folder} has other files in it and can be read by others; "
                    "set ERRANDS_HOME to a new directory, which is created for you alone"
                )
            os.chmod(folder, 0o700)
        if _ensure_file(path) == 0 and not new and _has_entries(f"{folder}/runs"):
            raise StoreUnreadable(
                f"the store {path} is empty, but {folder}/runs has runs of an earlier one; "
                "nothing was changed: restore the store from a backup, or move the runs away to start afresh"
            )
    except (FileExistsError, NotADirectoryError) as error:
        raise HomeError(
            f"cannot use {folder} for the store: it, or a part of its path, is not a directory; "
            "set ERRANDS_HOME to a directory of your own"
        ) from error
    except OSError as error:
        raise StoreUnwritable(
            f"cannot use {folder} for the store: {error.strerror}; "
            "make it writable, or set ERRANDS_HOME to a directory that is"
        ) from error


def _ensure_file(path: str) -> int:
    """Create the file unless it exists, and return its size.

    An existing file is never opened here: when a process closes any handle to a file, the system drops all
    its locks on it, including those of a database it has open. Others would then believe that the store is
    unused and remove its journal, and this process would lose what it commits.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        pass
    facts = os.lstat(path)
    if not stat.S_ISREG(facts.st_mode) or not os.access(path, os.R_OK | os.W_OK):
        raise PermissionError(errno.EACCES, f"{path} is not a file that can be written")
    return facts.st_size


def _has_entries(folder: str) -> bool:
    try:
        return bool(os.listdir(folder))
    except OSError:
        return False


def _code(error: sqlite3.Error) -> int | None:
    """Return SQLite's primary code; errors of the Python module, such as invalid UTF-8, have none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _meaning(error: sqlite3.Error, path: str) -> StoreError:
    """Return the error that says what an SQLite error means, and what to do."""
    match _code(error):
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | None:
            return StoreUnreadable(
                f"the store {path} is damaged ({error}); nothing was changed: run `errands daemon stop`, "
                "then `errands doctor --repair`, which sets the damaged file aside and keeps what can be read"
            )
        case sqlite3.SQLITE_FULL:
            return StoreUnwritable(
                f"the disk of {path} is full; nothing was changed: free some space and try again"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return StoreUnwritable(
                f"the store {path} cannot be written ({error}); check its permissions and its disk"
            )
        case sqlite3.SQLITE_IOERR:
            return StoreUnwritable(
                f"reading or writing {path} failed ({error}); check the disk: `errands doctor`"
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreError(
                f"the store {path} was locked by another process for {PATIENCE:g} s; "
                "a suspended (SIGSTOP) process may hold it: see `errands doctor`"
            )
        case sqlite3.SQLITE_ERROR if str(error).startswith(("no such table", "no such column")):
            return StoreError(
                f"the store {path} was written by another version of Errands ({error}); nothing was changed: "
                "use that version for it, or point ERRANDS_HOME elsewhere"
            )
        case _:
            return StoreError(f"the store {path} refused: {error}")


def _statements(script: str) -> list[str]:
    """Split a script into statements, so that all of them run in one transaction."""
    statements, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements
