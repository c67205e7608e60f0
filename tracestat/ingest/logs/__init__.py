"""Raw logs of agent harnesses: each line is read once for its facts, and rounds are made of the facts of all logs."""
