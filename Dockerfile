# The command in a container: `docker build -t mvset .`, then
# `docker run --rm --volume "$PWD:/data" --user "$(id -u):$(id -g)" mvset fit normal.csv --out model.mvset`
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/mvset && /opt/mvset/bin/pip install --no-cache-dir '.[all]'

FROM python:3.13-slim
COPY --from=build /opt/mvset /opt/mvset
# Kernels are compiled once and kept; any user of the container may keep them.
ENV PATH=/opt/mvset/bin:$PATH NUMBA_CACHE_DIR=/var/cache/mvset
RUN mkdir -m 1777 /var/cache/mvset && mvset demo --out /tmp/demo > /dev/null && rm -r /tmp/demo && chmod -R a+rwX /var/cache/mvset
WORKDIR /data
USER 1000
ENTRYPOINT ["mvset"]
CMD ["--help"]
