# The Python package with the libraries of its modules, for programs that train: make wheel makes
# the package, and
#   docker build -f deploy/image/python.Dockerfile -t leat-python build/wheel
# the image.
FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv \
      python3-numpy libgrpc29 libdnnl2 && rm -rf /var/lib/apt/lists/* && \
      python3 -m venv --system-site-packages /venv
COPY *.whl /tmp/
RUN /venv/bin/pip install --no-cache-dir /tmp/*.whl && rm /tmp/*.whl
USER 65534:65534
ENTRYPOINT ["/venv/bin/python"]
