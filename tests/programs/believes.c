/* believes BUGS: a host tells a client of CREATE, then of DESTROY of object 5, and both print what they
 * believe. With BUGS 1 the client does not do what DESTROY says. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { CREATE, DESTROY, HELLO, BYE };
static int udp(struct sockaddr_in *at) {
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  socklen_t n = sizeof *at;
  memset(at, 0, n);
  at->sin_family = AF_INET;
  at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || bind(fd, (void *)at, n) || getsockname(fd, (void *)at, &n)) _exit(70);
  return fd;
}
static void tell(int fd, const struct sockaddr_in *to, int sender, int kind) {
  static unsigned char number;
  unsigned char bytes[] = {0, sender, number, kind, 1, number, 5, 0};
  number++;
  if (sendto(fd, bytes, sizeof bytes, 0, (void *)to, sizeof *to) != sizeof bytes) _exit(71);
}
static int hear(int fd, struct sockaddr_in *from) {
  unsigned char bytes[64];
  socklen_t n = sizeof *from;
  struct pollfd one = {.fd = fd, .events = POLLIN};
  if (poll(&one, 1, 5000) != 1) _exit(72);
  if (recvfrom(fd, bytes, sizeof bytes, 0, (void *)from, &n) != 8) _exit(73);
  return bytes[3];
}
static void in_parts(const char *one, const char *other) {
  if (write(2, one, strlen(one)) < 0 || write(2, other, strlen(other)) < 0) _exit(74);
}
static void rest(int seconds) {
  struct timespec time = {.tv_sec = seconds};
  nanosleep(&time, NULL);
}
int main(int argc, char **argv) {
  int bugs = argc > 1 && atoi(argv[1]);
  struct sockaddr_in host, client, from;
  int fd = udp(&host), kind;
  if (fork() == 0) {
    int own = udp(&client);
    close(fd);
    tell(own, &host, 1, HELLO);
    while ((kind = hear(own, &from)) != BYE) {
      if (kind == CREATE) in_parts("netreel: created 5 ", "owner 0\n");
      if (kind == DESTROY && !bugs) printf("netreel: destroyed %d\n", 5);
      if (kind == DESTROY) fflush(stdout);
    }
    tell(own, &host, 1, BYE);
    rest(1);
    return 0;
  }
  hear(fd, &client);
  printf("netreel: created %d owner %d\n", 5, 0);
  tell(fd, &client, 0, CREATE);
  rest(1);
  puts("a line of something else");
  puts("netreel: destroyed 5");
  tell(fd, &client, 0, DESTROY);
  rest(1);
  tell(fd, &client, 0, BYE);
  hear(fd, &from);
  rest(1);
  wait(NULL);
  return 0;
}
