"""Seasons of batches: the phase of each batch, such as its day of the week."""

from typing import Any

import numpy as np
import pandas as pd

from bayescm.validate import check_whole, fail

# Parts of the time that can define the phase of a batch.
PARTS_OF_TIME = {"hour": "hour", "weekday": "day_of_week", "day": "day", "month": "month"}


def check_season(season: Any) -> Any:
    """Return a season, or raise an error unless it is a number, part of the time, or phases."""
    if season is None or isinstance(season, pd.Series | dict):
        return season
    if isinstance(season, str):
        if season not in PARTS_OF_TIME:
            allowed = f"a number of batches, or one of {', '.join(PARTS_OF_TIME)}"
            raise fail(f"`season` must be {allowed}", season, "", "pass `season='weekday'`")
        return season
    return check_whole("season", season, 2, "batches", 7)


def phases(season: Any, batch_ids: np.ndarray, at: np.ndarray) -> np.ndarray:
    """
    Return the phase of each batch.

    Parameters
    ----------
    season : int, str, Series or dict
        See `bayescm.online.Monitor`.
    batch_ids, at : ndarray
        Names and times of the batches, in order.
    """
    if isinstance(season, str):
        return getattr(pd.DatetimeIndex(at), PARTS_OF_TIME[season]).to_numpy()
    if isinstance(season, int | np.integer):
        return np.arange(len(batch_ids)) % season
    of_batch = {str(name): phase for name, phase in dict(season).items()}
    if missing := [name for name in batch_ids.tolist() if name not in of_batch]:
        todo = "add them to the phases, or pass a part of the time, e.g. `season='weekday'`"
        raise fail("The batches {} have no phase", missing[:5], "", todo)
    return pd.factorize(np.array([str(of_batch[name]) for name in batch_ids.tolist()]))[0]
