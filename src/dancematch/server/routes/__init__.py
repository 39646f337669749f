"""The endpoints, one module per kind of thing: each has a `router`."""

from dancematch.server.routes import about, dances, jobs, searches

ROUTES = (about, dances, searches, jobs)  # in the order of the OpenAPI document
