/* Sends to itself over loopback, N rounds, and reads every clock on the way. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 5;
  int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(a, (void *)&to, sizeof to)) return 1;
  socklen_t n = sizeof to;
  getsockname(a, (void *)&to, &n);
  char buf[2000];
  unsigned r;
  if (getrandom(&r, sizeof r, 0) != sizeof r) return 5;
  for (int i = 0; i < rounds; i++) {
    struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
    struct timeval v; gettimeofday(&v, 0);
    time(0);
    memset(buf, i, 100);
    if (sendto(b, buf, 10 + i % 80, 0, (void *)&to, sizeof to) < 0) return 2;
    struct pollfd p = {a, POLLIN, 0};
    poll(&p, 1, 1000);
    struct sockaddr_in from; socklen_t fl = sizeof from;
    if (recvfrom(a, buf, sizeof buf, 0, (void *)&from, &fl) < 0) return 3;
    if (recvfrom(a, buf, sizeof buf, MSG_DONTWAIT, 0, 0) >= 0 || errno != EAGAIN) return 4;
  }
  usleep(1000);
  close(b);
  puts("done");
  return 0;
}
