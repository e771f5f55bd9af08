# Everything in a box, for those who would rather not install it:
#   docker build -t hardmax --build-arg PIP_EXTRA_INDEX_URL=<address of PyTorch's CPU build, see README> .
#   docker run --rm hardmax make test
#   docker run --rm -p 8888:8888 hardmax make lab LAB="--ip=0.0.0.0 --no-browser"
# Debian's packages are those of the day: what has to be the same is in requirements.hashes.
FROM python:3.11-slim-bookworm
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends chromium git make nodejs npm \
 && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 reader
USER 1000
WORKDIR /home/reader/book
ARG PIP_EXTRA_INDEX_URL
COPY --chown=reader:reader . .
RUN make .venv/installed && make book
CMD ["make", "test"]
