"""The ledger: addresses, connections, tables, the chain of entries, copies."""
