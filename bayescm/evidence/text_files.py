"""Text files, with or without compression."""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bayescm.evidence.number_format import NotANumberError
from bayescm.validate import fail

PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
# Exceptions raised by damaged compressed files.
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile)
# Maximum length of a line of a table in bytes.
LONGEST_LINE = 1 << 24


def suffixes(path: Path) -> list[str]:
    """
    Return the lower-case suffixes of a path, without a suffix for compression.

    Examples
    --------
    >>> suffixes(Path("answers.jsonl.GZ"))
    ['.jsonl']
    """
    ends = [suffix.lower() for suffix in path.suffixes]
    return ends[:-1] if ends and ends[-1] in (*PACKED, ".zip") else ends


def open_text(path: Path) -> io.TextIOWrapper:
    """Open a text file, compressed or not, with a limit on the length of lines."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        archive = zipfile.ZipFile(path)
        names = archive.namelist()
        if len(names) != 1:
            raise ValueError(f"the archive holds {len(names)} files, not one")
        raw: Any = archive.open(names[0])
    else:
        raw = PACKED.get(suffix, open)(path, "rb")
    return io.TextIOWrapper(io.BufferedReader(_ShortLines(raw), 1 << 20), "utf-8-sig", newline="")


class _ShortLines(io.RawIOBase):
    """Stream that raises an error if a line is too long for a table."""

    def __init__(self, raw):
        self.raw, self.since = raw, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self.raw.read(len(buffer))
        end = data.rfind(b"\n")
        self.since = self.since + len(data) if end < 0 else len(data) - end
        if self.since > LONGEST_LINE:
            raise ValueError(f"a line is longer than {LONGEST_LINE >> 20} MB: this is no table")
        buffer[: len(data)] = data
        return len(data)

    def close(self):
        self.raw.close()
        super().close()


@contextmanager
def plainly(path: Path) -> Iterator[None]:
    """Convert errors that occur while reading a file to errors with advice for users."""
    try:
        yield
    except DAMAGED as problem:
        cut = isinstance(problem, EOFError)
        why = "the compressed data end too early" if cut else str(problem)
        raise fail(
            f"{path.name} is {'cut off' if cut else 'damaged'}: {{}}",
            why,
            "",
            "download it or write it again",
        ) from None
    except UnicodeDecodeError as problem:
        raise fail(
            f"{path.name} is not valid UTF-8: {{}}", str(problem), "", "save it as UTF-8"
        ) from None
    except NotANumberError as problem:
        raise problem.refusal(path.name) from None
    except (ValueError, OSError) as problem:
        raise fail(
            f"{path.name} cannot be read: {{}}",
            str(problem),
            "",
            "check that the file has the format its name says, with a line of column names",
        ) from None
