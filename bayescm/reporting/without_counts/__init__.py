"""Reports of evidence that is no confusion matrix: probabilities, and raters without a truth."""
