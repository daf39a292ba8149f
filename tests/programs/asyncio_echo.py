# An asyncio server, and a client with plain sockets; `server COUNT [PORT]` prints its port.
import asyncio, random, select, socket, sys, time

class Echo(asyncio.DatagramProtocol):
    def __init__(self, done):
        self.done, self.left = done, int(sys.argv[2])

    def connection_made(self, transport):
        self.transport = transport
        print(transport.get_extra_info("sockname")[1], flush=True)

    def datagram_received(self, data, who):
        answer = b"%s %d %f" % (data, random.getrandbits(32), time.time())
        self.transport.sendto(answer, who)
        self.left -= 1
        if self.left == 0:
            self.done.set()

async def server():
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: Echo(done), local_addr=("127.0.0.1", int(sys.argv[3]) if len(sys.argv) > 3 else 0))
    while not done.is_set():
        try:
            await asyncio.wait_for(done.wait(), 0.01)
        except asyncio.TimeoutError:
            pass

def client():
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.setblocking(False)
    there = ("127.0.0.1", int(sys.argv[3]))
    for number in range(int(sys.argv[2])):
        here.sendto(b"%d %d %d" % (number, time.monotonic_ns(), hash("x")), there)
        select.select([here], [], [], 5)
        data, who = here.recvfrom(1500)
        assert data.startswith(b"%d " % number), data

asyncio.run(server()) if sys.argv[1] == "server" else client()
