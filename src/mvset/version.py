"""The version, for all who note it in what they write."""

__version__ = "0.1.0"
