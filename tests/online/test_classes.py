"""Classes of a ledger that are renamed or added: what follows the names, what is refused."""

import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from specimen_ledger import BATCHES

import bayescm as bcm
from bayescm import online
from bayescm.online import Ledger, Monitor, backup, database, restore, roll_up, verify
from bayescm.online.rules import segments

LABELS = ["buy", "fix"]
SURE = np.array([[45, 5], [5, 45]])


def counts(seed, right=0.9, labels=LABELS, n=100):
    rng = np.random.default_rng(seed)
    actual = rng.integers(0, len(labels), n)
    wrong = (actual + rng.integers(1, len(labels), n)) % len(labels)
    predicted = np.where(rng.random(n) < right, actual, wrong)
    names = np.array(labels)
    return bcm.from_predictions(names[actual], names[predicted], labels=labels)


def add_days(monitor, days, **keywords):
    for day in days:
        monitor.add(f"2026-01-{day:02}", counts(day, **keywords))


@pytest.fixture
def store(tmp_path):
    path = str(tmp_path / "eval.db")
    with Monitor(path, "mail") as monitor:
        add_days(monitor, range(1, 6))
    return path


def test_every_batch_has_the_new_names_and_no_examples_of_an_added_class(store):
    with Monitor(store, "mail") as reader, Monitor(store, "mail") as monitor:
        before = reader.batches()
        assert monitor.change_classes(rename={"buy": "sales"}, add=["legal"])
        for each in (reader, monitor):
            batches = each.batches()
            assert batches["actual"].values.tolist() == ["sales", "fix", "legal"]
            np.testing.assert_array_equal(batches[..., :2, :2], before)
            assert batches.sum() == before.sum()
        assert monitor.add("2026-01-06", counts(6, labels=["fix", "legal", "sales"]))
        assert reader.batches().sizes["step"] == 6
        assert monitor.summary()["measure"].notna().all()
        assert monitor.history()["n"].values.tolist() == [100] * 6
    assert verify(store)["whole"].all()


def test_the_description_and_its_hash_stay(store):
    with Ledger(store) as ledger, ledger.transaction("look") as connection:
        query = "SELECT description FROM bayescm_classifiers"
        before = connection.exec_driver_sql(query).scalar()
        head = verify(store)["head"][0]
    with Monitor(store, "mail") as monitor:
        monitor.change_classes(add=["legal"])
    with Ledger(store) as ledger, ledger.transaction("look") as connection:
        assert connection.exec_driver_sql(query).scalar() == before
    table = verify(store)
    assert table["whole"].all()
    assert table["head"][0] != head
    assert table["entries"].tolist() == [6]


@pytest.mark.parametrize("revision", ["1", "2"])
def test_an_older_version_rejects_the_ledger(store, monkeypatch, revision):
    with Monitor(store, "mail") as monitor:
        monitor.change_classes(rename={"buy": "sales"})
    monkeypatch.setattr(database, "REVISION", revision)
    if revision == "1":
        with pytest.raises(ValueError, match="newer bayescm"):
            Ledger(store)
    else:
        Ledger(store).close()


def test_ledgers_without_such_entries_are_open_to_older_versions(store, monkeypatch):
    monkeypatch.setattr(database, "REVISION", "1")
    with Ledger(store) as ledger:
        assert len(ledger.read("mail").entry) == 5


def test_an_unknown_kind_of_entry_is_rejected(store, monkeypatch):
    with Monitor(store, "mail") as monitor:
        monitor.change_classes(rename={"buy": "sales"})
    monkeypatch.setattr("bayescm.online.encoding.CLASSES", "another kind")
    with (
        Ledger(store) as ledger,
        pytest.raises(ValueError, match=r"unknown encoding.*newer bayescm"),
    ):
        ledger.read("mail")


