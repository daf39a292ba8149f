/* UDP sockets are closed and TCP connections accepted under their numbers, while another thread
   peeks at all descriptors. */
#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile int ends;

static void *peek(void *unused) {
  char byte;
  while (!ends)
    for (int fd = 3; fd < 12; fd++) recv(fd, &byte, 0, MSG_DONTWAIT | MSG_PEEK);
  return 0;
}

int main(int argc, char **argv) {
  struct sockaddr_in at = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof at;
  int listening = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listening, (void *)&at, sizeof at) || listen(listening, 16)) return 2;
  getsockname(listening, (void *)&at, &length);
  pthread_t thread;
  pthread_create(&thread, 0, peek, 0);
  for (int i = 0; i < 3000; i++) {
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    sendto(udp, "udp", 3, 0, (void *)&at, sizeof at);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, (void *)&at, sizeof at)) return 3;
    close(udp);
    int server = accept(listening, 0, 0);
    send(server, "tcp", 3, 0);
    struct linger at_once = {1, 0};
    setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(client);
    close(server);
  }
  ends = 1;
  pthread_join(thread, 0);
  return 0;
}
