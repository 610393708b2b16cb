"""The built-in bounds, one module each: statement, hypotheses and reference value as one plain function."""
