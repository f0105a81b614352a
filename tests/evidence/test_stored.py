"""Evidence of every type is the same after it was saved and loaded."""

import evidence_of_types
import numpy as np
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence.stored import from_dataset, to_dataset

LABELS = [{"x"}, {"x", "y"}, set()]
EVIDENCE = {
    name: evidence
    for name, evidence in evidence_of_types.evidence().items()
    if isinstance(evidence, xr.DataArray | xr.Dataset)
} | {
    "labels of bool": bcm.from_predictions(
        [True, False, True], [True, False, False], positive=True
    ),
    "dates": bcm.from_predictions(
        [1, 0, 1, 0],
        [1, 0, 0, 1],
        positive=1,
        by={"group": np.array(["2026-01-01", "2026-01-02"] * 2, dtype="datetime64[D]")},
    ),
    "item scores": bcm.from_item_scores({"a": [0.1, 0.2, 0.3], "b": [0.5, 0.2, 0.9]}, range=(0, 1)),
    "several labels": bcm.from_multilabel(LABELS, {"a": LABELS, "b": [*LABELS[:2], {"y"}]}),
    "item counts": bcm.from_item_counts(tp=[1, 2, 3], fp=[0, 1, 0], fn=[1, 0, 0]),
}


@pytest.mark.long
@pytest.mark.parametrize("name", EVIDENCE)
def test_what_is_loaded_is_what_was_saved(name, tmp_path):
    bcm.save(EVIDENCE[name], tmp_path / "evidence.nc")
    assert bcm.load(tmp_path / "evidence.nc").identical(EVIDENCE[name])


@pytest.mark.long
def test_evidence_survives_zarr(tmp_path):
    pytest.importorskip("zarr")
    stored = to_dataset(EVIDENCE["item scores"])
    stored.to_zarr(tmp_path / "evidence.zarr", consolidated=False)
    loaded = xr.open_zarr(tmp_path / "evidence.zarr", consolidated=False).load()
    assert from_dataset(loaded).equals(EVIDENCE["item scores"])


def test_a_damaged_file_is_an_error(tmp_path):
    path = tmp_path / "evidence.nc"
    bcm.save(EVIDENCE["two"], path)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="damaged"):
        bcm.load(path)


def test_a_later_format_is_an_error():
    stored = to_dataset(EVIDENCE["two"])
    with pytest.raises(ValueError, match="The evidence has the unknown format"):
        from_dataset(stored.assign_attrs(bayescm_evidence_format=2))
    with pytest.raises(ValueError, match="Install the version of bayescm that saved it"):
        from_dataset(stored.assign_attrs(bayescm_evidence="rumours"))


def test_invalid_evidence_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="negative"):
        bcm.save(EVIDENCE["two"] - 100, tmp_path / "evidence.nc")
    assert not list(tmp_path.iterdir())
