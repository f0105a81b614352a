from bayescm.studies.command import run_study as run_study
from bayescm.studies.ours import comparisons as comparisons
from bayescm.studies.ours import curves as curves
from bayescm.studies.ours import designs as designs
from bayescm.studies.ours import meta_analysis as meta_analysis
from bayescm.studies.ours import online as online
from bayescm.studies.ours import priors as priors
from bayescm.studies.ours import run_length as run_length
from bayescm.studies.published import caelen as caelen
from bayescm.studies.published import caelen_sequential as caelen_sequential
from bayescm.studies.published import thesis as thesis
from bayescm.studies.published import wang_2015 as wang_2015
from bayescm.studies.published import wang_li as wang_li
from bayescm.studies.published import yuan_jiang as yuan_jiang

__all__: list[str]
