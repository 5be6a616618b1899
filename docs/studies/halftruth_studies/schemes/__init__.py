"""Earlier schemes for market baskets, in the experiment of FRAPP (Agrawal & Haritsa 2005, §7)."""
