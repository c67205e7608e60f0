-- how many calls of its own an executable needs to be told apart
SET VARIABLE least_calls = $least
