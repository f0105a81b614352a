import io
import json

import pandas as pd
import pytest

import bayescm as bcm
from bayescm.cli import main
from bayescm.online.web.state import dashboard_state

ROWS = "actual,predicted\nsick,sick\nwell,sick\nwell,well\nsick,well\nsick,sick\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(ROWS)

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["monitor", *arguments])
        return left.value.code, capsys.readouterr()

    return call


@pytest.mark.long
def test_from_a_file_to_what_is_known(run):
    add = ("add", "a.csv", "--store", "e.db", "--batch", "monday", "--positive", "sick")
    code, said = run(*add)
    assert (code, "recorded" in said.out) == (0, True)
    assert "nothing changed" in run(*add)[1].out
    code, said = run("status", "--store", "e.db", "-m", "recall", "--format", "json")
    (row,) = json.loads(said.out)
    assert (row["batches"], row["examples"], row["measure"]) == (1, 5, "recall")
    code, said = run("history", "--store", "e.db", "-m", "recall", "--format", "csv")
    assert said.out.splitlines()[0] == "step,batch_id,at,since,n,measure,lower,upper"
    code, said = run("alarms", "--store", "e.db", "--floor", "recall=0.999", "--exit-code")
    assert code in (0, 1)
    assert "monday" in run("export", "--store", "e.db")[1].out
    assert run("plot", "--store", "e.db", "-o", "h.png")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("status", "--store", "none.db"), "no ledger"),
        (
            ("status", "--store", "postgresql://u:hidden@127.0.0.1:port/x"),
            "an address that cannot be read",
        ),
    ],
)
def test_errors_are_one_line_without_credentials(run, arguments, message):
    code, said = run(*arguments)
    assert code == 2
    assert message in said.err
    assert "hidden" not in said.err


@pytest.mark.long
@pytest.mark.filterwarnings("always")
def test_what_comes_late_or_corrects_is_said_in_one_line(run):
    add = ("add", "a.csv", "--store", "e.db", "--positive", "sick")
    run(*add, "--batch", "monday", "--at", "2026-01-05")
    code, said = run(*add, "--batch", "sunday", "--at", "2026-01-04")
    assert (code, said.err.count("\n")) == (0, 1)
    assert "bayescm: Batch 'sunday' is dated before the latest" in said.err
    code, said = run(*add, "--batch", "x", "--corrects", "tuesday")
    assert (code, "such as ['monday', 'sunday']" in said.err) == (2, True)
    assert run(*add, "--batch", "monday-2", "--corrects", "monday")[0] == 0
    rows = json.loads(run("export", "--store", "e.db", "--format", "json")[1].out)
    assert [row["corrects"] for row in rows] == [None, None, "monday"]
    status = run("status", "--store", "e.db", "-m", "recall", "--format", "json")[1].out
    assert json.loads(status)[0]["batches"] == 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("add", "a.csv", "--positive", "sick", "--batch", "1", "--corrects", "0"),
            "The batch to correct, '0', does not exist",
        ),
        (
            ("add", "a.csv", "--positive", "sick", "--batch", "1", "--at", "yesterday"),
            "--at must be a datetime",
        ),
        (
            ("add", "a.csv", "--positive", "sick", "--batch", "1", "--predicted", "nothing"),
            "nothing",
        ),
        (("add", "a.csv", "--positive", "sick", "--batch", "1", "--edge", "0.5"), "--edge has"),
        (("challenge", "a.csv", "--batch", "1", "-m", "f1"), "champion"),
        (("challenge", "two.csv", "--batch", "1", "-m", "recall"), "one value per class"),
    ],
)
def test_a_first_batch_that_is_refused_leaves_no_ledger(run, tmp_path, arguments, message):
    (tmp_path / "two.csv").write_text("actual,champion,challenger\na,a,b\nb,b,b\nc,c,a\n")
    before = sorted(tmp_path.iterdir())
    code, said = run(*arguments, "--store", "new.db")
    assert (code, message in said.err) == (2, True), said.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.long
