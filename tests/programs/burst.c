/* Sends N packets to itself before it reads the first: more than a receive buffer holds. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof to;
  int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0), got = 0;
  if (bind(a, (void *)&to, sizeof to) || getsockname(a, (void *)&to, &length)) return 1;
  char bytes[1000] = {0};
  for (int i = 0; i < atoi(argv[1]); i++) {
    memcpy(bytes, &i, sizeof i);
    if (sendto(b, bytes, sizeof bytes, 0, (void *)&to, sizeof to) < 0) return 2;
  }
  while (recv(a, bytes, sizeof bytes, MSG_DONTWAIT) > 0) got++;
  /* Three more, of which one is read. */
  for (int i = 0; i < 3; i++) sendto(b, "last", 4, 0, (void *)&to, sizeof to);
  got += recv(a, bytes, sizeof bytes, 0) == 4;
  printf("%d\n", got);
  return close(a);
}
