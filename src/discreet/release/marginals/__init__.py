"""Many tables of the same people from one budget: signed marginals, measured and combined."""
