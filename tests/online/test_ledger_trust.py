"""What the ledger promises when things go wrong: threads, forks, damage, power, clocks, rights."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

import ledger_damage
import pytest
import sqlalchemy as sa
from ledger_worker import counts
from stores_for_tests import POSTGRES, STORES, empty_store

from bayescm import online
from bayescm.online import chain, encoding
from bayescm.online.database import parse, printable
from bayescm.online.ledger import Ledger

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    with empty_store(request.param, tmp_path) as address:
        yield address


def run(script, *arguments):
    command = [sys.executable, str(SUPPORT / f"{script}.py"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout)


def filled(store, number=6, who="classifier"):
    with Ledger(store) as ledger:
        for each in range(number):
            ledger.record(who, f"0-{each}", counts(0, each), at=f"2026-01-{each + 1:02}")
    return store


@pytest.mark.long
def test_threads_and_forks_share_a_monitor(tmp_path):
    said = run("ledger_threads", "everything", tmp_path, 8, 20)
    assert (said["file"], said["memory"]) == ([], [])
    assert said["forks"] == [[0, 0, 0], True]
    assert "memory cannot be used after a fork" in said["child"]


@pytest.mark.long
def test_no_damage_goes_unseen(tmp_path):
    came, wrong = run("ledger_damage", 14, 5, 40)
    assert wrong == []
    assert came["bit: named"] > 1  # it is seen because it is looked for, not because it never hits
    assert came["bit: right"] > 3


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler to log writes to the disk with")
def test_power_loss_loses_nothing_acknowledged():
    steps, tried, acknowledged, lost, control = run("power_loss", 100, 1, 3)
    assert (acknowledged, lost) == (3, [])
    assert tried >= steps > 30
    assert control  # a disk that ignores every fsync is found out


@pytest.mark.long
@pytest.mark.parametrize("verb", ["INSERT OR REPLACE", "REPLACE"])
@pytest.mark.parametrize("key", ["entry", "batch_id", "rowid"])
def test_rows_are_not_replaced(tmp_path, verb, key):
    path = filled(tmp_path / "eval.db")
    engine = sa.create_engine(f"sqlite:///{path}")
    values = {"classifier": "classifier", "entry": 99, "batch_id": "new", "at": "a"}
    values |= {"encoding": "counts", "encoding_version": 1, "payload": "b", "recorded_at": "c"}
    values |= {"batches": 99, "latest": "d", "hash": "e"}
    values |= {"entry": 2} if key == "entry" else {"batch_id": "0-2"} if key == "batch_id" else {}
    values |= {"rowid": 2} if key == "rowid" else {}
    text = ", ".join(repr(each) for each in values.values())
    statement = f"{verb} INTO bayescm_batches ({', '.join(values)}) VALUES ({text})"
    with engine.begin() as connection, pytest.raises(sa.exc.DBAPIError, match="append-only"):
        connection.exec_driver_sql(statement)
    with engine.connect() as connection:
        connection.connection.driver_connection.execute("VACUUM")
    engine.dispose()
    assert online.verify(path)["entries"].tolist() == [6]


def test_a_batch_changed_behind_the_back_is_named(store):
    filled(store)
    engine = sa.create_engine(parse(store))
    with engine.begin() as connection:
        if store.startswith("sqlite"):
            connection.exec_driver_sql("DROP TRIGGER bayescm_batches_no_update")
        else:
            connection.exec_driver_sql(
                "DROP TRIGGER bayescm_batches_append_only ON bayescm_batches"
            )
        change = "UPDATE bayescm_batches SET payload = '[[0, 3], [4, 8]]' WHERE entry = 4"
        connection.exec_driver_sql(change)
    engine.dispose()
    if store.startswith("sqlite"):
        with pytest.raises(ValueError, match="its tables were changed"):
            Ledger(store)
        return
    found = online.verify(store)
    assert found["whole"].tolist() == [False]
    assert found["damage"][0] == "batch '0-3' (entry 4)"
    with Ledger(store) as ledger, pytest.raises(ValueError, match=r"damaged.*batch '0-3'"):
        ledger.read("classifier")


@pytest.mark.parametrize("field", chain.Entry._fields[1:-1])
@pytest.mark.parametrize("fraction", [False, True])
def test_nothing_is_not_taken_for_the_text_of_it(field, fraction):
    genesis = encoding.Description("classifier", "counts", 1, "[]").genesis
    payload = "[[1.5, 1], [1, 1]]" if fraction else "[[1, 1], [1, 1]]"
    batch = {"batch_id": "\udc80", "at": "2026", "payload": payload, "recorded_at": "2026"}
    batch |= {"encoding": "counts", "encoding_version": 1, "supersedes": None}
    row = chain.next_entry(genesis, None, batch, None)
    chain.check_chain(genesis, genesis, 0, [row], "classifier")
    other = "None" if getattr(row, field) is None else None
    with pytest.raises(ValueError, match="damaged"):
        chain.check_chain(genesis, genesis, 0, [row._replace(**{field: other})], "classifier")
    texts = [row._replace(**{field: "None"}), row._replace(**{field: None})]
    assert len({chain.digest(genesis, genesis, *each[:-1]) for each in texts}) == 2


def test_an_entry_whose_number_is_no_number_is_named(tmp_path):
    path = filled(tmp_path / "eval.db")
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        name = "bayescm_batches_no_update"
        asked = f"SELECT sql FROM sqlite_master WHERE name = '{name}'"
        again = connection.exec_driver_sql(asked).scalar_one()
        connection.exec_driver_sql(f"DROP TRIGGER {name}")
        connection.exec_driver_sql("UPDATE bayescm_batches SET entry = char(2, 4) WHERE entry = 4")
        connection.exec_driver_sql(again)
    engine.dispose()
    found = online.verify(path)
    assert found["whole"].tolist() == [False]
    assert "batch '0-3'" in found["damage"][0]


@pytest.mark.long
def test_a_damaged_index_of_names_lets_no_batch_in_twice(tmp_path):
    path = tmp_path / "eval.db"
    ledger_damage.fill(path, 40)
    raw = path.read_bytes()
    (place,) = [each.start() for each in re.finditer(b"firstbatch 34", raw)]
    said = "The ledger is damaged|already recorded with other counts"
    for bit in (8, 128):
        path.write_bytes(raw[: place + 5] + bytes([raw[place + 5] ^ bit]) + raw[place + 6 :])
        with (
            Ledger(path, create=False) as ledger,
            pytest.raises(ValueError, match=said),
        ):
            ledger.record("first", "batch 38", counts(1, 38))


@pytest.mark.long
def test_backups_are_whole_under_writers(store, tmp_path):
    filled(store)
    code = f"import ledger_worker; ledger_worker.write({store!r}, 7, 10**9)"
    env = os.environ | {"PYTHONPATH": f"{SUPPORT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    writer = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.DEVNULL)
    try:
        with Ledger(store) as ledger:
            while ledger.last("classifier").entry < 10:
                assert writer.poll() is None
                time.sleep(0.1)
        found = [online.backup(store, tmp_path / f"backup {n}.db") for n in range(3)]
    finally:
        writer.kill()
        writer.wait()
    entries = [int(each["entries"].iloc[0]) for each in found]
    assert entries == sorted(entries)
    assert all(each["whole"].all() for each in found)
    again = tmp_path / "again.db"
    assert online.restore(tmp_path / "backup 2.db", again).equals(found[2])
    with Ledger(again) as ledger, Ledger(store) as first:
        assert (
            ledger.read("classifier").batch_id.tolist()
            == first.read("classifier").batch_id.tolist()[: entries[2]]
        )


@pytest.mark.skipif(not POSTGRES, reason="no PostgreSQL to restore to")
def test_a_backup_goes_from_one_database_to_the_other(tmp_path):
    with empty_store("postgresql", tmp_path) as store:
        found = online.restore(filled(tmp_path / "eval.db"), store)
        assert found.equals(online.verify(tmp_path / "eval.db"))
        with pytest.raises(ValueError, match="The store is not empty"):
            online.restore(tmp_path / "eval.db", store)


@pytest.mark.long
def test_the_file_alone_is_the_ledger(tmp_path):
    with Ledger(tmp_path / "eval.db") as ledger:
        for number in range(3):
            ledger.record("classifier", f"0-{number}", counts(0, number))
        shutil.copy(tmp_path / "eval.db", tmp_path / "copy.db")  # while it is open
        assert online.verify(tmp_path / "copy.db")["entries"].tolist() == [3]
    assert [each.name for each in tmp_path.glob("eval.db*")] == ["eval.db"]


@pytest.mark.long
@pytest.mark.parametrize("fate", ["deleted", "replaced", "read-only"])
def test_a_file_that_is_taken_away_is_said(tmp_path, fate):
    path = filled(tmp_path / "eval.db")
    with Ledger(path) as ledger:
        ledger.record("classifier", "0-6", counts(0, 6))
        if fate == "read-only":
            path.chmod(0o444)
        else:
            path.unlink()
        if fate == "replaced":
            filled(tmp_path / "other.db").rename(path)
        message = "read-only" if fate == "read-only" else "deleted or replaced"
        with pytest.raises(OSError, match=message):
            ledger.record("classifier", "0-7", counts(0, 7))
        path.chmod(0o644) if fate == "read-only" else None


def test_an_empty_file_is_no_ledger(tmp_path):
    (tmp_path / "eval.db").touch()
    with pytest.raises(ValueError, match="is empty, so it is not a ledger"):
        Ledger(tmp_path / "eval.db")


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "setuid") or os.getuid() != 0, reason="only root may step down")
def test_a_reader_needs_no_writable_folder(tmp_path):
    with tempfile.TemporaryDirectory() as folder:
        path = filled(Path(folder) / "eval.db")
        os.chmod(folder, 0o555)
        path.chmod(0o444)
        reading, writing = os.pipe()
        ledger = Ledger(path, create=False)  # loads what a child without rights may not
        ledger.close()
        if (child := os.fork()) == 0:
            os.setuid(65534)
            try:
                with Ledger(path, create=False) as mine:
                    said = str(len(mine.read("classifier").entry))
                    mine.record("classifier", "0-6", counts(0, 6))
            except OSError:
                said += " refused"
            finally:
                os.write(writing, said.encode())
                os._exit(0)
        os.waitpid(child, 0)
        assert os.read(reading, 100) == b"6 refused"
        os.chmod(folder, 0o755)


@pytest.mark.skipif(not POSTGRES, reason="no PostgreSQL to have rights in")
def test_writers_and_readers_of_postgresql_need_few_rights(tmp_path):
    with empty_store("postgresql", tmp_path) as store:
        filled(store)
        engine = sa.create_engine(parse(store))
        with engine.begin() as connection:
            for role, rights in (("writer", "SELECT, INSERT"), ("reader", "SELECT")):
                name = f"{role}_{parse(store).database}"
                for statement in (
                    f"CREATE ROLE {name} LOGIN",
                    f"GRANT {rights} ON bayescm_version, bayescm_ledger, bayescm_classifiers, "
                    f"bayescm_batches, bayescm_acknowledgements TO {name}",
                ):
                    connection.exec_driver_sql(statement)
        url = parse(store).set(drivername="postgresql")
        try:
            names = {role: f"{role}_{url.database}" for role in ("writer", "reader")}
            with Ledger(str(url.set(username=names["writer"]))) as writer:
                assert writer.record("classifier", "0-6", counts(0, 6))
            with Ledger(str(url.set(username=names["reader"])), create=False) as reader:
                assert reader.last("classifier").entry == 7
                with pytest.raises(OSError, match="permission denied"):
                    reader.record("classifier", "0-7", counts(0, 7))
        finally:
            with engine.begin() as connection:
                for name in names.values():
                    connection.exec_driver_sql(f"DROP OWNED BY {name}; DROP ROLE {name}")
            engine.dispose()


@pytest.mark.skipif(not POSTGRES, reason="no PostgreSQL to give options to")
def test_options_of_an_address_are_kept(tmp_path):
    with empty_store("postgresql", tmp_path) as store:
        engine = sa.create_engine(parse(store))
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE SCHEMA ml")
        address = f"{store}?options=-csearch_path%3Dml"
        filled(address)
        url = parse(store)
        words = f"host={url.host} port={url.port} user={url.username} dbname={url.database}"
        with Ledger(f"{words} options='-c search_path=ml'", create=False) as ledger:
            assert ledger.last("classifier").entry == 6
        with engine.connect() as connection:
            assert sa.inspect(connection).get_table_names(schema="public") == []
            assert "bayescm_batches" in sa.inspect(connection).get_table_names(schema="ml")
        engine.dispose()


def test_addresses_in_the_words_of_libpq():
    url = parse(
        "host=db.example port=5433 user=ann password='s3 cr\\'et' dbname=ml sslmode=require"
    )
    assert (url.host, url.port, url.username, url.password) == (
        "db.example",
        5433,
        "ann",
        "s3 cr'et",
    )
    assert (url.database, dict(url.query)) == ("ml", {"sslmode": "require"})
    assert printable(url) == "postgresql://db.example:5433/ml"


@pytest.mark.parametrize(
    "address",
    [
        "bcm:hidden@host/db",
        "host=h pasword=hidden dbname=d",
        "password=hidden",
        "host=h password='hidden",
        "file:eval.db?password=hidden",
        "sqlite:///eval.db?password=hidden",
        "oracle:hidden",
    ],
)
def test_unknown_forms_are_refused_and_not_shown(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, OSError)) as error:
        Ledger(address, create=False)
    assert "hidden" not in str(error.value)
    assert not list(tmp_path.iterdir())


class Backwards(datetime):
    """A clock that goes back an hour after each batch."""

    shown = datetime(2026, 1, 1, 12).astimezone()

    @classmethod
    def now(cls, tz=None):
        cls.shown -= timedelta(hours=1)
        return cls.shown


def test_a_clock_that_runs_backwards_is_said_and_moves_nothing(monkeypatch):
    monkeypatch.setattr("bayescm.online.ledger.datetime", Backwards)
    with online.Monitor("sqlite://", "classifier") as monitor:
        monitor.add("0-0", counts(0, 0))
        with pytest.warns(UserWarning, match="clock runs backwards"):
            monitor.add("0-1", counts(0, 1))
        batches = monitor.batches()
    assert batches["batch_id"].values.tolist() == ["0-0", "0-1"]
    assert batches["recorded_at"].values[0] <= batches["recorded_at"].values[1]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Batch")
def test_forgetting_goes_by_the_time_that_is_named(tmp_path):
    for number, day in enumerate((3, 1, 2)):
        with online.Monitor(tmp_path / "e.db", "classifier") as monitor:
            monitor.add(f"0-{number}", counts(0, number), at=f"2026-01-0{day}")
    with online.Monitor(tmp_path / "e.db", "classifier") as monitor:
        monitor.add("again", counts(5, 5), corrects="0-0")
    last = {}
    for order in ("at", "recorded_at"):
        with online.Monitor(tmp_path / "e.db", "classifier", order=order, window=1) as monitor:
            ids = monitor.batches()["batch_id"].values.tolist()
            last[order] = ids, monitor.posterior()["counts"].values[0].tolist()
    assert last["at"] == (["0-1", "0-2", "again"], [5, 5])
    assert last["recorded_at"] == (["again", "0-1", "0-2"], [0, 2])


def test_the_same_batch_at_another_time_is_refused(tmp_path):
    with Ledger(filled(tmp_path / "eval.db")) as ledger:
        assert not ledger.record("classifier", "0-1", counts(0, 1), at="2026-01-02")
        with pytest.raises(ValueError, match="with another time"):
            ledger.record("classifier", "0-1", counts(0, 1), at="2026-01-09")


def test_sums_stay_exact_or_are_refused():
    huge = counts(0, 2**52)
    with Ledger("sqlite://") as ledger:
        assert ledger.record("classifier", 1, huge)
        with pytest.raises(ValueError, match="examples, which cannot be counted exactly"):
            ledger.record("classifier", 2, counts(2, 2**52 + 2))
        assert json.loads(ledger.last("classifier").total) == huge.values.tolist()
