"""Everything the tests share: servers they start, tables they write, oracles they compare with."""
