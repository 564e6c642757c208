"""Where ledgers are kept: what a store must provide, and one module for each kind of store."""
