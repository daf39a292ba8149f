/* Addresses without a family, which mean an IPv4 one to IPv4 sockets, the peer to IPv6 ones, and
   nobody to connect. Prints the ports of the two that packets go to, and of the IPv6 one (0: there
   is no IPv6). */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define MUST(x) \
  do { if (!(x)) { perror(#x); exit(3); } } while (0)

static int bound(struct sockaddr_in *own) {
  socklen_t length = sizeof *own;
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  *own = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  MUST(!bind(fd, (void *)own, length) && !getsockname(fd, (void *)own, &length));
  return fd;
}

/* Port 0 where this machine has no IPv6. */
static int to_itself(struct sockaddr_in6 *own) {
  socklen_t length = sizeof *own;
  int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  *own = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  if (fd < 0 || bind(fd, (void *)own, length)) return -1;
  MUST(!getsockname(fd, (void *)own, &length) && !connect(fd, (void *)own, length));
  return fd;
}

int main() {
  struct sockaddr_in one, other, from, none;
  struct sockaddr_in6 sixth;
  socklen_t length = sizeof from;
  char room[8];
  int to = bound(&one), sender = socket(AF_INET, SOCK_DGRAM, 0), six = to_itself(&sixth);
  bound(&other);
  none = one;
  none.sin_family = AF_UNSPEC;
  MUST(sendto(sender, "a", 1, 0, (void *)&none, sizeof none) == 1);
  MUST(!connect(sender, (void *)&other, sizeof other));
  MUST(sendto(sender, "b", 1, 0, (void *)&none, sizeof none) == 1);
  MUST(send(sender, "c", 1, 0) == 1);
  MUST(!connect(sender, (void *)&none, sizeof none));
  MUST(send(sender, "d", 1, 0) == -1);
  MUST(sendto(sender, "e", 1, 0, (void *)&one, sizeof one) == 1);
  for (int i = 0; i < 3; i++) MUST(recvfrom(to, room, 8, 0, (void *)&from, &length) == 1);
  /* The one that had a peer hears everybody now. */
  MUST(sendto(to, "f", 1, 0, (void *)&from, sizeof from) == 1 && recv(sender, room, 8, 0) == 1);
  if (six >= 0) {
    sixth.sin6_family = AF_UNSPEC;
    MUST(sendto(six, "g", 1, 0, (void *)&sixth, sizeof sixth) == 1);
  }
  printf("%d %d %d\n", ntohs(one.sin_port), ntohs(other.sin_port), six < 0 ? 0 : ntohs(sixth.sin6_port));
  return 0;
}
