-- whose rules leave rows out: tracestat's, or those of TraceLab's published analyses
SET VARIABLE definition = $definition
