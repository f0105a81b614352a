"""
Malformed requests to a local dashboard, such as no browser would send.

``python malformed_requests.py PORT HOW_MANY [SEED]`` prints the number of responses by status. The
exit status is 1 if a response has status 500, or if the health check fails afterwards.
"""

import collections
import random
import socket
import sys

PATHS = ["/", "/classifier", "/metrics", "/healthz", "/style.css", "/acknowledge", "/../x"]
VERBS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "get", "\x00", "G T"]
ODD = ["%", "%zz", "%00", "%ff%fe", "\x00", "🦊", "'--", "<script>", "a" * 5000]
ODD += ["&&&=&", "..%2f" * 40, "9" * 400, "-1", "1e9"]
ODD += ["%ud800", "%0d%0aSet-Cookie:x", "٣", "%d9%a3"]
ODD += ["{{7*7}}", "[]", "\r\n"]
HEADERS = ["Host: 127.0.0.1", "Host: evil.example", "Host: ", "Host: [", "Content-Length: -1"]
HEADERS += ["Content-Length: 99999999999", "Transfer-Encoding: chunked", "Transfer-Encoding: x"]
HEADERS += ["Cookie: " + "a" * 9000, ": empty", "Expect: 100-continue", "X: \x00"]
HEADERS += [
    "Range: bytes=9-1",
    "Content-Type: multipart/form-data; boundary=",
    "Upgrade: websocket",
]
HEADERS += ["Connection: , ,"]


def request(rng: random.Random) -> bytes:
    """Return the bytes of a random request."""
    if rng.random() < 0.1:
        return rng.randbytes(rng.randrange(1, 2000))
    path = rng.choice(PATHS)
    if rng.random() < 0.7:
        names = ["name", "page", "seen", "batch", "all", "token", rng.choice(ODD)]
        pairs = [f"{rng.choice(names)}={rng.choice(ODD)}" for _ in range(rng.randrange(1, 5))]
        path += "?" + "&".join(pairs)
    verb = "GET" if rng.random() < 0.6 else rng.choice(VERBS)
    headers = [] if rng.random() < 0.05 else ["Host: localhost"] if rng.random() < 0.8 else []
    headers += rng.sample(HEADERS, rng.randrange(0, 3))
    version = rng.choice(["HTTP/1.1"] * 8 + ["HTTP/1.0", "HTTP/9.9", "", "HTTP/1.1 HTTP/1.1"])
    body = rng.choice(["", "", "token=x&all=1", "name=" + rng.choice(ODD), "a&" * 500, "x" * 20000])
    if body and rng.random() < 0.8:
        headers.append(f"Content-Length: {len(body.encode()) + rng.choice([0, 0, 5, -3])}")
    text = f"{verb} {path} {version}\r\n" + "\r\n".join(headers) + "\r\n\r\n" + body
    raw = text.encode("utf-8", "surrogatepass")
    return raw[: rng.randrange(1, len(raw))] if rng.random() < 0.1 else raw


def answered(port: int, raw: bytes, patience: float = 0.2) -> str:
    """Return the status of the response to a request, or "none"."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as opened:
        opened.settimeout(patience)
        try:
            opened.sendall(raw)
            said = opened.recv(4096)
        except (ConnectionError, TimeoutError):  # the server waits for the rest of the request
            return "none"
    return said.split(b" ", 2)[1].decode() if said.startswith(b"HTTP/1.1 ") else "none"


def well(port: int) -> bool:
    """Return True if the health check of the server succeeds."""
    question = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return answered(port, question, patience=20.0) == "200"


def attack(port: int, many: int, seed: int = 0) -> collections.Counter:
    """Send random requests, and return the number of responses by status."""
    rng = random.Random(seed)
    return collections.Counter(answered(port, request(rng)) for _ in range(many))


if __name__ == "__main__":
    port, many, *seed = map(int, sys.argv[1:])
    found = attack(port, many, *seed)
    print(dict(found.most_common()), "well:", well(port))
    sys.exit("500" in found or not well(port))
