"""Typed tables: Parquet and Arrow files, folders of such files, and DuckDB databases."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

import pandas as pd

from bayescm.validate import fail, suggest

TYPED = (".parquet", ".feather", ".arrow")
_DATABASE, _PARTING = ".duckdb", "::"
NUMBER = "_bayescm_n"  # column with the frequency of each combination of labels
_PIECE = 1 << 20  # rows per batch


class StoredTable(Protocol):
    """Interface of a table that may be larger than memory."""

    @property
    def names(self) -> list[str]:
        """Names of the columns."""

    def columns(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns with their original types."""

    def head(self, rows: int) -> pd.DataFrame:
        """Return all columns of the first rows."""

    def counted(self, names: Sequence[str]) -> pd.DataFrame:
        """Return the frequency of each combination of labels, in the column ``NUMBER``."""


def open_table(path: Path) -> StoredTable | None:
    """Return the typed table at a path, or None if the path is not a typed table."""
    name, _, table = str(path).partition(_PARTING)
    if name.lower().endswith(_DATABASE):
        return _InDuckDB(Path(name), table)
    if path.is_dir():
        kinds = {file.suffix.lower() for file in path.rglob("*") if file.is_file()}
        if formats := [kind for kind in TYPED if kind in kinds]:
            return _InArrow(path, formats[0])
        allowed = f"files ending in {', '.join(TYPED)}"
        raise fail(
            "The folder {} has no tables",
            str(path),
            allowed,
            "name the folder that contains the files",
        )
    if path.suffix.lower() in TYPED and path.is_file():
        return _InArrow(path, path.suffix.lower())
    return None


class _InArrow:
    """File or folder of files, possibly partitioned (``site=a/...``)."""

    def __init__(self, path: Path, kind: str):
        self.path, self.kind = path, kind

    @cached_property
    def table(self):
        """The data set, opened lazily."""
        from pyarrow import dataset

        form = "parquet" if self.kind == ".parquet" else "ipc"
        if not self.path.is_dir():
            return dataset.dataset(self.path, format=form)
        files = sorted(str(path) for path in self.path.rglob(f"*{self.kind}"))
        return dataset.dataset(
            files, format=form, partitioning="hive", partition_base_dir=str(self.path)
        )

    @property
    def names(self):
        """Names of the columns, including those of the partitioning."""
        return list(self.table.schema.names)

    def columns(self, names):
        return self.table.to_table(columns=list(names)).to_pandas()

    def head(self, rows):
        return self.table.head(rows).to_pandas()

    def counted(self, names):
        import pyarrow as pa

        names, parts = list(dict.fromkeys(names)), []
        asked = {"schema": self.table.schema, "columns": names, "batch_size": _PIECE}
        # Files are read one by one, because reading a thousand files ahead takes over a gigabyte.
        for file in self.table.get_fragments():
            for piece in file.to_batches(**asked, batch_readahead=4):
                if piece.num_rows:
                    some = pa.Table.from_batches([piece])
                    parts.append(some.group_by(names).aggregate([([], "count_all")]).to_pandas())
        if not parts:
            return self.columns(names).assign(**{NUMBER: 0})
        # Batches may encode the same label differently, so labels are compared by value.
        every = pd.concat([without_categories(part) for part in parts], ignore_index=True)
        total = every.groupby(names, dropna=False, sort=False, observed=True)["count_all"].sum()
        return total.rename(NUMBER).reset_index()


def without_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with categorical columns converted to the type of their categories."""
    kinds = {
        name: column.cat.categories.dtype
        for name, column in frame.items()
        if isinstance(column.dtype, pd.CategoricalDtype)
    }
    return frame.astype(kinds)


class _InDuckDB:
    """Table in a DuckDB file, whose rows are counted by DuckDB."""

    def __init__(self, path: Path, table: str):
        try:
            import duckdb
        except ModuleNotFoundError:
            raise fail(
                "Reading {} needs the package duckdb",
                path.name,
                "",
                'install it with pip install "duckdb"',
                ModuleNotFoundError,
            ) from None
        if not path.is_file():
            raise fail(
                "The file {} does not exist", str(path), "", "check the path", FileNotFoundError
            )
        try:
            self.connection = duckdb.connect(str(path), read_only=True)
        except duckdb.Error as problem:
            raise fail(
                "The DuckDB database cannot be opened: {}",
                str(problem),
                "",
                "check that the file is complete, and that no other program is writing to it",
            ) from None
        tables = [row[0] for row in self.connection.execute("show tables").fetchall()]
        if not table and len(tables) == 1:
            table = tables[0]
        if table not in tables:
            todo = f"{suggest(table, tables)} write {path.name}{_PARTING}TABLE"
            raise fail(
                f"{path.name} has no table {{}}" if table else f"{path.name} has several tables",
                table or ...,
                tables,
                todo,
            )
        self.relation = self.connection.table(table)
        self.names = list(self.relation.columns)

    def columns(self, names):
        return self.relation.select(*map(_quoted, names)).df()

    def head(self, rows):
        return self.relation.limit(rows).df()

    def counted(self, names):
        keys = ", ".join(map(_quoted, dict.fromkeys(names)))
        return self.relation.aggregate(f"{keys}, count(*) as {NUMBER}", keys).df()


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'
