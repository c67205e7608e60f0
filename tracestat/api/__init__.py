"""Every function that takes a trace or a path; the package re-exports them."""
