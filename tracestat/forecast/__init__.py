"""How long a pause still lasts, given what it runs, whose it is and how long it has lasted.

Discrete hazards on a log grid, shrunk level by level, and the measures that say how good such a forecast is. Arrays
in, arrays out.
"""
