"""Untrusted search for counterexamples: fuzzing, SMT and gradient attack; every find is replayed by the checker."""
