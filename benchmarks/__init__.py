"""Ratio benchmarks: what is compared is measured in one run, in CPU time of one thread."""
