/* Looks for servers where nothing can be sent to, on 8 ports, and sends one packet to itself. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof to;
  int a = socket(AF_INET, SOCK_DGRAM, 0);
  char byte;
  if (bind(a, (void *)&to, sizeof to) || getsockname(a, (void *)&to, &length)) return 1;
  struct sockaddr_in all = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_BROADCAST)};
  for (int port = 8303; port < 8311; port++) {
    all.sin_port = htons(port);
    /* Without SO_BROADCAST. */
    if (sendto(a, "?", 1, 0, (void *)&all, sizeof all) == 1) return 2;
  }
  if (sendto(a, "!", 1, 0, (void *)&to, sizeof to) != 1) return 3;
  return recv(a, &byte, 1, 0) != 1;
}
