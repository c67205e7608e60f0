-- nor may it change that
SET lock_configuration = true
