"""Certified greedy decoding from lossy pages: pages, enclosure through the model, refinement, loop, checker."""
