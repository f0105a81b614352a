"""The dashboard of a ledger: pages for people, numbers for Prometheus."""
