/* The parent sends "parent", a forked child "child" on a socket from before the fork; then both
   become, or start, what the arguments say. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  to.sin_port = htons(9);
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  sendto(fd, "before", 6, 0, (void *)&to, sizeof to);
  pid_t child = fork();
  if (child == 0) {
    sendto(fd, "child", 5, 0, (void *)&to, sizeof to);
    if (argc > 2 && !strcmp(argv[1], "clean")) {
      char *none[] = {0};
      execve(argv[2], argv + 2, none);
    } else if (argc > 3 && !strcmp(argv[1], "quietly")) {
      int program = open(argv[2], O_RDONLY);
      syscall(SYS_execveat, program, "", argv + 2, environ, AT_EMPTY_PATH);
    } else if (argc > 3 && !strcmp(argv[1], "execl")) {
      execl(argv[2], argv[2], argv[3], "c", "d", "e", "f", "g", "h", (char *)0);
    } else if (argc > 3 && !strcmp(argv[1], "execlp")) {
      execlp(argv[2], argv[2], argv[3], (char *)0);
    } else if (argc > 3 && !strcmp(argv[1], "execle")) {
      execle(argv[2], argv[2], argv[3], "c", "d", "e", "f", "g", "h", (char *)0, environ);
    } else if (argc > 1) {
      execv(argv[1], argv + 1);
    }
    _exit(0);
  }
  waitpid(child, 0, 0);
  sendto(fd, "parent", 6, 0, (void *)&to, sizeof to);
  return 0;
}