def test_the_first_batch_says_which_of_two_classes_is_positive(run, tmp_path):
    before = sorted(tmp_path.iterdir())
    add = ("add", "a.csv", "--batch", "monday", "--store")
    code, said = run(*add, "e.db")
    assert (code, sorted(tmp_path.iterdir())) == (2, before)
    assert "Pass --positive sick or --positive well, or --no-positive" in said.err
    assert run(*add, "e.db", "--positive", "sick")[0] == 0
    assert run(*add, "e.db", "--no-positive")[0] == 2
    prior = ("--concentration", "24,13,16,19")
    assert "recall" in run("status", "--store", "e.db", *prior)[1].out
    for _ in range(2):  # the same call again changes nothing
        assert run(*add, "none.db", "--no-positive")[0] == 0
    assert "balanced_accuracy" in run("status", "--store", "none.db")[1].out
    (tmp_path / "two.csv").write_text("actual,champion,challenger\na,a,b\nb,b,b\n")
    challenge = ("challenge", "two.csv", "--batch", "1", "--store", "duel.db")
    code, said = run(*challenge)
    assert (code, "Which class is positive" in said.err) == (2, True)
    assert run(*challenge, "--no-positive")[0] == 0


@pytest.mark.long
def test_predictions_come_on_standard_input(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ROWS.encode())))
    code, said = run("add", "--store", "e.db", "--batch", "monday", "--positive", "sick")
    assert (code, "5 examples, recorded" in said.out) == (0, True)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    code, said = run("add", "--store", "e.db", "--batch", "tuesday")
    assert (code, "standard input.csv cannot be read" in said.err) == (2, True)


CONFIG = """
store = "e.db"
positive = "sick"
measures = ["recall", "specificity"]
forgetting = 0.9

[floor]
recall = 0.9

[notify]
command = ["cat >> pages.jsonl"]
"""


@pytest.mark.long
def test_what_is_asked_for_every_time_stands_in_a_file(run, tmp_path):
    (tmp_path / "monitor.toml").write_text(CONFIG)
    assert run("add", "a.csv", "--batch", "monday")[0] == 0
    rows = json.loads(run("status", "--format", "json")[1].out)
    assert [row["measure"] for row in rows] == ["recall", "specificity"]
    rows = json.loads(run("status", "-m", "recall", "--format", "json")[1].out)
    assert [row["measure"] for row in rows] == ["recall"]  # the option goes before the file
    sick = "actual,predicted\n" + "sick,well\n" * 40 + "well,well\n"
    (tmp_path / "b.csv").write_text(sick)
    assert run("add", "b.csv", "--batch", "tuesday")[0] == 0
    code, said = run("notify", "--dry-run", "--table", "json")
    assert (code, len(json.loads(said.out))) == (0, 1)
    assert not (tmp_path / "pages.jsonl").exists()
    assert run("notify")[0] == 0
    page = json.loads((tmp_path / "pages.jsonl").read_text())
    assert "below the floor 0.9" in page["sentence"]
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (tmp_path / "monitor.toml").rename(folder / "other.toml")
    (tmp_path / "e.db").rename(folder / "e.db")
    assert "recall" in run("status", "--config", "elsewhere/other.toml")[1].out


@pytest.mark.long
def test_a_name_that_the_store_lacks_is_begun_on_purpose(run, tmp_path):
    add = ("add", "a.csv", "--store", "e.db", "--batch", "1", "--positive", "sick")
    assert run(*add, "--classifier", "spam filter")[0] == 0
    code, said = run(*add, "--classifier", "spam fliter")
    assert (code, "Nothing was recorded. Add --new" in said.err) == (
        2,
        True,
    )
    assert run(*add)[0] == 2  # nor is --classifier left out by oversight
    for _ in range(2):  # and may be sent again
        assert run(*add, "--classifier", "another", "--new")[0] == 0
    (tmp_path / "monitor.toml").write_text("[classifiers.third]\npositive = 'sick'\n")
    assert run(*add[:-2], "--classifier", "third")[0] == 0
    (tmp_path / "two.csv").write_text("actual,champion,challenger\na,a,b\nb,b,b\n")
    duel = ("challenge", "two.csv", "--batch", "1", "--store", "e.db", "--no-positive", "--name")
    assert run(*duel, "duel")[0] == 0
    code, said = run(*duel, "dual")
    assert (code, "Did you mean 'duel'?" in said.err) == (2, True)
    assert run(*duel, "dual", "--new")[0] == 0


