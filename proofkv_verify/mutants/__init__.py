"""Planted wrong variants of the built-in bounds: the yardstick of every engine."""
