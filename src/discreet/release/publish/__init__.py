"""What is published: the release, its bundle, its page, and the audit."""
