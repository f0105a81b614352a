"""Meta-analysis of diagnostic studies: what differs between studies, and what explains it."""

from bayescm.answers.heterogeneity import heterogeneity
from bayescm.evidence.covariates import study_covariates

__all__ = ["heterogeneity", "study_covariates"]