TABLES = """
store = "e.db"
measures = ["recall"]
prob = 0.8

[floor]
recall = 0.9

[classifiers.spam]
positive = "sick"
measures = ["specificity", "f1"]
concentration = 2
floor = { specificity = 0.99 }

[classifiers.risk]
positive = "sick"
probability = "p"
"""


@pytest.fixture
def two_classifiers(run, tmp_path):
    """Write a file of settings, and batches of predictions and of probabilities."""
    (tmp_path / "monitor.toml").write_text(TABLES)
    rows = "".join(
        f"{row},{p}\n" for row, p in zip(ROWS.split()[1:], (0.9, 0.4, 0.1, 0.3, 0.8), strict=True)
    )
    (tmp_path / "a.csv").write_text("actual,predicted,p\n" + rows * 20)
    for name in ("spam", "risk"):
        assert run("add", "a.csv", "--classifier", name, "--batch", "monday")[0] == 0
    return tmp_path


@pytest.mark.long
@pytest.mark.usefixtures("two_classifiers")
def test_a_file_may_say_something_else_of_each_classifier(run):
    rows = json.loads(run("status", "--format", "json")[1].out)
    measures = {(row["classifier"], row["measure"]) for row in rows}
    assert {m for name, m in measures if name == "spam"} == {"specificity", "f1"}
    assert ("risk", "auc") in measures  # recall, which is said to all, is none of probabilities
    assert ("risk", "recall") not in measures
    (alone,) = json.loads(
        run("status", "--classifier", "spam", "-m", "f1", "--format", "json")[1].out
    )
    (f1,) = [row for row in rows if row["measure"] == "f1"]
    assert alone["mean"] == f1["mean"]
    assert run("status", "--classifier", "risk")[0] == 0
    assert run("alarms", "--classifier", "risk")[0] == 0
    code, said = run("status", "--classifier", "risk", "-m", "recall")
    assert (code, "recall" in said.err) == (2, True)  # on the command line it is meant


@pytest.mark.long
def test_a_report_goes_by_the_file_too(run, two_classifiers):
    for arguments in (("--store", "e.db"), ("--config", "monitor.toml")):
        with pytest.raises(SystemExit) as left:
            main(["report", *arguments, "--classifier", "spam", "-o", "r.md"])
        assert not left.value.code
        text = (two_classifiers / "r.md").read_text()
        assert "80%" in text
        assert "specificity" in text
        assert "recall" not in text.split("## ")[1]


