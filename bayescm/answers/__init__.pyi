from .interval import MeasureDistribution as MeasureDistribution
from .joint import conclusions as conclusions
from .proportions import proportion as proportion
from .regions import correlation as correlation
from .regions import region as region
from .summary import as_metrics as as_metrics
from .tables import great_table as great_table

__all__: list[str]
