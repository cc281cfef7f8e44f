"""Servers that other people wrote, over a folder, on a free port of this machine.

    servers.py s3|signed|files|plain|elsewhere FOLDER

Writes one line, the address and what else is needed, and runs until its input ends: whoever started it holds the other
end of that pipe, and when that process dies, however it dies, the server goes too.

s3         moto. Every file of FOLDER is an object of three buckets: `data` gives objects to signed requests only, `public`
           to everybody, `denied` to nobody (a policy says so). No signature is checked. Buckets `edits-0` to `edits-7` are empty:
           moto cannot list a bucket from which somebody removes objects meanwhile.
signed     moto, which checks signatures and permissions: `reader` may read and list the bucket `data`, `blind` may read
           and not list. The line has the two keys and secrets behind the address.
files      Werkzeug: ranges, suffix ranges, ETags, conditional requests. A folder is denied (403).
plain      http.server of Python: no ranges, no ETags; a folder is a page.
elsewhere  An answer to everything as S3 gives it for a bucket of another region: 301 without a place to go to.
"""

import functools
import http.server
import json
import os
import pathlib
import sys
import threading

LOCAL = "127.0.0.1"


def client(service, url, key="test", secret="test"):
    import boto3

    return boto3.client(
        service, endpoint_url=url, region_name="us-east-1", aws_access_key_id=key, aws_secret_access_key=secret
    )


def moto():
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address=LOCAL, port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    return f"http://{host}:{port}"


def fill(url, folder, buckets):
    """Objects are put straight into moto's memory: thousands of them through its door take too long."""
    from moto.s3.models import get_canned_acl, s3_backends

    s3 = client("s3", url)
    for bucket, acl in buckets.items():
        s3.create_bucket(Bucket=bucket, ACL=acl)
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file():
                key = path.relative_to(folder).as_posix()
                backend = s3_backends["123456789012"]["aws"]
                backend.put_object(bucket, key, path.read_bytes()).set_acl(get_canned_acl(acl))
    return s3


def s3(folder):
    url = moto()
    s3 = fill(url, folder, {"data": "private", "public": "public-read", "denied": "private"})
    for number in range(8):
        s3.create_bucket(Bucket=f"edits-{number}")
    everything = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::denied/*"}
    policy = {"Version": "2012-10-17", "Statement": [everything]}
    s3.put_bucket_policy(Bucket="denied", Policy=json.dumps(policy))
    return url


def signed(folder):
    from moto import settings
    from moto.core.authorization import ActionAuthenticatorMixin

    url = moto()
    fill(url, folder, {"data": "private"})
    iam = client("iam", url)
    words = [url]
    for user, actions in {"reader": ["s3:GetObject", "s3:ListBucket"], "blind": ["s3:GetObject"]}.items():
        iam.create_user(UserName=user)
        allow = {"Effect": "Allow", "Action": actions, "Resource": "*"}
        policy = {"Version": "2012-10-17", "Statement": [allow]}
        iam.put_user_policy(UserName=user, PolicyName="p", PolicyDocument=json.dumps(policy))
        key = iam.create_access_key(UserName=user)["AccessKey"]
        words += [key["AccessKeyId"], key["SecretAccessKey"]]
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    ActionAuthenticatorMixin.request_count = 0
    return " ".join(words)


def files(folder):
    from werkzeug.exceptions import Forbidden, NotFound
    from werkzeug.serving import WSGIRequestHandler, make_server
    from werkzeug.utils import safe_join, send_file
    from werkzeug.wrappers import Request

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, *_):
            pass

    @Request.application
    def answer(request):
        path = safe_join(folder, request.path.lstrip("/"))
        if path is None or not os.path.exists(path):
            return NotFound()
        if os.path.isdir(path):
            return Forbidden()
        return send_file(path, request.environ, mimetype="application/octet-stream", conditional=True, etag=True)

    server = make_server(LOCAL, 0, answer, threaded=True, request_handler=Handler)
    return serve(server, server.server_port)


def plain(folder):
    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

    handler = functools.partial(Handler, directory=folder)
    server = http.server.ThreadingHTTPServer((LOCAL, 0), handler)
    return serve(server, server.server_address[1])


def elsewhere(_):
    body = b"<Error><Code>PermanentRedirect</Code><Endpoint>data.s3.eu-central-1.amazonaws.com</Endpoint></Error>"

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(301)
            self.send_header("x-amz-bucket-region", "eu-central-1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer((LOCAL, 0), Handler)
    return serve(server, server.server_address[1])


def serve(server, port):
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://{LOCAL}:{port}"


def main():
    kind, folder = sys.argv[1:]
    kinds = {"s3": s3, "signed": signed, "files": files, "plain": plain, "elsewhere": elsewhere}
    print(kinds[kind](folder), flush=True)
    sys.stdin.buffer.read()
    os._exit(0)


main()
