-- put everything into the file; an error here is one, which closing the file would keep to itself
CHECKPOINT trace
