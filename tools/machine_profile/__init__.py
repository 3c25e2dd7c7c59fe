"""Profiles of machines by micro-benchmarks, their ratios, and the CPU quota that makes one machine like another.

After Jimenez et al., Characterizing and Reducing Cross-Platform Performance Variability Using OS-level Virtualization
(VarSys 2016).
"""
