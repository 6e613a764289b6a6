"""The proofs: each subset of the series applies, compiles and passes its tests."""
