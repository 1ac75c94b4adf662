import os
import socket
import unittest


class RatesTest(unittest.TestCase):
    def test_a_rate_is_known(self):
        host, port = os.environ["RATES"].split(":")
        with socket.create_connection((host, int(port)), timeout=10) as rates:
            rates.sendall(b"USD\n")
            self.assertEqual(rates.makefile().readline(), "1.08\n")
