"""Other people's tools: scikit-learn, trackers of experiments, pytest."""

from bayescm.integrations import mlflow, sklearn
from bayescm.integrations.metrics import as_metrics

__all__ = ["as_metrics", "mlflow", "sklearn"]
