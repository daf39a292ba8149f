/* C ENet: `room server PORT CLIENTS` hears so many clients, and prints what each said when all have
   left; `room client PORT WORDS` says so many words, one after the other as they come back, and
   leaves. */
#include <enet/enet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  int server = !strcmp(argv[1], "server"), count = atoi(argv[3]), left = 0, said = 0;
  static int heard[8];
  ENetAddress address = {ENET_HOST_ANY, (enet_uint16)atoi(argv[2])};
  if (enet_initialize()) return 1;
  ENetHost *host = enet_host_create(server ? &address : NULL, 8, 2, 0, 0);
  if (!host) return 2;
  if (!server) {
    enet_address_set_host_ip(&address, "127.0.0.1");
    enet_host_connect(host, &address, 2, 0);
  } else {
    printf("ready\n");
    fflush(stdout);
  }
  for (int turn = 0; turn < 30000; turn++) {
    ENetEvent event;
    while (enet_host_service(host, &event, 1) > 0) {
      char word[32];
      snprintf(word, sizeof word, "word %d", said);
      if (event.type == ENET_EVENT_TYPE_CONNECT && !server) {
        enet_peer_send(event.peer, 0, enet_packet_create(word, strlen(word), ENET_PACKET_FLAG_RELIABLE));
      } else if (event.type == ENET_EVENT_TYPE_RECEIVE) {
        if (server) {
          int who = event.peer - host->peers;
          printf("%d %.*s\n", who, (int)event.packet->dataLength, (char *)event.packet->data);
          fflush(stdout);
          heard[who]++;
          enet_peer_send(event.peer, 0, enet_packet_create(event.packet->data, event.packet->dataLength, ENET_PACKET_FLAG_RELIABLE));
        } else if (++said < count) {
          snprintf(word, sizeof word, "word %d", said);
          enet_peer_send(event.peer, 0, enet_packet_create(word, strlen(word), ENET_PACKET_FLAG_RELIABLE));
        } else {
          enet_peer_disconnect(event.peer, 0);
        }
        enet_packet_destroy(event.packet);
      } else if (event.type == ENET_EVENT_TYPE_DISCONNECT) {
        if (!server || ++left == count) {
          for (int who = 0; who < 8; who++)
            if (heard[who]) printf("peer %d said %d\n", who, heard[who]);
          enet_host_destroy(host);
          return 0;
        }
      }
    }
  }
  return 3;
}
