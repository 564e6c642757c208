"""The client on a person's device: it reads a collection's question, adds the noise, and sends only the report."""