@pytest.mark.long
def test_the_dashboard_goes_by_the_file_too(two_classifiers, monkeypatch):
    asked = {}
    monkeypatch.setattr("bayescm.online.serve", lambda store, **settings: asked.update(settings))
    with pytest.raises(SystemExit) as left:
        main(["monitor", "serve"])
    assert not left.value.code
    spam = asked["classifiers"]["spam"]
    assert (spam["concentration"], spam["floor"]) == (2, {"specificity": 0.99})
    assert asked["floor"] == {"recall": 0.9}
    with bcm.online.Ledger(two_classifiers / "e.db") as ledger:
        server = {"host", "port"}
        settings = {name: value for name, value in asked.items() if name not in server}
        state = dashboard_state(ledger, settings)
        shown = state.classifier("spam").measures["measure"].tolist()
        assert shown == ["specificity", "f1"]
        assert state.rules_of("spam")["floor"] == {"specificity": 0.99}
        assert not state.rules_of("risk").get("floor")


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[classifiers.risk]\nconcentration = 2",
            "applies only to counts and item scores, but 'risk' has forecasts",
        ),
        ("[classifiers.risk]\nmeasures = ['recall']", "recall"),
        ("[classifiers.risk]\nstore = 'x'", "monitor.toml has an unknown key 'store'"),
        ("classifiers = 'risk'", "classifiers in monitor.toml must be tables"),
        ("[classifiers.risk]\ntolerance = 1", "must be a table [tolerance]"),
    ],
)
def test_the_table_of_a_classifier_is_taken_at_its_word(run, two_classifiers, text, message):
    (two_classifiers / "monitor.toml").write_text(text)
    for option in (("--classifier", "risk"), ()):
        code, said = run("status", "--store", "e.db", *option)
        assert (code, message in said.err) == (2, True), said


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stor = 'e.db'", "monitor.toml has an unknown key 'stor'. Did you mean 'store'"),
        ("store = ", "monitor.toml is not valid TOML"),
        ("floor = 0.8", "floor in monitor.toml must be a table [floor]"),
        ("[notify]\nmail = 'x'", "monitor.toml has an unknown key 'mail'"),
        ("forgetting = 'some'", "forgetting in monitor.toml must be a number; got 'some'"),
    ],
)
def test_a_configuration_that_cannot_be_understood_is_refused(run, tmp_path, text, message):
    (tmp_path / "monitor.toml").write_text(text)
    code, said = run("status", "--store", "e.db")
    assert (code, message in said.err) == (2, True), said.err
    assert "does not exist" in run("status", "--config", "none.toml")[1].err


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Batch '2' is identical")
@pytest.mark.parametrize("labels", [(0, 1), (False, True)])
def test_what_python_has_begun_the_command_line_goes_on_with(run, tmp_path, labels):
    actual, forecasts = [*labels] * 5, [0.2, 0.8, 0.4, 0.9, 0.6, 0.3, 0.1, 0.7, 0.2, 0.9]
    columns = {"actual": actual, "predicted": actual[::-1], "champion": actual}
    frame = pd.DataFrame(columns | {"challenger": actual[::-1], "p": forecasts})
    frame.to_csv(tmp_path / "b.csv", index=False)
    ledger = bcm.online.Ledger(tmp_path / "e.db")
    both = {"champion": actual, "challenger": actual[::-1]}
    counts = bcm.from_predictions(actual, actual, positive=labels[1])
    bcm.online.Monitor(ledger, "counts").add(1, counts)
    bcm.online.Monitor(ledger, "odds").add(1, bcm.from_probabilities(actual, forecasts))
    duel = bcm.online.Challenge(ledger)
    duel.add(1, bcm.from_classifiers(actual, both, positive=labels[1]))
    add = ("add", "b.csv", "--store", "e.db", "--batch", "2", "--classifier")
    assert run(*add, "counts")[0] == 0
    assert run(*add, "odds", "--probability", "p")[0] == 0
    assert run("challenge", "b.csv", "--store", "e.db", "--batch", "2")[0] == 0
    for name in ("counts", "odds"):
        assert bcm.online.Monitor(ledger, name).batches().sizes["step"] == 2
    assert duel.outcomes().sizes["step"] == 2
    ledger.close()


def test_advice_about_abstentions_is_what_a_monitor_can_do(run, tmp_path):
    (tmp_path / "b.csv").write_text("actual,predicted\nsick,sick\nwell,well\nwell,refused\n")
    add = ("add", "b.csv", "--store", "e.db", "--batch", "1", "--positive", "sick")
    code, said = run(*add, "--label", "sick", "--label", "well")
    assert (code, "abstain" in said.err) == (2, False)
    assert "leave its rows out" in said.err


@pytest.mark.long
def test_probabilities_after_counts_are_refused(run, tmp_path):
    (tmp_path / "b.csv").write_text("actual,predicted,p\n1,1,.9\n0,0,.2\n")
    add = ("add", "b.csv", "--store", "e.db", "--positive", "1", "--batch")
    assert run(*add, "one")[0] == 0
    code, said = run(*add, "two", "--probability", "p")
    assert (code, "but this batch has forecasts in bins" in said.err) == (2, True)


@pytest.mark.long
def test_who_is_asked_about_is_the_only_one_or_has_to_be_named(run, tmp_path):
    (tmp_path / "b.csv").write_text("actual,predicted\n1,1\n0,0\n0,1\n")
    add = ("add", "b.csv", "--store", "e.db", "--batch")
    assert run(*add, "1", "--positive", "1", "--classifier", "spam filter")[0] == 0
    for ask in ("alarms", "incidents", "history"):
        assert run(ask, "--store", "e.db")[0] == 0
    code, said = run(*add, "2")
    assert (code, "Nothing was recorded: no classifier is named" in said.err) == (2, True)
    assert run(*add, "1", "--positive", "1", "--classifier", "risk", "--new")[0] == 0
    for ask in (("plot", "-o", "p.png"), ("notify", "--log"), ("alarms",), ("incidents",)):
        assert run(*ask, "--store", "e.db")[0] == 0
    assert {path.name for path in tmp_path.glob("p*.png")} == {"p-risk.png", "p-spam-filter.png"}
    for ask in (("acknowledge",), ("history",)):
        code, said = run(*ask, "--store", "e.db")
        assert (code, "The store has several classifiers" in said.err) == (2, True)
        assert "'classifier'" not in said.err
        assert "--classifier" in said.err


