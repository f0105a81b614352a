from bayescm.studies.command import run_study as run_study
from bayescm.studies.judged import label_errors as label_errors
from bayescm.studies.ours import challengers as challengers
from bayescm.studies.ours import comparisons as comparisons
from bayescm.studies.ours import curves as curves
from bayescm.studies.ours import designs as designs
from bayescm.studies.ours import folds as folds
from bayescm.studies.ours import groups as groups
from bayescm.studies.ours import hard_counts as hard_counts
from bayescm.studies.ours import judges as judges
from bayescm.studies.ours import meta_analysis as meta_analysis
from bayescm.studies.ours import online as online
from bayescm.studies.ours import priors as priors
from bayescm.studies.ours import probabilities as probabilities
from bayescm.studies.ours import run_length as run_length
from bayescm.studies.ours import weights as weights
from bayescm.studies.published import caelen as caelen
from bayescm.studies.published import caelen_sequential as caelen_sequential
from bayescm.studies.published import thesis as thesis
from bayescm.studies.published import wang_2015 as wang_2015
from bayescm.studies.published import wang_li as wang_li
from bayescm.studies.published import yuan_jiang as yuan_jiang
from bayescm.studies.slices import attempts as attempts
from bayescm.studies.slices import gaps as gaps
from bayescm.studies.slices import worst as worst

__all__: list[str]
