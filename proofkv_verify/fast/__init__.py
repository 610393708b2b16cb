"""The torch path of the bounds: batched, outward-rounded, on CPU and CUDA. It shares no code with the reference.

Every function returns floats that are at least (for `_lower`: at most) the real value of its formula at the exact
float inputs. `rounding` states what is assumed of torch's arithmetic.
"""
