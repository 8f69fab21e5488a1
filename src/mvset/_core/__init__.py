"""Compiled kernels: arrays in, arrays out. No checks, no warnings, no scikit-learn."""
