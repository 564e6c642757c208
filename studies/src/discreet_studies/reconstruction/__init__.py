"""[F]: how well the distribution of counts is reconstructed from k-RR and from the geometric mechanism."""