REFUSED = [
    ({"rename": {"sell": "sales"}}, "Pass a class of the batches"),
    ({"rename": {"buy": "fix"}}, "would merge two classes"),
    ({"rename": {"buy": "same", "fix": "same"}}, "would merge two classes"),
    ({"rename": {"buy": "fix", "fix": "buy"}}, "would merge two classes"),
    ({"rename": {"buy": "buy"}}, "is the same as the old one"),
    ({"rename": {"buy": ""}}, "The name of a class must be"),
    ({"rename": {"buy": " "}}, "The name of a class must be"),
    ({"rename": {"buy": "a\nb"}}, "The name of a class must be"),
    ({"rename": {"buy": None}}, "The name of a class must be"),
    ({"rename": {"buy": 1}}, "The names of classes would be a mixture"),
    ({"rename": ["buy"]}, "rename must be a mapping"),
    ({"add": ["buy"]}, "already exists"),
    ({"add": ["a", "a"]}, "already exists"),
    ({"add": "legal"}, "add must be a list"),
    ({"add": [""]}, "The name of a class must be"),
    ({"rename": {"buy": "legal"}, "add": ["legal"]}, "merge two classes"),
    ({"rename": {"buy": "sales"}, "add": ["buy"]}, "was the name of the class"),
    ({}, "No class to rename or to add"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_a_change_that_is_not_possible_is_refused_and_leaves_nothing(store, change, message):
    with Monitor(store, "mail") as monitor:
        with pytest.raises((ValueError, TypeError), match=message):
            monitor.change_classes(**change)
        assert len(monitor.ledger.table()) == 5
    with Ledger(store) as ledger, ledger.transaction("look") as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM bayescm_version").scalar() == "1"


def test_a_name_belongs_to_one_class_for_ever(store):
    with Monitor(store, "mail") as monitor:
        monitor.change_classes(rename={"buy": "sales"})
        with pytest.raises(ValueError, match="'buy' was the name of the class that is now 'sales'"):
            monitor.change_classes(add=["buy"])
        with pytest.raises(ValueError, match="'buy' was the name of the class that is now 'sales'"):
            monitor.change_classes(rename={"fix": "buy"})
        with pytest.raises(ValueError, match="has already been renamed"):
            monitor.change_classes(rename={"buy": "order"})
        assert monitor.change_classes(rename={"sales": "buy"})  # back again
        assert monitor.batches()["actual"].values.tolist() == LABELS
        assert monitor.former_names() == {"sales": "buy"}


def test_the_same_change_again_is_recognised(store):
    with Monitor(store, "mail") as monitor:
        change = {"rename": {"buy": "sales"}, "add": ["legal"]}
        assert monitor.change_classes(**change)
        assert not monitor.change_classes(**change)
        assert len(monitor.ledger.table()) == 6


def test_a_batch_with_a_former_name_is_rejected_unless_it_is_sent_again(store):
    with Monitor(store, "mail") as monitor:
        monitor.change_classes(rename={"buy": "sales"}, add=["legal"])
        assert not monitor.add("2026-01-03", counts(3))  # as it was sent before
        assert not monitor.add("2026-01-03", counts(3, labels=["sales", "fix"]))
        with pytest.raises(ValueError, match="Use the new names in this batch"):
            monitor.add("2026-01-03", counts(4))
        with pytest.raises(ValueError, match="Use the new names in this batch"):
            monitor.add("2026-01-06", counts(6))
        with pytest.raises(ValueError, match="is already recorded with other counts"):
            monitor.add("2026-01-03", counts(4, labels=["sales", "fix"]))
        assert len(monitor.ledger.table()) == 6


def test_an_earlier_batch_can_be_corrected(store):
    with Monitor(store, "mail") as monitor:
        monitor.change_classes(rename={"buy": "sales"}, add=["legal"])
        right = counts(33, labels=["sales", "fix", "legal"])
        assert monitor.add("3 again", right, corrects="2026-01-03")
        assert monitor.batches()["batch_id"].values.tolist()[2] == "3 again"
        assert monitor.batches()[2].sum() == 100
        total = monitor.batches().sum("step").values.tolist()
        assert str(monitor.ledger.last("mail").total) == str(total)


def test_an_added_class_is_no_change(store):
    """The negative control: as a class that is simply not used before, it would be one."""
    rng = np.random.default_rng(1)
    with Monitor(store, "mail") as monitor:
        add_days(monitor, range(6, 16))
        monitor.change_classes(add=["legal"])
        for day in range(16, 29):
            actual = np.array([*LABELS, "legal"])[rng.integers(0, 3, 300)]
            other = np.array([*LABELS, "legal"])[rng.integers(0, 3, 300)]
            # Among the first two classes 90% are right, as before.
            predicted = np.where(rng.random(300) < 0.727, actual, other)
            monitor.add(f"2026-01-{day}", bcm.from_predictions(actual, predicted))
        assert "change" not in monitor.alarms()["rule"].tolist()
        naive = monitor.batches().drop_vars("classes")
        assert segments(naive, None, 0.025)
        assert not segments(monitor.batches(), None, 0.025)


def test_a_change_among_the_other_classes_is_noticed_after_an_addition(store):
    with Monitor(store, "mail") as monitor:
        add_days(monitor, range(6, 13))
        monitor.change_classes(add=["legal"])
        add_days(monitor, range(13, 20), right=0.6)
        (change,) = segments(monitor.batches(), None, 0.025)
        assert monitor.batches()["batch_id"].values[change.first] == "2026-01-13"


def test_a_change_of_the_added_class_is_noticed(store):
    labels = ["buy", "fix", "legal"]
    with Monitor(store, "mail") as monitor:
        monitor.change_classes(add=["legal"])
        add_days(monitor, range(6, 16), labels=labels, n=300)
        for day in range(16, 22):  # legal letters go to buy
            table = counts(day, labels=labels, n=300).copy()
            table[2] = [table[2].sum(), 0, 0]
            monitor.add(f"2026-01-{day}", table)
        (change,) = segments(monitor.batches(), None, 0.025)
        assert monitor.batches()["batch_id"].values[change.first] == "2026-01-16"


@pytest.mark.long
def test_floors_and_acknowledgements_and_pages_follow_the_name(store):
    told = []
    hook = online.Hook("list", told.append)
    rules = {"floor": {"recall[buy]": 0.8}}
    with Monitor(store, "mail", measures=["recall[buy]", "accuracy"]) as monitor:
        for day in range(6, 12):
            table = counts(day).copy()
            table[0] = table[0].values[::-1]
            monitor.add(f"2026-01-{day:02}", table)
        online.notify(monitor, hook, **rules)
        monitor.acknowledge(monitor.alarms(**rules), note="seen")
        before = monitor.alarms(**rules)
        assert "recall[buy]" in before["measure"].tolist()
        monitor.change_classes(rename={"buy": "sales"})
        after = monitor.alarms(**rules)
        assert after["measure"].tolist() == [
            name.replace("buy", "sales") for name in before["measure"]
        ]
        assert after["acknowledged"].all()
        assert monitor.alarms(new=True, floor={"recall[sales]": 0.8}).empty
        assert "recall[sales]" in monitor.history()
        number = len(told)
        assert online.notify(monitor, hook, **rules).empty
        assert len(told) == number
        assert monitor.acknowledge(after) == 0


def test_a_page_that_nobody_acknowledged_does_not_come_twice(store):
    told = []
    hook = online.Hook("list", told.append)
    rules = {"floor": {"recall[buy]": 0.8}, "rate": 1e-300}  # no other rule fires
    with Monitor(store, "mail", measures=["recall[buy]"]) as monitor:
        for day in range(6, 26):
            table = counts(day, n=2000).copy()
            table[0] = table[0].values[::-1]
            monitor.add(f"2026-01-{day:02}", table)
        assert len(online.notify(monitor, hook, **rules)) == 1
        monitor.change_classes(rename={"buy": "sales"})
        assert online.notify(monitor, hook, **rules).empty


def test_the_export_has_the_classes_of_each_entry(store):
    with Monitor(store, "mail") as monitor:
        monitor.change_classes(rename={"buy": "sales"}, add=["legal"])
        monitor.add("2026-01-06", counts(6, labels=["sales", "fix", "legal"]))
        table = monitor.ledger.table()
    assert ['"buy"' in text for text in table["labels"]] == [True] * 6 + [False]
    assert '"legal"' in table["labels"].iloc[-1]
    assert table["cells"].iloc[5] == '{"rename": [["buy", "sales"]], "add": ["legal"]}'


def test_copies_and_smaller_ledgers_say_the_same(store, tmp_path):
    with Monitor(store, "mail") as monitor:
        monitor.change_classes(rename={"buy": "sales"}, add=["legal"])
        monitor.add("2026-02-01", counts(6, labels=["sales", "fix", "legal"]))
        batches = monitor.batches()
    assert backup(store, tmp_path / "copy.db")["whole"].all()
    assert restore(tmp_path / "copy.db", tmp_path / "again.db")["whole"].all()
    table = roll_up(store, tmp_path / "small.db", before="2026-02-01")
    assert table["whole"].all()
    assert table["entries"].tolist() == [2]
    for name in ("copy.db", "again.db"):
        with Monitor(str(tmp_path / name), "mail") as monitor:
            assert monitor.batches().equals(batches)
            assert monitor.former_names() == {"buy": "sales"}
    with Monitor(str(tmp_path / "small.db"), "mail") as monitor:
        total = monitor.batches().sum("step")
        np.testing.assert_array_equal(total, batches.sum("step"))
        assert total["actual"].values.tolist() == ["sales", "fix", "legal"]
        assert monitor.add("2026-02-02", counts(7, labels=["sales", "fix", "legal"]))


def test_rows_are_copied_with_the_revision(store, tmp_path, monkeypatch):
    with Monitor(store, "mail") as monitor:
        monitor.change_classes(rename={"buy": "sales"})
    monkeypatch.setattr(Ledger, "is_sqlite", False)  # as from a server
    assert backup(store, tmp_path / "copy.db")["whole"].all()
    monkeypatch.setattr(database, "REVISION", "1")
    with pytest.raises(ValueError, match="unknown version"):
        Ledger(tmp_path / "copy.db")


def test_a_damaged_change_is_noticed(store):
    import sqlite3

    with Monitor(store, "mail") as monitor:
        monitor.change_classes(rename={"buy": "sales"})
    connection = sqlite3.connect(store)
    query = "SELECT name, sql FROM sqlite_master WHERE name LIKE 'bayescm_batches_no_%'"
    triggers = connection.execute(query).fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("UPDATE bayescm_batches SET payload = replace(payload, 'sales', 'theft')")
    for _, sql in triggers:
        connection.execute(sql)
    connection.commit()
    connection.close()
    assert not verify(store)["whole"].any()
    with Ledger(store) as ledger, pytest.raises(ValueError, match="The ledger is damaged"):
        ledger.empty("mail")


def test_several_writers_at_once(store):
    """One renames while others add: each batch is recorded, or rejected with advice."""
    errors, recorded = [], []

    def write(number):
        with Monitor(store, "mail") as monitor:
            for k in range(10):
                name = f"writer {number} batch {k}"
                try:
                    recorded.append((name, monitor.add(name, counts(1000 * number + k))))
                except ValueError as error:
                    errors.append(str(error))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    with Monitor(store, "mail") as monitor:
        assert monitor.change_classes(rename={"buy": "sales"}, add=["legal"])
    for thread in threads:
        thread.join()
    assert all("'buy' is now 'sales'" in error for error in errors)
    assert len(recorded) + len(errors) == 30
    with Monitor(store, "mail") as monitor:
        assert monitor.batches().sizes["step"] == 5 + len(recorded)
        assert monitor.batches().sum() == 100 * (5 + len(recorded))
    assert verify(store)["whole"].all()


def test_two_change_the_classes_at_once(store):
    """Both changes are recorded one after the other, or one of them is told what to do."""
    changes = [{"rename": {"buy": "sales"}}, {"add": ["legal"]}] * 2
    outcomes = []

    def change(keywords):
        with Monitor(store, "mail") as monitor:
            try:
                outcomes.append(monitor.change_classes(**keywords))
            except ValueError as error:  # the same change, with another one in between
                outcomes.append(str(error))

    threads = [threading.Thread(target=change, args=(keywords,)) for keywords in changes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(True) == 2
    assert len(outcomes) == 4
    with Monitor(store, "mail") as monitor:
        assert monitor.labels()["actual"].values.tolist() == ["sales", "fix", "legal"]
        assert monitor.batches().sizes["step"] == 5
    assert verify(store)["whole"].all()


WITH_CLASSES = {
    "counts": {"rename": {"art": "arts"}, "add": ["new"]},
    "two classes": {"rename": {"positive": "sick"}},
    "probabilities": {"rename": {0: 10}},
    "scores": {"rename": {1: 11}},
    "tags": {"rename": {"cat": "feline"}, "add": ["new"]},
    "three chances": {"rename": {"a": "alpha"}, "add": ["new"]},
    "ratings": {"rename": {"ill": "sick"}},
    "partly labelled": {"rename": {"ill": "sick"}},
}


def _labels(monitor):
    empty = monitor.labels()
    if "labels" in empty.attrs:
        return empty.attrs["labels"]
    return empty["label" if "label" in empty.coords else "actual"].values.tolist()


@pytest.mark.long
@pytest.mark.parametrize("kind", BATCHES)
def test_every_type(kind, tmp_path):
    """Classes are renamed and added, or the error says why there are none."""
    batch, edges = BATCHES[kind], np.linspace(-3, 4, 21) if kind == "scores" else None
    with Monitor(str(tmp_path / "eval.db"), kind, edges=edges) as monitor:
        monitor.add("2026-01-01", batch(0))
        monitor.add("2026-01-02", batch(1))
        if kind not in WITH_CLASSES:
            with pytest.raises(ValueError, match="have no classes: "):
                monitor.change_classes(add=["new"])
            return
        before = monitor.summary()
        labels = _labels(monitor)
        change = dict(WITH_CLASSES[kind])
        if kind == "two classes":
            change = {"rename": {labels[1]: "sick" if isinstance(labels[1], str) else 5}}
        assert monitor.change_classes(**change)
        new = change["rename"]
        assert _labels(monitor) == [*(new.get(x, x) for x in labels), *change.get("add", [])]
        assert not monitor.add("2026-01-02", batch(1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind == "three chances":  # a proper score needs examples of every class
                chance = np.random.default_rng(0).dirichlet(np.ones(4), 80).round(3)
                actual = np.array(_labels(monitor))[np.arange(80) % 4]
                monitor.add("2026-01-03", bcm.from_probabilities(actual, chance))
            after = monitor.summary()
            monitor.alarms()
        if "add" not in change:
            np.testing.assert_allclose(after["mean"], before["mean"], rtol=1e-9)
            with pytest.raises(ValueError, match=r"positive class|of two classes"):
                monitor.change_classes(add=["new" if isinstance(labels[0], str) else 7])
        assert verify(monitor.ledger)["whole"].all()
        table = roll_up(monitor.ledger, tmp_path / "small.db", before="2026-02-01")
        assert table["whole"].all()


def test_ratings_get_a_class(tmp_path):
    def batch(day, labels):
        rng = np.random.default_rng(day)
        actual = rng.integers(0, len(labels), 60)
        table = {
            name: np.array(labels)[
                np.where(rng.random(60) < 0.9, actual, (actual + 1) % len(labels))
            ]
            for name in ("ann", "bob", "eve")
        }
        return bcm.from_raters(pd.DataFrame(table), gold=np.array(labels)[actual], labels=labels)

    with Monitor(str(tmp_path / "eval.db"), "raters", measures=["accuracy"]) as monitor:
        monitor.add("2026-01-01", batch(1, LABELS))
        monitor.change_classes(rename={"buy": "sales"}, add=["legal"])
        monitor.add("2026-01-02", batch(2, ["sales", "fix", "legal"]))
        evidence = monitor.ratings()
        assert evidence["actual"].values.tolist() == ["sales", "fix", "legal"]
        assert evidence["counts"].sum() == 120


@pytest.mark.long
def test_partly_labelled_examples_get_a_class_and_no_change(tmp_path):
    def batch(day, labels):
        rng = np.random.default_rng(day)
        actual = np.array(labels)[rng.integers(0, len(labels), 200)]
        other = np.array(labels)[rng.integers(0, len(labels), (2, 200))]
        predicted, judge = (np.where(rng.random(200) < 0.6, actual, part) for part in other)
        known = [label if number % 2 else None for number, label in enumerate(actual)]
        return bcm.from_partly_labelled(known, predicted, judge=judge, labels=labels)

    with Monitor(str(tmp_path / "eval.db"), "mail", measures=["accuracy"]) as monitor:
        for day in range(1, 9):
            monitor.add(f"2026-01-{day:02}", batch(day, LABELS))
        monitor.change_classes(rename={"buy": "sales"}, add=["legal"])
        for day in range(9, 17):
            monitor.add(f"2026-01-{day:02}", batch(day, ["sales", "fix", "legal"]))
        assert not segments(monitor.batches(), None, 0.025)
        assert segments(monitor.batches().drop_vars("classes"), None, 0.025)
        assert set(monitor.partly_labelled()["judge"].values) == {"sales", "fix", "legal"}


@pytest.mark.long
def test_labels_of_examples_get_a_class_and_no_change(tmp_path):
    def batch(day, labels):
        rng = np.random.default_rng(day)
        actual = rng.random((80, len(labels))) < 0.4
        predicted = actual ^ (rng.random(actual.shape) > 0.9)
        return bcm.from_multilabel(actual, predicted, labels=labels)

    with Monitor(str(tmp_path / "eval.db"), "tags", measures=["f1_micro"]) as monitor:
        for day in range(1, 11):
            monitor.add(f"2026-01-{day:02}", batch(day, ["cat", "dog"]))
        monitor.change_classes(rename={"cat": "feline"}, add=["fox", "hen", "cow"])
        for day in range(11, 21):
            monitor.add(f"2026-01-{day:02}", batch(day, ["feline", "dog", "fox", "hen", "cow"]))
        assert "change" not in monitor.alarms()["rule"].tolist()
        assert segments(monitor.batches().drop_vars("classes"), None, 0.025)
        assert monitor.multilabel()["actual"].sel(label="fox")[:800].sum() == 0


@pytest.mark.long
def test_a_challenge_follows_the_names(tmp_path):
    with online.Challenge(str(tmp_path / "c.db"), "duel", measure="f1[ill]") as challenge:
        y = np.array(["ill", "well", "so"])[np.random.default_rng(0).integers(0, 3, 90)]
        pair = bcm.from_classifiers(y, {"a": y, "b": np.roll(y, 1)})
        challenge.add(1, pair)
        before = challenge.history()
        assert challenge.change_classes(rename={"ill": "sick"}, add=["new"])
        assert challenge.rule.measure == "f1[sick]"
        after = challenge.history()
        np.testing.assert_allclose(after["difference"], before["difference"], atol=0.05)
        assert not challenge.add(1, pair)
        y = np.where(y == "ill", "sick", y)
        assert challenge.add(2, bcm.from_classifiers(y, {"a": y, "b": np.roll(y, 1)}))
        assert len(challenge.history()) == 2
    with online.Challenge(str(tmp_path / "c.db"), "duel", measure="f1[ill]") as challenge:
        assert challenge.rule.measure == "f1[sick]"  # the former name, which is followed
