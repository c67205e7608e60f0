"""Estimators of durations: pure functions of arrays or of sums per cluster and bin, in seconds."""
