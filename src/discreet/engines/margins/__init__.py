"""Many tables of the same people counted together, one record of each person in all of them."""
