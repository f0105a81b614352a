"""The ledger: what it keeps, what it refuses, and what it says."""

import sqlite3
import traceback
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
import sqlalchemy as sa
from stores_for_tests import POSTGRES, STORES, empty_store

import bayescm as bcm
from bayescm import online
from bayescm.evidence import as_counts
from bayescm.online import encoding
from bayescm.online.database import parse, printable
from bayescm.online.ledger import Ledger

MONDAY = as_counts(bcm.from_cells(tp=65, fn=15, fp=35, tn=30))
TUESDAY = as_counts(bcm.from_cells(tp=60, fn=20, fp=30, tn=35))


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    with empty_store(request.param, tmp_path) as address:
        yield address


@pytest.fixture
def ledger(store):
    with Ledger(store) as opened:
        yield opened


def execute(store, *statements):
    engine = sa.create_engine(parse(store), poolclass=sa.pool.NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def test_what_is_recorded_is_read_again(ledger, store):
    assert ledger.record("spam", "monday", MONDAY, at="2026-01-05")
    assert ledger.record("spam", "tuesday", TUESDAY, at="2026-01-06")
    with Ledger(store) as again:
        entries = again.read("spam")
        assert entries.entry.tolist() == [1, 2]
        assert entries.batch_id.tolist() == ["monday", "tuesday"]
        assert entries.at.tolist() == [datetime(2026, 1, 5), datetime(2026, 1, 6)]
        np.testing.assert_array_equal(entries.cells, [MONDAY.values, TUESDAY.values])
        assert again.empty("spam").identical(MONDAY * 0)
        assert again.classifiers() == ["spam"]
        assert again.read("spam", after=1).batch_id.tolist() == ["tuesday"]
        assert len(again.read("spam", after=2).entry) == 0


def test_the_same_batch_again_changes_nothing(ledger):
    assert ledger.record("spam", 7, MONDAY)
    assert not ledger.record("spam", "7", MONDAY)
    assert not ledger.record("spam", 7, MONDAY.isel(actual=[1, 0], predicted=[1, 0]))
    assert ledger.record("other", 7, TUESDAY)
    assert len(ledger.table()) == 2


def test_the_same_id_with_other_counts_is_refused(ledger):
    ledger.record("spam", 7, MONDAY)
    with pytest.raises(ValueError, match="with other counts"):
        ledger.record("spam", 7, TUESDAY)
    assert len(ledger.table()) == 1


def test_fractional_counts_come_back_to_the_last_bit(ledger):
    thirds = as_counts(bcm.from_cells(tp=1 / 3, fn=0.1, fp=1e-300, tn=2, fractional=True))
    ledger.record("spam", 1, thirds)
    assert not ledger.record("spam", 1, thirds)
    np.testing.assert_array_equal(ledger.read("spam").cells[0], thirds.values)


def test_a_correction_names_the_old_batch_and_takes_its_time(ledger):
    ledger.record("spam", "monday", MONDAY, at="2026-01-05")
    assert ledger.record("spam", "monday, relabelled", TUESDAY, corrects="monday")
    assert not ledger.record("spam", "monday, relabelled", TUESDAY, corrects="monday")
    entries = ledger.read("spam")
    assert entries.supersedes.tolist() == [None, "monday"]
    assert entries.at[0] == entries.at[1]


@pytest.mark.parametrize(
    ("batch", "corrects", "message"),
    [
        ("new", "mnday", "The batch to correct, 'mnday', does not exist"),
        ("new", "monday", "already been corrected.*'second'"),
        ("second", None, "with another correction"),
        ("monday", "monday", "with another correction"),
    ],
)
def test_corrections_that_make_no_sense_are_refused(ledger, batch, corrects, message):
    ledger.record("spam", "monday", MONDAY)
    ledger.record("spam", "second", MONDAY, corrects="monday")
    with pytest.raises(ValueError, match=message):
        ledger.record("spam", batch, MONDAY, corrects=corrects)
    assert len(ledger.table()) == 2


def test_labels_that_a_batch_lacks_count_zero(ledger):
    labels = ["cat", "cow", "dog"]
    ledger.record("pets", 1, as_counts(bcm.from_matrix(np.arange(9).reshape(3, 3), labels=labels)))
    ledger.record("pets", 2, as_counts(bcm.from_matrix([[1, 2], [3, 4]], labels=["dog", "cat"])))
    assert ledger.read("pets").cells[1].tolist() == [[4, 0, 3], [0, 0, 0], [2, 0, 1]]


def test_a_batch_of_two_of_many_classes_has_no_positive_one(ledger):
    ledger.record("digits", 1, bcm.from_predictions([0, 1, 2, 2], [0, 1, 2, 1]))
    ledger.record("digits", 2, bcm.from_predictions([0, 1, 1], [0, 1, 0]))
    np.testing.assert_array_equal(
        ledger.read("digits").cells[-1], [[1, 0, 0], [1, 1, 0], [0, 0, 0]]
    )


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (
            bcm.from_matrix([[1, 2], [3, 4]], labels=["no", "yes"], positive="yes"),
            "are unknown to classifier",
        ),
        (MONDAY.assign_coords(positive="negative"), "not the positive class"),
    ],
)
def test_other_labels_are_refused(ledger, counts, message):
    ledger.record("spam", 1, MONDAY)
    with pytest.raises(ValueError, match=message):
        ledger.record("spam", 2, as_counts(counts))


