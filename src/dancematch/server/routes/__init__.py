"""The endpoints, one module per kind of thing: each has a `router`."""

from dancematch.server.routes import about, dances, edits, jobs, recordings, reviews, searches

ROUTES = (about, dances, recordings, edits, searches, reviews, jobs)  # in the order of the OpenAPI document
