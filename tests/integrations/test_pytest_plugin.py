import pytest
from _pytest.outcomes import Failed, Skipped

import bayescm as bcm

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
MET, FAILED, UNKNOWN = "recall > 0.7", "precision > 0.9", "f1 > 0.7"


def test_what_is_met_passes_and_gives_the_table(bayescm_check):
    assert bayescm_check(COUNTS, MET)["outcome"].tolist() == ["met"]


def test_what_failed_fails_the_test(bayescm_check):
    for unknown in ("fail", "skip", "pass"):
        with pytest.raises(Failed, match=r"precision > 0\.9 .* failed"):
            bayescm_check(COUNTS, [MET, UNKNOWN, FAILED], unknown=unknown)


def test_what_is_not_yet_known_is_as_the_caller_wants_it(bayescm_check):
    with pytest.raises(Failed, match=r"not yet known .* more examples"):
        bayescm_check(COUNTS, [MET, UNKNOWN])
    with pytest.raises(Skipped, match="not yet known"):
        bayescm_check(COUNTS, [MET, UNKNOWN], unknown="skip")
    assert len(bayescm_check(COUNTS, [MET, UNKNOWN], unknown="pass")) == 2
    with pytest.raises(ValueError, match='unknown must be "fail", "skip" or "pass"'):
        bayescm_check(COUNTS, MET, unknown="ignore")
