"""One file for each schema; one that has been released is never edited."""
