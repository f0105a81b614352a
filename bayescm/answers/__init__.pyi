from .distribution import MeasureDistribution as MeasureDistribution
from .joint import conclusions as conclusions
from .proportions import proportion as proportion
from .regions import correlation as correlation
from .regions import region as region
from .tables.great import great_table as great_table
from .tables.metrics import as_metrics as as_metrics

__all__: list[str]
