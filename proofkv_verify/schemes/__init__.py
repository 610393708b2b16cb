"""Quantizers, and checks of the codecs that they store numbers with."""
