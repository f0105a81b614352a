import matplotlib
import pytest
import xarray as xr

import bayescm as bcm

matplotlib.use("Agg")


@pytest.fixture(scope="session")
def two():
    return bcm.from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")


@pytest.fixture(scope="session")
def three():
    return bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 0, 5]], labels=list("abc"))


@pytest.fixture(scope="session")
def classifiers(two):
    return xr.concat([two, two + 9], xr.Variable("classifier", ["tree", "forest"]))


@pytest.fixture(scope="session")
def tree(two):
    return bcm.fit(two, draws=500, random_seed=1)


@pytest.fixture(scope="session")
def chains(two):
    return bcm.fit(two, draws=500, random_seed=1, method="nuts")
