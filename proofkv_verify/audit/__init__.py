"""The audit of a scheme: claims about it, a plan, a ledger that survives a kill, and reports."""
