-- which clock of a call counts as its duration
SET VARIABLE clock = $clock
