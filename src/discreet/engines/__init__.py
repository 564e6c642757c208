"""Engines that count tables: their contract (``base``, ``dialect``, ``reference``), and a package for each."""
