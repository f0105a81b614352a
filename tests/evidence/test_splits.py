import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from bayescm.evidence.splits import BlockedThreeByTwo, FiveByTwo

X, Y = make_classification(203, weights=[0.7], random_state=1)
SPLITTERS = [
    BlockedThreeByTwo(random_state=3),
    BlockedThreeByTwo(stratify=False, random_state=3),
    FiveByTwo(random_state=3),
    FiveByTwo(stratify=False, random_state=3),
]


@pytest.mark.parametrize("cv", SPLITTERS, ids=repr)
def test_each_pair_of_splits_is_a_two_fold_cross_validation(cv):
    splits = list(cv.split(X, Y))
    assert len(splits) == cv.get_n_splits()
    for (train, test), (other_train, other_test) in zip(splits[::2], splits[1::2], strict=True):
        assert sorted([*train, *test]) == list(range(203))
        assert set(train) == set(other_test)
        assert set(test) == set(other_train)
        assert abs(len(train) - len(test)) <= 2


@pytest.mark.parametrize("cv", SPLITTERS, ids=repr)
def test_scikit_learn_takes_the_splitter(cv):
    assert len(cross_val_score(GaussianNB(), X, Y, cv=cv)) == cv.get_n_splits()


def test_blocked_training_sets_share_exactly_one_block():
    x = np.zeros((200, 1))
    y = np.repeat([0, 1], 100)
    trains = [set(train) for train, _ in BlockedThreeByTwo(random_state=0).split(x, y)]
    for first in range(6):
        for second in range(6):
            if first // 2 != second // 2:
                assert len(trains[first] & trains[second]) == 50


def test_blocks_follow_table_1_of_the_paper():
    trains = [set(train) for train, _ in BlockedThreeByTwo(random_state=0).split(X, Y)]
    one, two, three = trains[0], trains[2], trains[4]
    block = one & two & three
    assert len(block) == pytest.approx(203 / 4, abs=1)
    # The first training set of each pairing holds the first block and one other.
    assert len(one | two | three) == 203


@pytest.mark.parametrize("cv", [SPLITTERS[0], SPLITTERS[2]], ids=repr)
def test_stratified_parts_have_their_share_of_each_class(cv):
    for _, test in cv.split(X, Y):
        for label in (0, 1):
            assert abs((Y[test] == label).sum() - (label == Y).sum() / 2) <= 2


def test_halvings_of_5x2_differ():
    tests = [frozenset(test) for _, test in FiveByTwo(random_state=0).split(X, Y)]
    assert len(set(tests)) == 10


@pytest.mark.parametrize("cv", SPLITTERS, ids=repr)
def test_same_seed_same_splits(cv):
    first = [test.tolist() for _, test in cv.split(X, Y)]
    assert first == [test.tolist() for _, test in cv.split(X, Y)]


@pytest.mark.parametrize("kind", [BlockedThreeByTwo, FiveByTwo])
@pytest.mark.parametrize(
    ("y", "keywords", "message"),
    [
        (None, {}, "Stratified folds need one class label per example"),
        (np.linspace(0, 1, 203), {}, "Stratified folds need one class label per example"),
        ([0], {"x": [[1]]}, "examples cannot be split into"),
    ],
)
def test_bad_input(kind, y, keywords, message):
    x = keywords.get("x", X)
    with pytest.raises(ValueError, match=message):
        list(kind().split(x, y))