def test_a_refused_first_batch_leaves_no_classifier_behind(ledger):
    with pytest.raises(ValueError, match="The batch to correct, '0', does not exist"):
        ledger.record("spam", 1, MONDAY, corrects="0")
    assert ledger.classifiers() == []


@pytest.mark.parametrize("batch_id", ["", "  ", None, True, 1.5, "a\x00b", "two\nlines", "x" * 501])
def test_names_that_are_none_are_refused(batch_id):
    with Ledger("sqlite://") as ledger:
        with pytest.raises(ValueError, match="batch_id must be printable text"):
            ledger.record("spam", batch_id, MONDAY)
        with pytest.raises(ValueError, match="classifier must be printable text"):
            ledger.record(batch_id, 1, MONDAY)


@pytest.mark.parametrize(
    ("at", "stored"),
    [
        ("2026-01-05T12:00", datetime(2026, 1, 5, 12)),
        (datetime(2026, 1, 5, 12), datetime(2026, 1, 5, 12)),
        (np.datetime64("2026-01-05T12:00"), datetime(2026, 1, 5, 12)),
        ("2026-01-05T12:00+02:00", datetime(2026, 1, 5, 10)),
        (datetime(2026, 1, 5, 12, tzinfo=timezone(timedelta(hours=2))), datetime(2026, 1, 5, 10)),
    ],
)
def test_moments_are_kept_in_utc(at, stored):
    with Ledger("sqlite://") as ledger:
        ledger.record("spam", 1, MONDAY, at=at)
        assert ledger.read("spam").at.tolist() == [stored]


@pytest.mark.parametrize("at", ["yesterday?", 1.7e9, float("nan"), "NaT", [], "01/02/2026"])
def test_moments_that_are_none_are_refused(at):
    with (
        Ledger("sqlite://") as ledger,
        pytest.raises(ValueError, match="at must be a datetime or ISO"),
    ):
        ledger.record("spam", 1, MONDAY, at=at)


@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET {} = {}"])
@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("batches", "payload"),
        ("classifiers", "description"),
        ("ledger", "seal"),
    ],
)
def test_the_database_itself_refuses_to_change_an_entry(ledger, store, statement, table, column):
    ledger.record("spam", 1, MONDAY)
    with pytest.raises(sa.exc.DBAPIError, match="append-only"):
        execute(store, statement.format(f"bayescm_{table}", column, column))
    assert len(ledger.table()) == 1


