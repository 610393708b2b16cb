"""Doors from models, caches and files of other projects to plain tensors of this one."""
