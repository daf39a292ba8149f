/* Ends at once, and leaves behind a process that sends N packets, a hundredth of a second apart.
   The first argument says how it is made: "daemon", "_Fork", or a program to spawn with N. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
  pid_t child = 0;
  if (!strcmp(argv[1], "daemon")) {
    if (daemon(0, 0)) return 1;
  } else if (!strcmp(argv[1], "_Fork")) {
    child = _Fork();
  } else if (strcmp(argv[1], "stay")) {
    char *arguments[] = {argv[1], "stay", argv[2], 0};
    return posix_spawn(&child, argv[1], 0, 0, argc > 3 ? argv + 3 : arguments, environ);
  }
  if (child) return 0;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  to.sin_port = htons(9);
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  for (int i = 0; i < atoi(argv[2]); i++) {
    usleep(10000);
    sendto(fd, "left", 4, 0, (void *)&to, sizeof to);
  }
  return 0;
}
