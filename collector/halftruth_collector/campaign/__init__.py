"""Campaigns too large for one database: reports in files, counted on one machine or a cluster."""
