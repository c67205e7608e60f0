-- the class of each list of executables
INSERT INTO command_classes SELECT executables, command_class FROM batch_classes
