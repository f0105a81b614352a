"""The open database of a ledger: its file, its transactions, and what a fork makes of them."""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import sqlalchemy as sa

from bayescm.online.store.address import file_of, is_memory, parse, shown
from bayescm.online.store.engine import PROBLEMS, File, begin, connect, explain
from bayescm.online.store.schema import make, prepare
from bayescm.validate import fail

_open: "weakref.WeakSet[Database]" = weakref.WeakSet()
_forking = threading.RLock()


class Database:
    """
    A database that threads share one transaction at a time, and that a fork leaves whole.

    Parameters
    ----------
    store : str or path
    create : bool, default True
        Whether to create a ledger if there is none.
    timeout : float, default 30
        Seconds to wait for a database that another process has locked.
    """

    def __init__(self, store: str | os.PathLike, *, create: bool = True, timeout: float = 30.0):
        self._url = parse(store)
        self._turn = threading.RLock()  # one transaction at a time, whichever thread it is of
        self._labels: dict[str, str] = {}  # of classifiers, once they were checked
        self._gone = False  # whether this process has no share in the database, see `_in_child`
        self._file = self._found(create, timeout)
        self._engine = connect(self._url, timeout=timeout)
        weakref.finalize(self, self._engine.dispose)
        try:
            with self._plain_errors("open the ledger"):
                prepare(self._engine, self._url, create=create)
        except BaseException:
            self._engine.dispose()
            raise
        with _forking:
            _open.add(self)

    def _found(self, create, timeout):
        """Return the file of the ledger, made where there is none, or None where it has none."""
        path = file_of(self._url)
        if path is None:
            return None
        if not path.is_file():
            if not create or path.exists():
                todo = "check the path, or add a batch to start a ledger"
                raise fail("no ledger", str(path), "a file that a monitor has written", todo)
            try:
                with self._plain_errors("make the ledger"):
                    make(path, timeout)
            except FileNotFoundError:
                problem = OSError("unable to open database file: no such folder")
                raise explain(problem, "make the ledger", self._url) from None
        if not path.stat().st_size:
            todo = "restore a backup, or delete it to start a ledger"
            raise fail("not a ledger, or a damaged one", str(path), "not an empty file", todo)
        return File(path)

    def __repr__(self):
        return f"Ledger({shown(self._url)!r})"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Close the connections; the ledger opens them again when it is used."""
        with self._turn:
            if not is_memory(self._url):
                self._engine.dispose()

    def alone(self) -> AbstractContextManager:
        """Return a lock that keeps other threads from the ledger; processes need none."""
        return self._turn

    @property
    def is_sqlite(self) -> bool:
        """Whether it is an SQLite database, which is copied by its pages."""
        return self._engine.dialect.name == "sqlite"

    @contextmanager
    def transaction(self, doing: str, *, write: bool = False) -> Iterator[sa.Connection]:
        """Open a transaction of this thread alone; `doing` is what an error says was tried."""
        with self._turn, self._plain_errors(doing):
            if self._gone:
                todo = "give the ledger a file, which processes can share"
                raise fail("a ledger in memory is that of one process", ..., "no fork", todo)
            if self._file is not None:
                self._file.check(write=write)
            with begin(self._engine, write=write) as connection:
                yield connection
            if self._file is not None:  # before anything is acknowledged
                self._file.check(write=False)

    @contextmanager
    def _plain_errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except PROBLEMS as problem:
            # "from None": the chained error would print the statement and its values.
            raise explain(problem, doing, self._url) from None


def _before_fork():
    """Let no transaction be under way and no connection be open while a process is doubled."""
    _forking.acquire()
    for each in _open:
        each._turn.acquire()
        if not is_memory(each._url):
            each._engine.dispose()


def _in_parent():
    for each in _open:
        each._turn.release()
    _forking.release()


def _in_child():
    for each in _open:
        each._turn = threading.RLock()
        each._gone = each._gone or is_memory(each._url)
    _forking.release()


os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
