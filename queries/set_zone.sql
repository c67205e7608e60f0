-- what local time the keys day, week, hour and weekday mean
SET VARIABLE zone = $zone
