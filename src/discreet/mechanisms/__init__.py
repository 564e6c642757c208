"""Closed-form mechanisms, one file per family. Each builds an exact kernel and has the judge certify it."""
