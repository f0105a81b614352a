"""Files at an address of the web, which are fetched once."""

import atexit
import re
import shutil
from functools import lru_cache
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp

from bayescm.validate import fail

_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):/{1,2}(?=[^/])")  # a Path has lost a slash
_SECONDS = 60  # that a server may be silent


def at_hand(path: str | Path) -> Path:
    """
    Return the path of a file, fetched first where it is at an address of the web.

    Parameters
    ----------
    path : str or Path
        Of a file or folder, or ``https://...``; what is at an address is fetched once in a process,
        to a temporary file.

    Raises
    ------
    ValueError
        If it is an address of another kind.
    OSError
        If it could not be fetched.
    """
    found = _ADDRESS.match(str(path))
    if found is None:
        return Path(path)
    kind = found[1].lower()
    if kind not in ("http", "https"):
        todo = "fetch it first, or read it with pandas and pass it to from_frame"
        raise fail("an address that is not of the web", kind, "http or https", todo)
    return _fetched(f"{kind}://{str(path)[found.end() :]}")


@lru_cache(maxsize=8)
def _fetched(address):
    """Return the file, which is deleted when the process ends."""
    from urllib.error import HTTPError  # most files are at hand
    from urllib.parse import unquote, urlsplit
    from urllib.request import urlopen

    parts = urlsplit(address)
    shown = f"{parts.scheme}://{parts.hostname}{parts.path}"  # without a password or token
    folder = Path(mkdtemp(prefix="bayescm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / (PurePosixPath(unquote(parts.path)).name or "index")
    try:
        with urlopen(address, timeout=_SECONDS) as source, file.open("wb") as copy:
            shutil.copyfileobj(source, copy)
            wanted = source.headers.get("Content-Length")
    except (OSError, ValueError) as problem:
        why, todo = str(getattr(problem, "reason", problem)), "check the address"
        if isinstance(problem, HTTPError):
            problem.close()
        raise fail(f"{shown} could not be fetched", why, "a file", todo, OSError) from None
    if wanted is not None and file.stat().st_size != int(wanted):
        raise fail(f"{shown} was cut off", file.stat().st_size, wanted, "try again", OSError)
    return file
