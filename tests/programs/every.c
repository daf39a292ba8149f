/* One of each way to send, to receive and to draw. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what) if (!(what)) { perror(#what); return __LINE__ % 100 + 1; }

int main(int argc, char **argv) {
  size_t room = 100 + argc;
  struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof in;
  int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
  CHECK(!bind(a, (void *)&in, sizeof in));
  CHECK(!getsockname(a, (void *)&in, &length));
  CHECK(!connect(b, (void *)&in, sizeof in));
  char buffer[128];
  struct iovec two[2] = {{"on", 2}, {"e", 1}};
  struct msghdr message = {.msg_iov = two, .msg_iovlen = 2};
  struct mmsghdr many[2] = {{.msg_hdr = message}, {.msg_hdr = message}};
  CHECK(send(b, "one", 3, 0) == 3);
  CHECK(sendto(b, "one", 3, 0, 0, 0) == 3);
  CHECK(sendto(a, "self", 4, 0, (void *)&in, sizeof in) == 4);
  CHECK(write(b, "one", 3) == 3);
  CHECK(writev(b, two, 2) == 3);
  CHECK(sendmsg(b, &message, 0) == 3);
  CHECK(sendmmsg(b, many, 2, 0) == 2);
  CHECK(syscall(SYS_sendto, b, "one", 3, 0, 0, 0) == 3);

  CHECK(recv(a, buffer, sizeof buffer, MSG_PEEK) == 3);
  CHECK(recv(a, buffer, room, 0) == 3);
  struct sockaddr_in from;
  length = sizeof from;
  CHECK(recvfrom(a, buffer, room, 0, (void *)&from, &length) == 3);
  CHECK(recvfrom(a, buffer, sizeof buffer, 0, 0, 0) == 4);
  CHECK(read(a, buffer, room) == 3);
  struct iovec parts[2] = {{buffer, 1}, {buffer + 50, 50}};
  CHECK(readv(a, parts, 2) == 3);
  struct msghdr into = {.msg_iov = parts, .msg_iovlen = 2, .msg_name = &from, .msg_namelen = sizeof from};
  CHECK(recvmsg(a, &into, 0) == 3);
  struct mmsghdr manyinto[4] = {{.msg_hdr = into}, {.msg_hdr = into}};
  CHECK(recvmmsg(a, manyinto, 2, 0, 0) == 2);
  struct mmsghdr unasked[2] = {{.msg_hdr = {.msg_iov = parts, .msg_iovlen = 2}}, {.msg_hdr = {.msg_iov = parts, .msg_iovlen = 2, .msg_namelen = 7}}};
  CHECK(send(b, "one", 3, 0) == 3);
  CHECK(send(b, "one", 3, 0) == 3);
  CHECK(recvmmsg(a, unasked, 2, MSG_DONTWAIT, 0) == 2);
  CHECK(!unasked[0].msg_hdr.msg_name && !unasked[1].msg_hdr.msg_name && unasked[1].msg_hdr.msg_namelen == 7);
  CHECK(syscall(SYS_recvfrom, a, buffer, sizeof buffer, 0, 0, 0) == 3);
  CHECK(recv(a, buffer, sizeof buffer, MSG_DONTWAIT) == -1);

  int device = open("/dev/urandom", O_RDONLY);
  CHECK(read(device, buffer, 16) == 16);
  close(device);
  CHECK(getrandom(buffer, 8, 0) == 8);
  CHECK(syscall(SYS_getrandom, buffer, 8, 0) == 8);
  CHECK(getentropy(buffer, 8) == 0);

  CHECK(send(b, "one", 3, 0) == 3);
  struct pollfd list = {a, POLLIN, 0};
  CHECK(poll(&list, 1, 0) == 1);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(a, &set);
  struct timeval now = {0, 0};
  CHECK(select(a + 1, &set, 0, 0, &now) == 1);
  int epoll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = 42};
  CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, a, &event));
  CHECK(epoll_wait(epoll, &event, 1, 0) == 1);
  struct timespec rest = {0, 1000};
  CHECK(!nanosleep(&rest, 0));
  CHECK(dup2(b, 100) == 100);
  CHECK(!close(b));
  CHECK(send(100, "one", 3, 0) == 3);
  CHECK(!close(100));
  return 0;
}
