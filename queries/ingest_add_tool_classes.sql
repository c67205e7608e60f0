-- the class of each tool name
INSERT INTO tool_classes SELECT tool, tool_class, class_rank FROM batch_classes
