"""The service: collections, reports that come in, estimates that go out, over HTTP."""
