"""tracestat: the law of tool-pause durations of coding agents."""

__version__ = "0.1.0"
