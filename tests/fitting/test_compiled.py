"""What is compiled of a model serves the next one of its kind, and changes no number."""

import threading

import pymc as pm
import pytest

import bayescm as bcm
from bayescm.fitting import compiled
from bayescm.fitting.recent import Recent

COUNTS = bcm.from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")
OTHER = bcm.from_matrix([[5, 1], [2, 900]], labels=["x", "y"], positive="y")
FOLDS = bcm.from_matrix([[[9, 2], [3, 8]], [[7, 1], [4, 9]]], dims=("fold",))
DRAWS = {"draws": 40, "chains": 2, "random_seed": 3}


@pytest.fixture
def empty_cache(monkeypatch):
    monkeypatch.setattr(compiled, "_models", Recent(compiled.same))


def functions():
    return [set(each.functions) for each in compiled._models]


@pytest.mark.long
@pytest.mark.parametrize(
    ("one", "other", "keywords"),
    [
        (COUNTS, OTHER, {"concentration": 2.0}),
        (FOLDS, FOLDS + 3, {"model": "averaged_folds"}),
    ],
    ids=["a matrix", "folds"],
)
def test_another_ones_functions_give_the_same_tree(empty_cache, one, other, keywords):
    fresh = bcm.fit(one, **DRAWS, **keywords)
    compiled._models.clear()
    between = bcm.fit(other, **DRAWS, **keywords)
    copied = between.copy(deep=True)
    before = functions()
    again = bcm.fit(one, **DRAWS, **keywords)
    assert functions() == before != []
    for name, group in fresh.children.items():
        assert again[name].to_dataset().drop_attrs().equals(group.to_dataset().drop_attrs())
        # The next answers are not written over the last.
        assert between[name].to_dataset().equals(copied[name].to_dataset())


def test_models_that_differ_in_a_name_or_a_number_share_nothing(empty_cache):
    def named(name, a):
        def model(counts):
            with pm.Model(coords={"cell": list("abcd")}) as made:
                theta = pm.Dirichlet(name, [a, 1.0, 1.0, 1.0], dims="cell")
                data = pm.Data("counts", counts.values.ravel())
                pm.Multinomial("y", n=int(counts.sum()), p=theta, observed=data)
            return made

        return model(COUNTS)

    models = [named("theta", 2), named("theta", 3), named("rates", 2), named("theta", 2)]
    assert len({id(compiled._entry(each, ())) for each in models}) == 3


@pytest.mark.long
def test_threads_share_functions(empty_cache):
    alone = {n: bcm.fit(COUNTS * n, **DRAWS)["log_likelihood"]["cell_counts"] for n in (1, 2, 3)}
    found, wrong = {}, []

    def ask(n):
        try:
            found[n] = bcm.fit(COUNTS * n, **DRAWS)["log_likelihood"]["cell_counts"]
        except Exception as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=ask, args=(n,)) for n in alone]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    for n, each in alone.items():
        assert found[n].equals(each)
