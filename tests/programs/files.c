/* Opens files of the kernel's own, a file, an empty one, and one that is not there below the folder
   of its argument; each several times. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
  char bytes[64];
  int folder = open(argv[1], O_RDONLY | O_DIRECTORY);
  if (folder < 0) return 1;
  const char *kernels[] = {"/proc/self/maps", "/proc/uptime", "/sys/kernel/mm/transparent_hugepage/enabled"};
  for (int round = 0; round < 10; round++) {
    for (int index = 0; index < 3; index++) {
      int fd = open(kernels[index], O_RDONLY);
      if (fd >= 0) read(fd, bytes, sizeof bytes), close(fd);
    }
    const char *own[] = {"line", "empty"};
    for (int index = 0; index < 2; index++) {
      int fd = openat(folder, own[index], O_RDONLY);
      if (fd < 0) return 2;
      close(fd);
    }
  }
  if (openat(folder, "nothing", O_RDONLY) >= 0) return 3;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(9)};
  int out = socket(AF_INET, SOCK_DGRAM, 0);
  return sendto(out, "done", 4, 0, (void *)&to, sizeof to) != 4;
}
