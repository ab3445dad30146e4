import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
TOLERANCE_SECONDS = 5 * 60
MAX_BYTES = 65_536

def is_genuine(headers, body):
    event_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not event_id or not timestamp.isdecimal() or len(timestamp) > 12:
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    signed = f"{event_id}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest())
    given = headers.get("webhook-signature", "").encode().split(b" ")
    return any(hmac.compare_digest(expected, signature) for signature in given)

class Receiver(BaseHTTPRequestHandler):
    timeout = 10  # of a body that stalls

    def do_POST(self):
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or len(length) > 9 or int(length) > MAX_BYTES:
            self.answer(413)  # -1 would read until the connection ends
            return
        body = self.rfile.read(int(length))
        if not is_genuine(self.headers, body):
            self.answer(401)
            return
        print("received", self.headers["webhook-id"], json.loads(body)["type"], flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()

server = ThreadingHTTPServer(("", int(os.environ.get("PORT", 8787))), Receiver)
print("port", server.server_port, flush=True)
server.serve_forever()
