"""Evidence whose truth is known in part: judges, and several people who label."""
