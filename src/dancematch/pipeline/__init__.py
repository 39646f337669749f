"""The compositions that command line, service and library share.

file --motions_of--> Motion --tokeniser--> Fingerprint --engine--> Match
"""