@pytest.mark.long
def test_the_latest_batch_is_one_that_counts(run, tmp_path):
    (tmp_path / "b.csv").write_text("actual,predicted\n1,1\n0,0\n0,1\n")
    with bcm.online.Monitor(tmp_path / "e.db", "spam") as monitor:
        counts = bcm.from_cells(tp=8, fn=2, fp=1, tn=9)
        monitor.add("a", counts, at="2026-01-05")
        with pytest.warns(UserWarning, match="is in the future"):
            monitor.add("typo", counts, at="2062-01-06")
        monitor.add("b", counts, at="2026-01-06", corrects="typo")
        monitor.add("c", counts, at="2026-01-07")  # not earlier than the latest that counts
        with pytest.warns(UserWarning, match="is dated before the latest batch"):
            monitor.add("late", counts, at="2026-01-04")
        state = dashboard_state(monitor.ledger, {})
        assert state.classifier("spam").latest == "2026-01-07T00:00:00Z"
    code, said = run("status", "--store", "e.db", "--format", "csv")
    assert (code, "2026-01-07T00:00:00Z" in said.out, "2062" in said.out) == (0, True, False)


@pytest.mark.long
def test_the_prior_of_items_is_that_of_the_command_line_or_of_its_table(run, tmp_path):
    with bcm.online.Ledger(tmp_path / "e.db") as ledger:
        scores = bcm.from_item_scores([0.2, 0.9, 0.4], range=(0, 1))
        bcm.online.Monitor(ledger, "marks").add(1, scores)
        prior = bcm.online.Monitor(ledger, "marks", concentration=9.0).summary()["mean"].tolist()
        default = bcm.online.Monitor(ledger, "marks").summary()["mean"].tolist()

    def mean(*arguments):
        code, said = run("status", "--store", "e.db", "--format", "json", *arguments)
        assert code == 0
        return [row["mean"] for row in json.loads(said.out)]

    named = ("--classifier", "marks")
    assert mean(*named, "--concentration", "9") == pytest.approx(prior)
    assert mean(*named) == pytest.approx(default) != pytest.approx(prior)
    code, said = run("status", "--store", "e.db", *named, "--concentration", "1,2,3,4")
    assert (code, "one number" in said.err) == (2, True)
    (tmp_path / "monitor.toml").write_text("[classifiers.marks]\nconcentration = 9\n")
    assert mean() == mean(*named) == pytest.approx(prior)


@pytest.mark.long
def test_a_name_that_is_a_date_is_the_time_of_the_batch(run):
    add = ("add", "a.csv", "--store", "e.db", "--positive", "sick", "--batch")
    assert "recorded with the time of its name, 2026-01-31T00:00Z" in run(*add, "2026-01-31")[1].out
    assert "the time of its name" not in run(*add, "2026-02-01", "--at", "2026-02-01T12:00")[1].out
    assert "the time of its name" not in run(*add, "monday")[1].out
    with bcm.online.Monitor("e.db", "classifier") as monitor:
        times = monitor.batches()["at"].values.astype("<M8[m]").astype(str).tolist()
    assert times[:2] == ["2026-01-31T00:00", "2026-02-01T12:00"]
    assert "nothing changed" in run(*add, "2026-01-31")[1].out


