"""Earlier schemes for baskets, in the experiment of FRAPP (Agrawal & Haritsa 2005, §7)."""
