"""Evidence of more than a label: scores and probabilities of every example."""
