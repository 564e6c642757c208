"""What is declared of people's data, once, before a row is read: names, public values, and the ledger that pays."""
