"""The meaning of everything the package claims, in exact rationals and balls."""