@pytest.mark.long
def test_item_scores_are_imported_from_any_table(run, tmp_path):
    (tmp_path / "m.csv").write_text("day;item;s\nx;1;0.5\nx;2;0.6\ny;1;0.7\n")
    rows = [{"day": "z", "item": 1, "s": 0.2}, {"day": "z", "item": 2, "s": 0.4}]
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, rows)))
    scores = ("--store", "e.db", "--batch-column", "day", "--score", "s", "--range", "0,1")
    assert "2 batches of classifier recorded" in run("import", "m.csv", *scores)[1].out
    assert "1 batches of classifier recorded" in run("import", "m.jsonl", *scores)[1].out
    code, said = run("import", "m.csv", *scores[:2], "--score", "s")
    assert (code, "--batch-column" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("day,s\na,1\n", (), "m.csv has no column 'batch'. Expected 'day' or 's'"),
        ("day,s\na,1\n", (), "Name the column of batches with --batch-column"),
        ("day,tp,fn,fp,tn\na,1,1,1,1\n", (), "with --batch-column"),
        ("day,s\na,1\n", ("--score", "s"), "with --batch-column"),
        ("batch,actual,predicted\n", (), "m.csv has no rows"),
        ("batch,item,s\n", ("--score", "s", "--range", "0,1"), "m.csv has no rows"),
        (
            "batch,s,item\na,0.5,x\n,0.5,x\n",
            ("--score", "s"),
            "'batch' of m.csv is empty in 1 rows",
        ),
        ("batch,actual,predicted\n,1,1\na,1,1\n", (), "'batch' of m.csv is empty in 1 rows"),
        (
            "batch,actual,predicted,t\na,1,1,2026-01-02\nb,1,1,monday\n",
            ("--at-column", "t"),
            "olumn 't' of m.csv has a value that is not a time: 'monday'",
        ),
        ("batch,actual,predicted\na,1,1\n", ("--at-column", "t"), "with --at-column"),
        ("batch,tp,fn,fp\na,1,1,1\n", (), "m.csv lacks TN"),
        (
            "batch,tp,fn,fp,tn\na,1,1,1,1\nb,-1,1,1,1\n",
            (),
            "tp of batch 'b' must be a whole number",
        ),
        ("batch,tp,fn,fp,tn\na,1,1,1,1\nb,0,0,0,0\n", (), "monitor add --allow-empty"),
        (
            "batch,item,s\na,1,0.5\nb,1,1.5\n",
            ("--score", "s", "--range", "0,1"),
            "Batch 'b': The score 1.5 is outside the range",
        ),
        (
            "batch,item,s\na,1,0.5\nb,1,x\n",
            ("--score", "s", "--range", "0,1"),
            "Column 's' of m.csv has text where a number belongs: 'x'",
        ),
    ],
)
def test_an_import_says_what_is_wrong_with_the_file(run, tmp_path, text, options, message):
    (tmp_path / "m.csv").write_text(text)
    code, said = run("import", "m.csv", "--store", "e.db", *options)
    assert (code, message in said.err) == (2, True), said.err
    assert not (tmp_path / "e.db").exists()


def test_a_class_that_the_ledger_lacks_is_added_to_it(run, tmp_path):
    (tmp_path / "m.csv").write_text("batch,actual,predicted\na,x,x\na,y,x\na,y,y\n")
    (tmp_path / "n.csv").write_text("batch,actual,predicted\nb,x,x\nb,z,x\n")
    store = ("--store", "e.db")
    assert run("import", "m.csv", *store, "--no-positive")[0] == 0
    for command in ("import n.csv", "add n.csv --batch b"):
        code, said = run(*command.split(), *store)
        assert (code, "with bayescm monitor classes --add" in said.err) == (2, True), said.err
    assert run("classes", *store, "--add", "z")[0] == 0
    assert "1 batches of classifier recorded" in run("import", "n.csv", *store)[1].out


@pytest.mark.long
def test_a_file_with_one_record_is_not_empty(run, tmp_path):
    (tmp_path / "one.jsonl").write_text('{"actual": 1, "predicted": 1}')
    (tmp_path / "none.csv").write_text("actual,predicted\n")
    add = ("--store", "e.db", "--positive", "1", "--label", "0", "--label", "1")
    said = run("add", "one.jsonl", "--batch", "a", "--allow-empty", *add)[1].out
    assert "1 examples, recorded" in said
    said = run("add", "none.csv", "--batch", "b", "--allow-empty", *add[:2])[1].out
    assert "no examples, recorded" in said


