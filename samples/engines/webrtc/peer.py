"""Two peers of aiortc that send each other messages over two data channels: one that is reliable and ordered, one
that is neither.

    peer.py offer|answer FOLDER

They tell each other where they are by files in FOLDER, and meet on loopback.
"""

import asyncio
import json
import os
import sys

from aioice import ice
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription

MESSAGES = 40

# aioice takes every address of the machine but those of loopback.
ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]


def write(path, description):
    """Writes a file that is there as a whole or not at all."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump({"sdp": description.sdp, "type": description.type}, file)
    os.rename(path + ".part", path)


async def read(path):
    while not os.path.exists(path):
        await asyncio.sleep(0.05)
    with open(path, encoding="utf-8") as file:
        return RTCSessionDescription(**json.load(file))


def listen(channel, heard, all_heard):
    @channel.on("message")
    def on_message(message):
        heard[channel.label] = heard.get(channel.label, 0) + 1
        if heard.get("orders") == MESSAGES:
            all_heard.set()


async def speak(channel):
    for number in range(MESSAGES):
        channel.send(f"{channel.label} {number} " + "x" * (3000 if number == 20 else 20))
        await asyncio.sleep(0.01)


async def play(role, folder):
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    heard, all_heard = {}, asyncio.Event()
    speaking = []
    offer, answer = (os.path.join(folder, name) for name in ("offer.json", "answer.json"))
    if role == "offer":
        channels = [
            connection.createDataChannel("orders"),
            connection.createDataChannel("positions", ordered=False, maxRetransmits=0),
        ]
        for channel in channels:
            listen(channel, heard, all_heard)
            channel.on("open", lambda channel=channel: speaking.append(asyncio.ensure_future(speak(channel))))
        await connection.setLocalDescription(await connection.createOffer())
        write(offer, connection.localDescription)
        await connection.setRemoteDescription(await read(answer))
    else:

        @connection.on("datachannel")
        def on_datachannel(channel):
            listen(channel, heard, all_heard)
            speaking.append(asyncio.ensure_future(speak(channel)))

        await connection.setRemoteDescription(await read(offer))
        await connection.setLocalDescription(await connection.createAnswer())
        write(answer, connection.localDescription)
    await asyncio.wait_for(all_heard.wait(), 30)
    await asyncio.gather(*speaking)
    await asyncio.sleep(0.5)
    await connection.close()
    print(json.dumps(heard))


asyncio.run(play(*sys.argv[1:]))
