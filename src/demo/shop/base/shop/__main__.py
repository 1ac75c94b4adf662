"""Serves the shop on a free port of loopback and prints that port."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from shop.views import respond


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        status, kind, body = respond(self.path)
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
