"""Judge files as they arrive in a folder, each exactly once, and say when the rows begin to drift.

Imports `tables` and what is beneath; imported by `cli` only.
"""
