"""Exchange rates as the tests need them: a line with a currency is answered with its rate."""

import os
import socketserver
import sys

RATES = {"EUR": "1.00", "USD": "1.08"}


class Rates(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write((RATES.get(line.decode().strip(), "unknown") + "\n").encode())


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


if __name__ == "__main__":
    if os.environ.get("RATES_LICENCE") != "test":
        sys.exit("rates: RATES_LICENCE is not set")
    Server(("127.0.0.1", int(sys.argv[1])), Rates).serve_forever()
