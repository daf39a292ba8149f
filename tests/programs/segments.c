/* Hands the kernel several packets as one, to a socket of its own: the first argument says how they
   are sent, the second one how they are received. Prints the length of each receive. */
#define _GNU_SOURCE
#include <arpa/inet.h>
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

enum { SIZE = 100, ALL = 250 };
static char packets[ALL], room[70000];
static char control[CMSG_SPACE(sizeof(uint16_t))], told[CMSG_SPACE(sizeof(int)) + 64];

/* A message that says for itself how it is to be cut. */
static struct msghdr cut(struct iovec *part) {
  struct msghdr message = {.msg_iov = part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  *head = (struct cmsghdr){CMSG_LEN(sizeof(uint16_t)), SOL_UDP, UDP_SEGMENT};
  uint16_t size = SIZE;
  memcpy(CMSG_DATA(head), &size, sizeof size);
  return message;
}

static void sends(int fd, const char *how) {
  int size = SIZE;
  struct iovec parts[2] = {{packets, 30}, {packets + 30, ALL - 30}}, whole = {packets, ALL}, small = {packets, 10};
  if (!strcmp(how, "option") || !strcmp(how, "parts") || !strcmp(how, "toomany") || !strcmp(how, "heir"))
    MUST(!setsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, sizeof size));
  if (!strcmp(how, "child")) {
    /* What it sets counts for its parent's socket, which is the same. */
    if (fork() == 0) _exit(setsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, sizeof size) != 0);
    int status;
    MUST(wait(&status) > 0 && status == 0);
  }
  if (!strcmp(how, "option") || !strcmp(how, "child") || !strcmp(how, "heir")) MUST(send(fd, packets, ALL, 0) == ALL);
  if (!strcmp(how, "parts")) MUST(writev(fd, parts, 2) == ALL);
  if (!strcmp(how, "message")) {
    struct msghdr message = cut(&whole);
    MUST(sendmsg(fd, &message, 0) == ALL);
  }
  if (!strcmp(how, "messages")) {
    struct mmsghdr both[2] = {{.msg_hdr = {.msg_iov = &small, .msg_iovlen = 1}}, {.msg_hdr = cut(&whole)}};
    MUST(sendmmsg(fd, both, 2, 0) == 2);
    MUST(both[0].msg_len == 10 && both[1].msg_len == ALL);
  }
  if (!strcmp(how, "toomany")) MUST(send(fd, room, 60000, 0) == -1);
}

static int gets(int fd, const char *how) {
  int on = 1;
  struct iovec part = {room, sizeof room};
  struct msghdr plain = {.msg_iov = &part, .msg_iovlen = 1}, asks = plain;
  asks.msg_control = told, asks.msg_controllen = sizeof told;
  struct mmsghdr many[2] = {{asks}, {plain}};
  struct sockaddr_in from;
  socklen_t length = sizeof from;
  if (!strcmp(how, "recvfrom")) {
    int got = recvfrom(fd, room, sizeof room, MSG_DONTWAIT, (void *)&from, &length);
    if (got >= 0) MUST(length == sizeof from && from.sin_port != 0);
    return got;
  }
  if (!strcmp(how, "read")) return read(fd, room, sizeof room);
  if (!strcmp(how, "recvmsg")) {
    int got = recvmsg(fd, &plain, MSG_DONTWAIT);
    if (got > SIZE) MUST(plain.msg_flags & MSG_CTRUNC && plain.msg_controllen == 0 && !plain.msg_control);
    return got;
  }
  if (!strcmp(how, "asking")) {
    int got = recvmsg(fd, &asks, MSG_DONTWAIT);
    struct cmsghdr *head = CMSG_FIRSTHDR(&asks);
    if (got > SIZE) MUST(head && head->cmsg_type == UDP_GRO && *(int *)CMSG_DATA(head) == SIZE);
    return got;
  }
  if (!strcmp(how, "recvmmsg")) return recvmmsg(fd, many, 1, MSG_DONTWAIT, 0) == 1 ? many[0].msg_len : -1;
  if (!strcmp(how, "unasked")) {
    if (recvmmsg(fd, many + 1, 1, MSG_DONTWAIT, 0) != 1) return -1;
    MUST(many[1].msg_hdr.msg_flags & MSG_CTRUNC && !many[1].msg_hdr.msg_control && many[1].msg_hdr.msg_controllen == 0);
    return many[1].msg_len;
  }
  if (!strcmp(how, "narrow")) {
    asks.msg_controllen = 8;
    return recvmsg(fd, &asks, MSG_DONTWAIT);
  }
  return recv(fd, room, sizeof room, MSG_DONTWAIT);
}

int main(int argc, char **argv) {
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof own;
  int to = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), from = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
  MUST(!bind(to, (void *)&own, length) && !getsockname(to, (void *)&own, &length) && !connect(from, (void *)&own, length));
  if (strcmp(argv[2], "plain")) MUST(!setsockopt(to, SOL_UDP, UDP_GRO, &on, sizeof on));
  for (int i = 0; i < ALL; i++) packets[i] = i;
  if (!strcmp(argv[1], "heir")) {
    /* The child has the sockets, and its parent has none. */
    int ends[2], status;
    MUST(!pipe(ends));
    if (fork()) {
      close(to), close(from);
      MUST(write(ends[1], "x", 1) == 1 && wait(&status) > 0 && status == 0);
      return 0;
    }
    MUST(read(ends[0], room, 1) == 1);
  }
  sends(from, argv[1]);
  for (int got; (got = gets(to, argv[2])) >= 0;) printf("%d ", got);
  return 0;
}
