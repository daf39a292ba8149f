/* Sends to itself until it is told to end; then it says farewell. */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile sig_atomic_t told;
static void tells(int signal) { told = signal; }

int main(void) {
  struct sigaction action = {.sa_handler = tells};
  sigaction(SIGTERM, &action, 0);
  signal(SIGINT, tells);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(fd, (void *)&to, sizeof to)) return 1;
  socklen_t length = sizeof to;
  getsockname(fd, (void *)&to, &length);
  for (int round = 0; !told; round++) {
    char bytes[8];
    sendto(fd, &round, sizeof round, 0, (void *)&to, sizeof to);
    recv(fd, bytes, sizeof bytes, 0);
    if (round == 3) puts("begun"), fflush(stdout);
    struct pollfd one = {fd, POLLIN, 0};
    poll(&one, 1, 20);
  }
  sendto(fd, "farewell", 8, 0, (void *)&to, sizeof to);
  return 0;
}
