/* Sends before any library is ready, when they are, and as a program does. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void sends(const char *text) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(9)};
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (sendto(fd, text, 5, 0, (void *)&to, sizeof to) != 5) abort();
  close(fd);
}

static void first(void) { sends("first"); }
static void ready(void) { sends("ready"); }

__attribute__((section(".preinit_array"), used)) static void (*before)(void) = first;
__attribute__((section(".init_array"), used)) static void (*then)(void) = ready;

int main() {
  sends("usual");
  return 0;
}
