"""Contracts: one suite per port, which every implementation passes."""
