"""The statements that a ledger is read and written by."""

from typing import Any

import sqlalchemy as sa

from bayescm.online.store.chain import Entry
from bayescm.online.store.schema import acknowledgements, batches, classifiers, deliveries


class Statement:
    """
    A statement that is compiled once for each kind of database, not for each that is opened.

    To compile it takes longer than to execute it.

    Parameters
    ----------
    clause : Select or Insert
        Its parameters are bound by their names.
    """

    def __init__(self, clause: Any):
        self._clause: Any = clause
        self._compiled: dict[str, Any] = {}

    def __call__(self, connection: sa.Connection, **values: Any) -> sa.CursorResult:
        """Execute it with these values."""
        kind = connection.dialect.name
        if kind not in self._compiled:
            self._compiled[kind] = self._clause.compile(dialect=connection.dialect)
        compiled = self._compiled[kind]
        given: Any = compiled.params | values
        if compiled.positional:
            given = tuple([given[name] for name in compiled.positiontup])
        return connection.exec_driver_sql(compiled.string, given)


def _noted(table):
    mine = table.c.classifier == sa.bindparam("who")
    return Statement(sa.select(table).where(mine).order_by(table.c.number))


_B = batches.c
_MINE: Any = _B.classifier == sa.bindparam("who")
_ENTRY = sa.select(*[_B[name] for name in Entry._fields])
_AFTER = _ENTRY.where(_MINE, _B.entry > sa.bindparam("number")).order_by(_B.entry)
_BACKWARDS = _ENTRY.where(_MINE).order_by(_B.entry.desc())

LABELS = Statement(
    sa.select(classifiers.c.labels).where(classifiers.c.classifier == sa.bindparam("who"))
)
LISTED = Statement(sa.select(classifiers.c.classifier, classifiers.c.labels))
# The last entry is looked up by the index of its key, and its hash by another one, which SQLite
# prefers because it holds all that is asked for.
LAST, SOME = Statement(_BACKWARDS.limit(2)), Statement(_BACKWARDS.limit(1000))
END = Statement(sa.select(_B.entry, _B.hash).where(_MINE).order_by(_B.entry.desc()).limit(1))
HASH = Statement(sa.select(_B.hash).where(_MINE, _B.entry == sa.bindparam("number")))
AFTER = Statement(_AFTER)
BETWEEN = Statement(_AFTER.where(_B.entry <= sa.bindparam("top")))
BATCH = Statement(_ENTRY.where(_MINE, _B.batch_id == sa.bindparam("id")))
# The last names are looked up by the index of numbers too: where that of names is damaged, a batch
# that is sent again must not be taken for a new one. (No index has the name with nothing added.)
AMONG = Statement(
    _ENTRY.where(_MINE, _B.entry > sa.bindparam("number"), _B.batch_id + "" == sa.bindparam("id"))
)
CORRECTION = Statement(sa.select(_B.batch_id).where(_MINE, _B.corrects == sa.bindparam("id")))
NEW_BATCH, NEW_CLASSIFIER = Statement(batches.insert()), Statement(classifiers.insert())
NOTED = {table.name: _noted(table) for table in (acknowledgements, deliveries)}
NEW_NOTE = {table.name: Statement(table.insert()) for table in (acknowledgements, deliveries)}
# One look into the index for each classifier, however many batches it has.
WITH_ENTRIES = Statement(
    sa.text(
        "WITH RECURSIVE found(name) AS (SELECT min(classifier) FROM bayescm_batches UNION ALL "
        "SELECT (SELECT min(classifier) FROM bayescm_batches WHERE classifier > found.name) "
        "FROM found WHERE found.name IS NOT NULL) SELECT name FROM found WHERE name IS NOT NULL"
    )
)
