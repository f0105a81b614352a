"""What a reader needs to reproduce the numbers."""

import hashlib
import importlib.metadata
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bayescm.distributions.dirichlet import default_concentration
from bayescm.evidence.counts import align
from bayescm.evidence.stored.addresses import at_hand

_VERSIONS = ["bayescm", "numpy", "scipy", "xarray"]


def prior_of(counts: xr.DataArray, concentration: Any) -> np.ndarray | None:
    """Return the prior's pseudo-counts, shape (C, C); None where the model has none of its own."""
    if callable(concentration):
        return None
    size = counts.sizes["actual"]
    one = counts.isel({dim: 0 for dim in counts.dims if dim not in ("actual", "predicted")})
    given = align(concentration, one)
    given = default_concentration(size) if given is None else given
    if np.ndim(given) > 2:
        return None
    return np.broadcast_to(np.asarray(given, float), (size, size))


def of_counts(counts: xr.DataArray, model: Any, prior: np.ndarray | None, seed: int) -> dict:
    """Name the model, the prior and what it weighs, the seed and the versions."""
    return {"Model": _called(model), "Prior": _words(prior, counts), "Seed": seed} | versions()


def of_fit(tree: xr.DataTree, model: Any, prior: np.ndarray | None) -> dict:
    """Name the same of a fit, and how its chains went."""
    posterior, how = tree["posterior"], tree.attrs.get("sampling_method", "sampled")
    draws = f"{posterior.sizes['chain']} chains of {posterior.sizes['draw']}, {how}"
    found = {"Model": _called(model), "Prior": _words(prior, posterior.to_dataset())}
    return found | {"Draws": draws} | _diagnostics(tree) | versions("pymc", "arviz")


def versions(*more: str) -> dict:
    """Return the versions of what took part."""
    named = [*_VERSIONS, *more]
    numbers = ", ".join(f"{each} {importlib.metadata.version(each)}" for each in named)
    return {"Versions": numbers, "Date": today()}


def today() -> str:
    """Return the date (UTC, ISO 8601), or that of SOURCE_DATE_EPOCH for reproducible reports."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    when = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return when.date().isoformat()


def origin(source: str | Path | None) -> list[str]:
    """Say which file the evidence was read from."""
    if source is None:
        return []
    path = at_hand(str(source).partition("::")[0])
    if path.is_dir():
        return [f"Read from the folder {path.name}."]
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return [f"Read from {path.name} (SHA-256 {digest})."]


def _called(model):
    return model if isinstance(model, str) else getattr(model, "__name__", "a custom model")


def _words(prior, holder):
    if prior is None:
        return "the model's own (see its documentation)"
    total = f"worth {prior.sum():.4g} examples in all"
    if np.ptp(prior) > 0:
        return f"concentration from {prior.min():.4g} to {prior.max():.4g} per cell, {total}"
    parts = [dim for dim in ("group", "fold") if dim in holder.dims]
    more = "".join(f"; the spread of the {dim}s is estimated" for dim in parts)
    return f"concentration {prior.flat[0]:.4g} per cell, {total}{more}"


def _diagnostics(tree):
    if "sample_stats" not in tree.children:
        return {}
    import arviz as az

    found = az.summary(tree, var_names=["theta"], kind="diagnostics", round_to="none")
    diverging = tree["sample_stats"].get("diverging")
    divergences = 0 if diverging is None else int(diverging.sum())
    worst, least = found["r_hat"].max(), found["ess_bulk"].min()
    return {
        "Diagnostics": f"{divergences} divergences, r-hat up to {worst:.3f}, ESS from {least:.0f}"
    }
