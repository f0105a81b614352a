"""Files of fits and evidence, with checksums that `load` verifies."""

import os
from hashlib import sha256
from pathlib import Path

import xarray as xr

from bayescm.evidence.evidence_type import TYPE_ATTRIBUTE
from bayescm.evidence.stored import from_dataset, to_dataset
from bayescm.validate import fail

# Mark at the end of the file, which netCDF readers ignore.
_MARK = b"\nbayescm sha256 "
_DIGITS = 64  # length of the checksum after the mark


def save(
    evidence: xr.DataTree | xr.DataArray | xr.Dataset,
    path: str | os.PathLike,
) -> None:
    """
    Save a fit or evidence to a netCDF file.

    Parameters
    ----------
    evidence : DataTree, DataArray or Dataset
        Fit as returned by `fit`, or evidence of any type.
    path : str or path
        Name of the file. An existing file is replaced after everything has been written. The file
        ends with a checksum, which `load` verifies and other netCDF readers ignore.

    Raises
    ------
    TypeError
        If the object is neither a fit nor evidence.
    ValueError
        If the folder does not exist, or the evidence is invalid.

    Examples
    --------
    >>> import tempfile
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> tree = bcm.fit(counts, draws=100, random_seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(tree, f"{folder}/fit.nc")
    ...     save(counts, f"{folder}/counts.nc")
    ...     load(f"{folder}/fit.nc")["posterior"].identical(tree["posterior"])
    ...     load(f"{folder}/counts.nc").identical(counts)
    True
    True
    """
    path = Path(path)
    if not isinstance(evidence, xr.DataTree | xr.DataArray | xr.Dataset):
        todo = "make one with fit or from_..."
        raise fail(
            f"A {type(evidence).__name__} cannot be saved: only fits and evidence can",
            ...,
            "",
            todo,
            TypeError,
        )
    stored = evidence if isinstance(evidence, xr.DataTree) else to_dataset(evidence)
    if not path.parent.is_dir():
        raise fail("The folder {} does not exist", str(path.parent), "", "create it first")
    partial = path.with_name(f".{path.name}.part")
    try:
        stored.to_netcdf(partial, engine="netcdf4")
        with partial.open("r+b") as file:
            digest = _digest(file, partial.stat().st_size)
            file.seek(0, os.SEEK_END)
            file.write(_MARK + digest)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def load(path: str | os.PathLike) -> xr.DataTree | xr.DataArray | xr.Dataset:
    """
    Load a fit or evidence that was saved by `save`.

    Parameters
    ----------
    path : str or path
        Name of the netCDF file.

    Returns
    -------
    DataTree, DataArray or Dataset
        Fit or evidence. It is in memory, and the file is closed.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file does not match its checksum, or cannot be read as a fit or evidence in netCDF
        format.

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
        todo = "save(tree, path) or save(evidence, path) writes one"
        raise FileNotFoundError(f"there is no file {path}; {todo}")
    if not _is_whole(Path(path)):
        todo = "restore it from a copy, or save it again"
        raise fail("The file {} is damaged", str(path), "", todo)
    try:
        with xr.open_datatree(path, engine="netcdf4") as opened:
            stored = opened.load()
    except (OSError, ValueError, KeyError, RuntimeError, AttributeError):
        todo = "write one with save(tree, path) or save(evidence, path)"
        raise fail(
            "{} is not a saved fit or evidence in netCDF format", str(path), "", todo
        ) from None
    return from_dataset(stored.to_dataset()) if TYPE_ATTRIBUTE in stored.attrs else stored


def _digest(file, size):
    """Return the checksum of the first bytes of an open file, as text."""
    file.seek(0)
    digest, n_left = sha256(), size
    while n_left and (block := file.read(min(n_left, 2**20))):
        digest.update(block)
        n_left -= len(block)
    return digest.hexdigest().encode()


def _is_whole(path):
    """Check whether a file matches its checksum, if it has one."""
    size = path.stat().st_size - len(_MARK) - _DIGITS
    if size < 0:
        return True
    with path.open("rb") as file:
        file.seek(size)
        header = file.read()
        if not header.startswith(_MARK):
            return True
        return header[len(_MARK) :] == _digest(file, size)
