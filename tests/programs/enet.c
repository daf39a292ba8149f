/* C ENet: `enet server PORT PACKETS` waits for one client; `enet client PORT PACKETS [ADDRESS]` sends it so
   many packets, reliable, unreliable, unsequenced and in fragments, and takes as many back. */
#include <enet/enet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  int server = !strcmp(argv[1], "server"), count = atoi(argv[3]), got = 0, sent = 0, connected = 0;
  static char bytes[5000];
  ENetAddress address = {ENET_HOST_ANY, (enet_uint16)atoi(argv[2])};
  if (enet_initialize()) return 1;
  ENetHost *host = enet_host_create(server ? &address : NULL, 4, 2, 0, 0);
  if (!host) return 2;
  ENetPeer *peer = NULL;
  if (!server) {
    enet_address_set_host_ip(&address, argc > 4 ? argv[4] : "127.0.0.1");
    peer = enet_host_connect(host, &address, 2, 7);
  }
  for (int turn = 0; turn < 20000; turn++) {
    ENetEvent event;
    while (enet_host_service(host, &event, 1) > 0) {
      if (event.type == ENET_EVENT_TYPE_CONNECT) {
        peer = event.peer;
        connected = 1;
      } else if (event.type == ENET_EVENT_TYPE_RECEIVE) {
        got++;
        enet_packet_destroy(event.packet);
      } else if (event.type == ENET_EVENT_TYPE_DISCONNECT) {
        enet_host_destroy(host);
        printf("%s got %d\n", argv[1], got);
        return 0;
      }
    }
    if (connected && sent < count) {
      static const int flags[] = {ENET_PACKET_FLAG_RELIABLE, 0, ENET_PACKET_FLAG_UNSEQUENCED, ENET_PACKET_FLAG_RELIABLE};
      size_t length = sent % 4 == 3 ? 4000 : 20 + sent % 100;
      memset(bytes, sent, length);
      enet_peer_send(peer, sent % 2, enet_packet_create(bytes, length, flags[sent % 4]));
      if (++sent == count && !server) enet_peer_disconnect_later(peer, 0);
    }
  }
  return 3;
}
