"""The simulator: what a policy does to the wait after a tool call, on one GPU server in a closed loop."""
