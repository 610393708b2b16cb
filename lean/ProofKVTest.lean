module

public import ProofKVTest.Golden

/-! The tests of the development: importing this file evaluates every golden vector. -/
