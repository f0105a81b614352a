"""Evaluation batch after batch: sequential updates, and a monitor that never forgets a batch."""

from bayescm.online.alarms import alarms, prob_below, prob_worse
from bayescm.online.change import change, log_bayes_factor
from bayescm.online.ledger import Ledger
from bayescm.online.monitor import Monitor
from bayescm.online.surprise import surprise
from bayescm.online.updating import accumulate, history, intervals, update, with_room

__all__ = [
    "Ledger",
    "Monitor",
    "accumulate",
    "alarms",
    "change",
    "history",
    "intervals",
    "log_bayes_factor",
    "prob_below",
    "prob_worse",
    "surprise",
    "update",
    "with_room",
]
