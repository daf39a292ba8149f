/* Hands the kernel packets in parts, to a socket of its own: the argument says how. Prints the length
   of each receive. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(x) \
  do { if (!(x)) { perror(#x); exit(77); } } while (0)

static char bytes[250], room[70000];

static void corked(int fd, int on) {
  MUST(!setsockopt(fd, SOL_UDP, UDP_CORK, &on, sizeof on));
}

static void sends(int fd, const char *how, struct sockaddr_in *to) {
  struct iovec both[2] = {{bytes, 30}, {bytes + 30, 20}}, last = {bytes + 50, 50};
  struct mmsghdr many[2] = {{.msg_hdr = {.msg_iov = both, .msg_iovlen = 2}}, {.msg_hdr = {.msg_iov = &last, .msg_iovlen = 1}}};
  if (!strcmp(how, "more")) {
    MUST(send(fd, bytes, 50, MSG_MORE) == 50);
    MUST(sendmsg(fd, &many[1].msg_hdr, MSG_MORE) == 50);
    MUST(send(fd, bytes + 100, 150, 0) == 150);
  }
  if (!strcmp(how, "cork")) {
    corked(fd, 1);
    MUST(write(fd, bytes, 100) == 100);
    MUST(send(fd, bytes + 100, 150, 0) == 150);
    corked(fd, 0);
  }
  if (!strcmp(how, "many")) {
    MUST(sendmmsg(fd, many, 2, MSG_MORE) == 2 && many[0].msg_len == 50);
    MUST(send(fd, bytes + 100, 150, 0) == 150);
  }
  if (!strcmp(how, "to")) {
    /* The address of the first part is that of all. */
    struct sockaddr nowhere = {AF_UNSPEC};
    MUST(!connect(fd, &nowhere, sizeof nowhere));
    MUST(sendto(fd, bytes, 250, MSG_MORE, (void *)to, sizeof *to) == 250);
    MUST(send(fd, bytes, 0, 0) == 0);
    MUST(!connect(fd, (void *)to, sizeof *to));
  }
  if (!strcmp(how, "dissolved")) {
    /* The peer at the first part is that of all. */
    struct sockaddr nowhere = {AF_UNSPEC};
    MUST(send(fd, bytes, 50, MSG_MORE) == 50);
    MUST(!connect(fd, &nowhere, sizeof nowhere));
    MUST(sendto(fd, bytes + 50, 200, 0, (void *)to, sizeof *to) == 200);
  }
  if (!strcmp(how, "turned")) {
    /* A connect to another IPv4 address takes the parts with it. */
    struct sockaddr_in other = *to;
    other.sin_port = htons(9);
    MUST(sendto(fd, bytes, 50, MSG_MORE, (void *)&other, sizeof other) == 50);
    MUST(!connect(fd, (void *)to, sizeof *to));
    MUST(send(fd, bytes + 50, 200, 0) == 200);
  }
  if (!strcmp(how, "cut")) {
    int size = 100;
    MUST(!setsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, sizeof size));
    MUST(send(fd, bytes, 120, MSG_MORE) == 120);
    MUST(send(fd, bytes + 120, 130, 0) == 130);
  }
  if (!strcmp(how, "refused")) {
    MUST(send(fd, bytes, 50, MSG_MORE) == 50);
    MUST(send(fd, room, 65500, MSG_MORE) == -1 && errno == EMSGSIZE);
    MUST(send(fd, bytes, 250, 0) == 250);
  }
  if (!strcmp(how, "child")) {
    MUST(send(fd, bytes, 50, MSG_MORE) == 50);
    if (fork() == 0) _exit(send(fd, bytes + 50, 200, 0) != 200);
    int status;
    MUST(wait(&status) > 0 && status == 0);
  }
  if (!strcmp(how, "closed")) {
    int other = dup(fd);
    MUST(send(other, bytes, 250, 0) == 250);
    MUST(send(other, bytes, 50, MSG_MORE) == 50);
    close(other);
  }
  close(fd);
}

int main(int argc, char **argv) {
  MUST(argc == 2);
  for (int at = 0; at < 250; at++) bytes[at] = at;
  int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in own = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof own;
  MUST(!bind(in, (void *)&own, sizeof own) && !getsockname(in, (void *)&own, &length));
  MUST(!connect(out, (void *)&own, sizeof own));
  sends(out, argv[1], &own);
  for (int got; (got = recv(in, room, sizeof room, MSG_DONTWAIT)) >= 0;) printf("%d ", got);
  return 0;
}
