"""Folders of files and databases: the same counts as of a text file, and plain errors."""

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import bayescm as bcm
from bayescm.cli import application
from bayescm.evidence.files import read_columns

RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "y": RNG.choice(["NA", "sick", "01"], 400),
        "yhat": RNG.choice(["NA", "sick", "01"], 400),
        "site": RNG.choice(["a", "b"], 400),
        "score": RNG.random(400),
    }
)
COLUMNS = {"actual": "y", "predicted": "yhat", "by": {"group": "site"}, "positive": "sick"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder in parts; the files have dictionaries of their own, in different orders."""
    path = tmp_path_factory.mktemp("parts")
    for site, part in FRAME.groupby("site"):
        (path / f"site={site}").mkdir()
        for number in range(2):
            some = part.iloc[number::2].drop(columns="site")
            order = sorted(some["y"].unique(), reverse=bool(number))
            some = some.assign(y=pd.Categorical(some["y"], order))
            some.to_parquet(path / f"site={site}" / f"{number}.parquet", index=False)
    return path


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("base") / "answers.duckdb"
    frame, other = FRAME, FRAME.head(3)
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", frame)
        connection.register("other", other)
        connection.execute("create table answers as select * from frame")
        connection.execute("create table few as select * from other")
    return f"{path}::answers"


@pytest.fixture(scope="module")
def expected():
    own = {"actual": "y", "predicted": "yhat", "by": {"group": "site"}, "positive": "sick"}
    return bcm.from_frame(FRAME, **own)


def test_a_folder_in_parts_is_counted_where_it_is(folder, expected):
    assert bcm.read(folder, **COLUMNS).sel(expected.indexes).equals(expected)
    assert len(read_columns(folder, ["y", "yhat"], counted=True)) == 9


def test_a_table_of_a_database_is_counted_where_it_is(database, expected):
    assert bcm.read(database, **COLUMNS).sel(expected.indexes).equals(expected)


def test_feather_files_are_counted_too(tmp_path, expected):
    FRAME.to_feather(tmp_path / "a.feather")
    for path in (tmp_path, tmp_path / "a.feather"):
        assert bcm.read(path, **COLUMNS).sel(expected.indexes).equals(expected)


@pytest.mark.long
@pytest.mark.parametrize("command", ["summary", "gap", "slices"])
def test_commands_take_folders_and_databases(folder, database, command):
    asked = ["--actual", "y", "--predicted", "yhat", "--group", "site", "-m", "accuracy"]
    one, other = (
        CliRunner().invoke(application(), [command, str(path), *asked, "--format", "csv"])
        for path in (folder, database)
    )
    assert one.exit_code == other.exit_code == 0
    assert one.stdout == other.stdout


def test_a_label_that_is_missing_is_refused_with_how_many_there_are(tmp_path):
    broken = FRAME.assign(yhat=FRAME["yhat"].where(FRAME.index % 100 > 0))
    broken.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"yhat has missing values \(4\)"):
        bcm.read(tmp_path, actual="y", predicted="yhat")


def test_what_is_no_table_is_refused(tmp_path, database):
    with pytest.raises(ValueError, match="has no tables"):
        bcm.read(tmp_path)
    with pytest.raises(ValueError, match="'answers' or 'few'"):
        bcm.read(database.removesuffix("::answers"))
    with pytest.raises(FileNotFoundError, match="does not exist"):
        bcm.read(tmp_path / "none.duckdb")
    (tmp_path / "text.duckdb").write_text("no database at all")
    with pytest.raises(ValueError, match="The DuckDB database cannot be opened"):
        bcm.read(tmp_path / "text.duckdb")
    (tmp_path / "a.parquet").write_text("no table")
    with pytest.raises(ValueError, match="cannot be read"):
        bcm.read(tmp_path)
    with pytest.raises(ValueError, match="yhat"):
        bcm.read(database, actual="y", predicted="yhat2")