def test_the_phases_of_a_season_may_be_a_column_of_the_imported_file(run, tmp_path):
    from bayescm.cli.monitor import _season

    rows = [
        f"{day},{c},{c},{'weekend' if day > 4 else 'weekday'}" for day in range(7) for c in "xxy"
    ]
    (tmp_path / "m.csv").write_text("\n".join(["batch,actual,predicted,phase", *rows]))
    assert run("import", "m.csv", "--store", "e.db", "--positive", "x")[0] == 0
    phases = _season("m.csv")
    assert (len(phases), phases["0"], phases["6"]) == (7, "weekday", "weekend")
    code, said = run("alarms", "--store", "e.db", "--season", "m.csv")
    assert code == 0, said.err
    (tmp_path / "n.csv").write_text("\n".join(["batch,phase", "0,a", "0,b"]))
    code, said = run("alarms", "--store", "e.db", "--season", "n.csv")
    assert (code, "with two phases" in said.err) == (2, True), said.err
    (tmp_path / "n.csv").write_text("\n".join(["batch,phase", "0,a", "1,"]))
    code, said = run("alarms", "--store", "e.db", "--season", "n.csv")
    assert (code, "without a phase" in said.err) == (2, True), said.err


def test_history_has_a_measure_without_classes_once(run, tmp_path):
    store = str(tmp_path / "e.db")
    with bcm.online.Monitor(store, "animals") as monitor:
        for n in (8, 9):
            monitor.add(n, bcm.from_matrix([[n, 1, 0], [2, 8, 1], [0, 0, 5]]))
    asked = ("--store", store, "-m", "accuracy", "-m", "recall", "--format", "csv")
    table = pd.read_csv(io.StringIO(run("history", *asked)[1].out), dtype={"class": str})
    found = table[["step", "class", "measure"]].fillna("").values.tolist()
    each = [["", "accuracy"], *[[label, "recall"] for label in "012"]]
    assert found == [[step, *row] for step in (0, 1) for row in each]


def test_empty_files_of_one_classifier_are_quiet_days_but_a_failed_export_is_not(run, tmp_path):
    (tmp_path / "none.csv").write_text("actual,predicted\n")
    (tmp_path / "failed.csv").write_text("")
    store = ("--store", "e.db", "--classifier", "spam")
    assert run("add", "a.csv", "--batch", "a", "--positive", "sick", "--new", *store)[0] == 0
    code, said = run("add", "none.csv", "--batch", "b", *store)
    assert (code, "pass --allow-empty" in said.err) == (2, True), said.err
    (tmp_path / "monitor.toml").write_text("[classifiers.spam]\nallow_empty = true\n")
    assert "no examples, recorded" in run("add", "none.csv", "--batch", "b", *store)[1].out
    code, said = run("add", "failed.csv", "--batch", "c", *store)
    assert (code, "the file is empty" in said.err) == (2, True), said.err


def test_a_floor_outside_the_range_of_its_measure_is_an_error(run, tmp_path):
    assert run("add", "a.csv", "--batch", "a", "--positive", "sick", "--store", "e.db")[0] == 0
    code, said = run("alarms", "--store", "e.db", "--floor", "recall=80")
    assert (code, "floor of recall must be between 0 and 1" in said.err) == (2, True), said.err
    assert run("alarms", "--store", "e.db", "--floor", "recall=80%")[0] == 0
    with bcm.online.Monitor(str(tmp_path / "m.db"), "marks") as monitor:
        monitor.add("a", bcm.from_item_scores([2, 3, 4, 5], range=(1, 5)))
        assert len(monitor.alarms(floor=5)) == 0
        with pytest.raises(ValueError, match="floor of mean must be between 1 and 5"):
            monitor.alarms(floor={"mean": 6})


@pytest.mark.filterwarnings("always")
def test_a_batch_in_the_future_gives_one_warning_and_an_unknown_one_is_not_acknowledged(run):
    add = ("add", "a.csv", "--positive", "sick", "--store", "e.db")
    code, said = run(*add, "--batch", "a", "--at", "2262-01-05")
    assert (code, said.err.count("is in the future")) == (0, 1), said.err
    code, said = run("acknowledge", "--store", "e.db", "--batch", "b")
    assert (code, "has no batch 'b'" in said.err) == (2, True), said.err


