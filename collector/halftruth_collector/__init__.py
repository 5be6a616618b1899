"""The collector: counts perturbed reports and serves what can be concluded from them."""
