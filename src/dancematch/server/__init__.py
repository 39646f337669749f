"""The catalogue as a service: REST for programs, a page for people (docs/service.md).

One process answers and searches, in threads; each video is analysed in a child process (`jobs/worker.py`)
with limits on time and memory.
"""
