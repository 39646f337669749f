"""The compositions that command line, service and library share.

file --extract_motions--> Motion --tokeniser--> Fingerprint --engine--> Match
"""