def rows(store, table):
    engine = sa.create_engine(parse(store), poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        found = connection.execute(sa.text(f"SELECT * FROM bayescm_{table}"))
        return [dict(row) for row in found.mappings()]


def test_every_entry_says_how_its_evidence_is_written(ledger, store):
    forecasts = online.forecast_table([0, 0, 1], [0.1, 0.3, 0.8], edges=[0, 0.25, 0.5, 1])
    answers = {"old": [0, 1, 1], "new": [0, 0, 1]}
    ledger.record("spam", 1, MONDAY)
    ledger.record("risk", 1, forecasts)
    online.Challenge(ledger, "trial").add(1, bcm.from_classifiers([0, 0, 1], answers))
    want = {"spam": "counts", "risk": "forecasts", "trial": "paired_outcomes"}
    for table in ("classifiers", "batches"):
        found = {each["classifier"]: each for each in rows(store, table)}
        assert {name: each["encoding"] for name, each in found.items()} == want
        assert {each["encoding_version"] for each in found.values()} == {1}
    assert found["spam"]["payload"] == "[[30, 35], [15, 65]]"
    assert found["risk"]["payload"] == "[[1, 1, 0], [0, 0, 1]]"


def test_a_delivery_is_the_first_attempt_and_there_is_no_next(ledger, store):
    ledger.record("spam", 1, MONDAY)
    alarm = ("1", "floor", "recall")
    assert ledger.begin_delivery("spam", alarm, "log", incident="1") == 1
    assert ledger.begin_delivery("spam", alarm, "log", incident="1") is None
    (row,) = rows(store, "deliveries")
    assert (row["attempt"], row["outcome"], row["next_try"], row["incident"]) == (
        1,
        "started",
        None,
        "1",
    )


def test_an_encoding_of_a_later_program_is_refused(ledger, monkeypatch):
    ledger.record("spam", 1, MONDAY)
    monkeypatch.setattr(encoding, "VERSION", 2)
    ledger.record("ham", 1, MONDAY)
    monkeypatch.undo()
    for ask in (ledger.read, ledger.empty):
        with pytest.raises(ValueError, match="has the unknown encoding counts, version"):
            ask("ham")
    assert ledger.read("spam").entry.tolist() == [1]


def test_an_unknown_classifier_is_named_with_the_nearest(ledger):
    ledger.record("spam", 1, MONDAY)
    with pytest.raises(ValueError, match="has no batches"):
        ledger.empty("spm")


def test_a_locked_database_is_said_and_loses_nothing(store):
    with Ledger(store, timeout=0.2) as ledger:
        ledger.record("spam", 1, MONDAY)
        engine = sa.create_engine(parse(store))
        with engine.connect() as other:
            if store.startswith("sqlite"):
                other.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                other.exec_driver_sql("LOCK TABLE bayescm_batches IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(
                OSError, match=r"record batch '2'.*lock.*Nothing is acknowledged that is not stored"
            ):
                ledger.record("spam", 2, TUESDAY)
        engine.dispose()
        assert ledger.record("spam", 2, TUESDAY)
        assert ledger.read("spam").entry.tolist() == [1, 2]


@pytest.mark.skipif(
    not POSTGRES,
    reason="no PostgreSQL, so every test of stores ran with SQLite alone: set "
    "BAYESCM_TEST_POSTGRES to the URL of a server",
)
def test_a_server_that_comes_back_is_used_again(tmp_path):
    with empty_store("postgresql", tmp_path) as store, Ledger(store) as ledger:
        ledger.record("spam", 1, MONDAY)
        mine = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )
        execute(store, f"{mine} AND datname = current_database()")
        assert ledger.record("spam", 2, MONDAY + 1)


def test_a_ledger_of_a_newer_version_is_refused_and_not_touched(store):
    with Ledger(store) as ledger:
        ledger.record("spam", 1, MONDAY)
    execute(store, "UPDATE bayescm_version SET version_num = '99'")
    with pytest.raises(ValueError, match="The ledger has the unknown version"):
        Ledger(store)


def test_a_database_of_something_else_is_refused(tmp_path):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE invoices (id)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"not a ledger.*invoices"):
        Ledger(str(path))
    assert path.read_bytes() == before


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("This is not a database, only a text that is long enough to look at." * 20)
    with pytest.raises(ValueError, match="is not an SQLite database, or it"):
        Ledger(f"sqlite:///{path}")


def test_a_ledger_is_not_made_where_one_is_to_be_read(store, tmp_path):
    with pytest.raises(ValueError, match="no ledger"):
        Ledger(store, create=False)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(OSError, match=r"unable to open.*Create the folder"):
        Ledger(f"sqlite:///{tmp_path}/no/eval.db")


@pytest.mark.parametrize("store", ["", "mysql://u:pw@h/d", "http://x", "://"])
def test_addresses_that_are_none_are_refused(store):
    with pytest.raises((ValueError, OSError)) as error:
        Ledger(store)
    assert "pw" not in str(error.value)


SECRET = "s3cr3t/&"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:{}@127.0.0.1:1/evaluations",
        "postgresql://127.0.0.1:1/evaluations?user=ann&password={}",
        "postgresql://ann:{}@127.0.0.1:port/evaluations",
        "postgres://ann:{}@[::1/evaluations",
        "postgresql://ann:x@{}@127.0.0.1:1/evaluations",
        "mysql://ann:{}@127.0.0.1/evaluations",
    ],
)
def test_a_password_is_never_printed(address):
    address = address.format("s3cr3t%2F%26")
    with pytest.raises((ValueError, OSError)) as error:
        Ledger(address)
    told = "".join(traceback.format_exception(error.value)[-1:]) + repr(error.value)
    assert "s3cr3t" not in told
    assert "ann" not in told.replace("cannot", "")


def test_what_is_shown_of_an_address_has_no_credentials():
    url = parse(f"postgresql://ann:{SECRET[:6]}@db.example:5432/evaluations?password={SECRET[:6]}")
    assert printable(url) == "postgresql://db.example:5432/evaluations"
    with Ledger("sqlite://") as ledger:
        assert repr(ledger) == "Ledger('sqlite://')"
