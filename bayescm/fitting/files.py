"""Trees in files, with a checksum: what is loaded is what was saved, or an error."""

import os
from hashlib import sha256
from pathlib import Path

import xarray as xr

from bayescm.validate import fail

# At the end of the file, where netCDF readers do not look.
_MARK, _DIGITS = b"\nbayescm sha256 ", 64


def save(fitted: xr.DataTree, path: str | os.PathLike) -> None:
    """
    Write a tree to a netCDF file.

    Parameters
    ----------
    fitted : DataTree
        As `fit` returns it.
    path : str or path
        The file; an existing one is replaced, but only once everything is written. A checksum
        stands at its end, which `load` looks at; other readers of netCDF do not see it.

    Examples
    --------
    >>> import tempfile
    >>> import bayescm as bcm
    >>> tree = bcm.fit(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), draws=100, random_seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(tree, f"{folder}/fit.nc")
    ...     load(f"{folder}/fit.nc")["posterior"].identical(tree["posterior"])
    True
    """
    path = Path(path)
    if not isinstance(fitted, xr.DataTree):
        allowed = "a tree as fit() returns it"
        raise fail("not a fit", type(fitted).__name__, allowed, "fit the evidence first", TypeError)
    if not path.parent.is_dir():
        raise fail("no such folder", str(path.parent), "an existing folder", "create it first")
    partial = path.with_name(f".{path.name}.part")
    try:
        fitted.to_netcdf(partial, engine="netcdf4")
        with partial.open("r+b") as file:
            digest = _digest(file, partial.stat().st_size)
            file.seek(0, os.SEEK_END)
            file.write(_MARK + digest)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def load(path: str | os.PathLike) -> xr.DataTree:
    """
    Read a tree that `save` wrote.

    Parameters
    ----------
    path : str or path
        The netCDF file.

    Returns
    -------
    xarray.DataTree
        In memory; the file is closed.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it is not a file that `save` wrote, or if it has been damaged since.

    Examples
    --------
    >>> import bayescm as bcm
    >>> import tempfile
    >>> tree = bcm.fit(bcm.from_cells(tp=6, fn=2, fp=3, tn=9), draws=100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bcm.save(tree, f"{folder}/fit.nc")
    ...     print(load(f"{folder}/fit.nc").attrs["model"])
    dirichlet_multinomial
    """
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file {path}; save(tree, path) writes one")
    if not _is_whole(Path(path)):
        todo = "restore it from a copy, or fit again"
        raise fail("the file is damaged", str(path), "what save wrote, unchanged", todo)
    try:
        with xr.open_datatree(path, engine="netcdf4") as fitted:
            return fitted.load()
    except (OSError, ValueError, KeyError, RuntimeError, AttributeError):
        todo = "write one with save(tree, path)"
        raise fail("not a saved fit", str(path), "a netCDF file", todo) from None


def _digest(file, size):
    """Return the checksum of the first bytes of an open file, as text."""
    file.seek(0)
    digest, n_left = sha256(), size
    while n_left and (block := file.read(min(n_left, 2**20))):
        digest.update(block)
        n_left -= len(block)
    return digest.hexdigest().encode()


def _is_whole(path):
    """Say whether a file ends in its checksum; a file without one is another program's."""
    size = path.stat().st_size - len(_MARK) - _DIGITS
    if size < 0:
        return True
    with path.open("rb") as file:
        file.seek(size)
        header = file.read()
        if not header.startswith(_MARK):
            return True
        return header[len(_MARK) :] == _digest(file, size)
