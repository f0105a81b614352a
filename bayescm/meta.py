"""Meta-analysis of diagnostic studies: heterogeneity between studies, and covariates."""

from bayescm.answers.heterogeneity import heterogeneity
from bayescm.evidence.covariates import study_covariates

__all__ = ["heterogeneity", "study_covariates"]
