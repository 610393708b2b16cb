"""The link table: what joins a bound to its theorem, reference, fast path, query, fuzz target and proof sheet."""
