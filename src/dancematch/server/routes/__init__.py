"""The endpoints, one module per kind of thing: each has a `router`."""

from dancematch.server.routes import (
    about,
    cameras,
    dances,
    edits,
    jobs,
    recordings,
    reviews,
    samples,
    scans,
    searches,
)

# In the order of the OpenAPI document.
ROUTES = (about, samples, dances, recordings, edits, searches, scans, cameras, reviews, jobs)
