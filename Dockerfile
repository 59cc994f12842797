# The image of all processes: docs/containers.md. docker, podman and buildah build it.

ARG PYTHON=python:3.13-slim

FROM ${PYTHON} AS build
WORKDIR /opt/tollgate
COPY . .
# aws, google and otel are further extras: EXTRAS=postgres,aws
ARG EXTRAS=postgres
RUN python3 -m venv .venv
RUN .venv/bin/python -m pip install --no-cache-dir --disable-pip-version-check --constraint constraints.txt --editable ".[${EXTRAS}]"
RUN .venv/bin/python -m compileall -q app workers config

# The final image has no compiler and no cache; all of /opt/tollgate belongs to root.
FROM ${PYTHON}
RUN groupadd --gid 10001 tollgate && useradd --uid 10001 --gid tollgate --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin tollgate
RUN install -d -o tollgate -g tollgate -m 750 /var/lib/tollgate
COPY --from=build /opt/tollgate /opt/tollgate
WORKDIR /opt/tollgate
ENV PATH=/opt/tollgate/.venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    TOLLGATE_SPOOL_DIR=/var/lib/tollgate/spool
USER tollgate
# The spool and the journals. Mount a volume that outlives the container.
VOLUME /var/lib/tollgate
EXPOSE 8000
# The web processes; compose.yaml has the commands of the others.
CMD ["gunicorn", "--config", "config/gunicorn.conf.py", "app.wsgi:app"]
