# The service in a container (docs/service.md). tests/project/test_packaging.py runs these commands in an environment of
# their own, and the service as it is started here; no image has been built: no container tools where it was written.
FROM python:3.12-slim

RUN useradd --create-home --uid 1000 dancematch

COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
RUN pip install --no-cache-dir '/source[serve]'

# Named, so that it is found whichever user the container runs as.
ENV DANCEMATCH_CACHE=/var/cache/dancematch
RUN mkdir "$DANCEMATCH_CACHE" /data && chown dancematch "$DANCEMATCH_CACHE" /data

# By number: an orchestrator that refuses root cannot look names up.
USER 1000
# The pose networks' weights (9.4 MB, checked), so that the container needs no network later.
RUN python -c "from dancematch.pose.blazepose.weights import load_weights; load_weights()"
# Compiled for the processor that builds the image; on another kind it is compiled again when it is first needed.
RUN dancematch doctor --prepare

VOLUME /data
EXPOSE 8765
ENTRYPOINT ["dancematch", "serve"]
CMD ["/data/dances.db", "--host", "0.0.0.0", "--token-file", "/data/tokens.txt"]