def test_a_command_replaces_the_receivers_of_the_file(run, tmp_path):
    (tmp_path / "b.csv").write_text("actual,predicted\n" + "sick,well\n" * 50)
    (tmp_path / "monitor.toml").write_text(
        'store = "e.db"\npositive = "sick"\n[floor]\nrecall = 0.9\n'
        '[notify]\nurl = "http://127.0.0.1:9/"\nformat = "slack"\n'
    )
    for name in "ab":
        assert run("add", f"{name}.csv", "--batch", name)[0] == 0
    code, said = run("notify", "--command", "cat > mail.txt", "--format", "email")
    assert (code, "0 failed" in said.out) == (0, True), said.err
    assert "Subject:" in (tmp_path / "mail.txt").read_text()


def test_an_import_knows_the_former_names_of_classes(run, tmp_path):
    old = "batch,actual,predicted\na,x,x\na,y,x\na,z,z\nb,y,y\nb,z,x\nb,x,x\n"
    (tmp_path / "old.csv").write_text(old)
    (tmp_path / "new.csv").write_text(old + "c,w,w\nc,y,y\nc,z,w\n")
    (tmp_path / "wrong.csv").write_text(old + "c,x,w\n")
    store = ("--store", "e.db")
    assert run("import", "old.csv", *store)[0] == 0
    assert run("classes", *store, "--rename", "x=w")[0] == 0
    for file, outcome in {"old": "0 batches", "new": "1 batches"}.items():
        code, said = run("import", f"{file}.csv", *store)
        assert (code, f"{outcome} of classifier recorded" in said.out) == (0, True), said.err
    assert run("import", "wrong.csv", *store)[0] == 2


@pytest.mark.parametrize("command", ["status", "alarms", "incidents"])
def test_an_error_about_one_of_several_classifiers_names_it(run, tmp_path, command):
    for name in ("spam", "ham"):
        add = ("add", "a.csv", "--batch", "a", "--positive", "sick", "--store", "f.db", "--new")
        assert run(*add, "--classifier", name)[0] == 0
    (tmp_path / "monitor.toml").write_text(
        'measures = ["recall", "f1"]\n[floor]\nf1 = 0.1\n[classifiers.ham]\nmeasures = ["recall"]'
    )
    code, said = run(command, "--store", "f.db")
    assert (code, "ham: A floor is set for 'f1'" in said.err) == (2, True), said.err
    assert "[classifiers.NAME] in monitor.toml" in said.err


def test_messages_of_the_terminal_name_options(run, tmp_path):
    (tmp_path / "p.csv").write_text("actual,p\n1,87.5\n0,12.5\n")
    (tmp_path / "s.csv").write_text("item,s\na,1\nb,\n")
    store = ("--store", "e.db", "--batch", "a")
    said = run("add", "p.csv", *store, "--probability", "p", "--positive", "1")[1].err
    assert "Divide percentages by 100" in said
    said = run("add", "s.csv", *store, "--score", "s", "--range", "0,5")[1].err
    assert "Complete the scores" in said
    assert "missing=" not in said
    run("add", "a.csv", *store, "--positive", "sick")
    said = run("notify", *store[:2], "--url", "https://a.b/c", "--format", "email")[1].err
    assert "Pass --command" in said


def test_status_leaves_out_a_system_against_itself(run, tmp_path):
    (tmp_path / "v.csv").write_text("left,right,winner\n" + "a,b,left\nb,a,left\na,b,tie\n" * 5)
    store = ("--store", "v.db")
    assert run("add", "v.csv", "--batch", "a", "--left", "left", "--right", "right", *store)[0] == 0
    said = run("status", *store, "-m", "win_rate[a]", "--format", "json")[1].out
    assert [row["system"] for row in json.loads(said)] == ["b"]


def test_pictures_and_changes_of_classes_have_plain_names(run, tmp_path):
    (tmp_path / "m.csv").write_text("actual,predicted\nx,x\ny,x\nz,z\ny,y\n")
    for name in ("spam", "ham"):
        add = ("add", "m.csv", "--batch", "a", "--store", "e.db", "--new", "--classifier", name)
        assert run(*add)[0] == 0
    assert run("classes", "--store", "e.db", "--classifier", "ham", "--rename", "x=w")[0] == 0
    exported = run("export", "--store", "e.db")[1].out
    assert "classes 1" in exported
    assert "\t" not in exported
    said = run("plot", "--store", "e.db", "-o", "h.png", "-m", "accuracy")[1].out
    assert said.splitlines() == ["ham: h-ham.png", "spam: h-spam.png"]
