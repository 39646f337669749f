"""The catalogue as a service: REST for programs, a page for people (docs/service.md).

One server process answers and searches, in threads; whatever looks at a video does so in a process of
its own (`worker.py`) that may only take so much time and memory.
"""
