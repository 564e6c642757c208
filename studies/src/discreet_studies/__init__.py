"""The studies: every figure and table of the four papers, drawn again and judged.

A study is a paper: its exhibits (figures, tables, printed numbers), each a function that computes the numbers, draws
the charts and judges the paper's claims. :func:`discreet.study` runs them; ``discreet study`` writes the files.
"""
