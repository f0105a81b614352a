"""Files at an address of the web are fetched once, and what fails is said without passwords."""

import http.server
import threading
from functools import partial

import pytest

import bayescm as bcm


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    (folder / "answers.csv").write_text("actual,predicted\n1,1\n0,1\n1,1\n")
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_request(self, *_):
            asked.append(self.path)

    handler = partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}", asked
        serving.shutdown()


def test_a_file_is_fetched_once(server):
    root, asked = server
    asked.clear()
    for _ in range(2):
        counts = bcm.read(f"{root}/answers.csv?version=3", positive="1")
        assert counts.sum() == 3
    assert asked == ["/answers.csv?version=3"]


def test_what_cannot_be_fetched(server):
    with pytest.raises(OSError, match="csv could not be downloaded") as caught:
        bcm.read(f"{server[0]}/missing.csv?token=secret")
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="are not supported, only http and https"):
        bcm.read("s3://bucket/answers.csv")
