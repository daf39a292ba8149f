/* Clears its environment and lets a child send. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int main() {
  int status;
  clearenv();
  if (fork() == 0) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(9)};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    _exit(sendto(fd, "out", 3, 0, (void *)&to, sizeof to) != 3);
  }
  return wait(&status) < 0 || status != 0;
}
