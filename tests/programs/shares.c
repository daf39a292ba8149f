/* Forks with a socket, and sends N packets to it before it reads the first: more than a receive
   buffer holds. Prints how many it read. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof to;
  int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0), got = 0, ends[2];
  if (bind(a, (void *)&to, sizeof to) || getsockname(a, (void *)&to, &length)) return 1;
  if (pipe(ends)) return 2;
  if (fork() == 0) {
    char byte;
    close(ends[1]);
    /* Until the parent has read what there was. */
    while (read(ends[0], &byte, 1) > 0);
    sendto(b, "child", 5, 0, (void *)&to, sizeof to);
    return close(a);
  }
  static char bytes[1000];
  for (int i = 0; i < atoi(argv[1]); i++)
    if (sendto(b, bytes, sizeof bytes, 0, (void *)&to, sizeof to) < 0) return 3;
  while (recv(a, bytes, sizeof bytes, MSG_DONTWAIT) > 0) got++;
  close(ends[1]);
  wait(0);
  printf("%d\n", got);
  return close(a);
}
