# Everything in a box, for those who would rather not install it:
#   docker build -t hardmax --build-arg PIP_EXTRA_INDEX_URL=<address of PyTorch's CPU build, see README> .
#   docker run --rm hardmax make test
#   docker run --rm -p 8888:8888 hardmax make lab LAB="--ip=0.0.0.0 --no-browser"
FROM python:3.11-slim-bookworm
RUN apt-get update \
 && apt-get install -y --no-install-recommends chromium git make nodejs npm \
 && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home reader
USER reader
WORKDIR /home/reader/book
ARG PIP_EXTRA_INDEX_URL
COPY --chown=reader:reader . .
RUN make .venv/installed && make book
CMD ["make", "test"]
