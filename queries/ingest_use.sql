-- names mean the attached file from here on
USE trace
