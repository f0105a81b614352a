import numpy as np
import pytest

from bayescm.measures import mcc
from bayescm.papers import caelen_sequential as sequential
from bayescm.simulation import generator, run


def test_the_surface_is_equation_9():
    rng = np.random.default_rng(1)
    points = rng.uniform(0, 3, (3, 2))
    noise = rng.standard_normal((200_000, 1))
    x, y = points.T
    positive = np.sin(x**2 + y**2) + np.cos(x**2) + np.cos(y**2) + noise > 0.5
    np.testing.assert_allclose(sequential.surface(points), positive.mean(0), atol=0.005)


@pytest.mark.long
def test_cells_are_those_of_a_forest():
    cells = sequential.forest_cells(np.random.default_rng(1), trees=20)
    assert cells.sum() == pytest.approx(1)
    grid = (np.arange(400) + 0.5) * 3 / 400
    square = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2)
    assert cells[1].sum() == pytest.approx(sequential.surface(square).mean())
    assert 0.2 < mcc(cells) < 0.8


@pytest.mark.long
def test_batches_add_up():
    counts, truth = sequential.batches(generator(0, 0))
    assert counts.sum(["actual", "predicted"]).values.tolist() == [
        100 * s for s in sequential.STEPS
    ]
    assert len(set(truth.values())) == 1


@pytest.mark.long
def test_ten_per_cent_is_ten_per_cent_and_the_next_100_is_not():
    rng = np.random.default_rng(3)
    cells = np.array([[0.32, 0.13], [0.17, 0.38]])

    def batches(_):
        tables = rng.multinomial(15_000, cells.ravel()).reshape(1, 2, 2)
        counts = sequential.from_matrix(tables, labels=[0, 1], dims=("step",))
        return counts.assign_coords(step=[150]), {"mcc after 150": float(mcc(cells))}

    names = ["10 % of the truth", "95 % of the truth", "10 % of the next 100, equal tails"]
    methods = {name: sequential.METHODS[name] for name in names}
    frame = run(batches, methods, replications=120).set_index("method")
    assert frame.loc["10 % of the truth", "doc"] == pytest.approx(0.1, abs=0.11)
    assert frame.loc["95 % of the truth", "doc"] == pytest.approx(0.95, abs=0.08)
    assert frame.loc["10 % of the next 100, equal tails", "doc"] > 0.75


@pytest.mark.long
def test_the_table():
    frame = sequential.table(replications=2)
    assert frame["batches"].unique().tolist() == list(sequential.STEPS)
    assert frame["published_doc"].notna().sum() == 6
    with pytest.raises(ValueError, match="Unknown case"):
        sequential.table(case=2)
