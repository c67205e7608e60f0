"""Traces and results in the forms that other tools read."""
