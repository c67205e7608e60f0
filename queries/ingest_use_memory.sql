-- names mean the database in memory again, so that the attached file can be let go
USE memory
