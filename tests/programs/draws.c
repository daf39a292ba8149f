/* Reads the system's random bytes in every way there is for a file, and prints them. With an argument
   the file is descriptor 9, which somebody else has opened. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MUST(x) \
  do { if (!(x)) { perror(#x); exit(3); } } while (0)

static unsigned char room[64];

static void drawn(ssize_t length, ssize_t wanted) {
  MUST(length == wanted);
  for (int i = 0; i < length; i++) printf("%02x", room[i]);
}

/* The parts lie apart, the second one first. */
static void parted(ssize_t length) {
  MUST(length == 16);
  for (int i = 0; i < 16; i++) printf("%02x", room[i < 6 ? 32 + i : i - 6]);
}

int main(int argc, char **argv) {
  struct iovec parts[] = {{room + 32, 6}, {room, 10}};
  size_t some = 14 + argc;
  if (argc > 1) {
    drawn(read(9, room, 16), 16);
    puts("");
    return 0;
  }
  int device = open("/dev/urandom", O_RDONLY);
  drawn(read(device, room, 16), 16);
  drawn(pread(device, room, 16, 0), 16);
  drawn(pread(device, room, some, 0), some);
  drawn(pread64(device, room, 16, 5), 16);
  parted(readv(device, parts, 2));
  parted(preadv(device, parts, 2, 0));
  parted(preadv64(device, parts, 2, 0));
  parted(preadv2(device, parts, 2, 0, 0));
  parted(preadv2(device, parts, 2, -1, 0));
  drawn(syscall(SYS_pread64, device, room, 16, 0), 16);
  parted(syscall(SYS_preadv, device, parts, 2, 0, 0));
  int copies[] = {dup(device), dup2(device, 50), dup3(device, 51, O_CLOEXEC), fcntl(device, F_DUPFD, 60), fcntl(device, F_DUPFD_CLOEXEC, 70)};
  close(device);
  for (int i = 0; i < 5; i++) {
    drawn(read(copies[i], room, 16), 16);
    parted(readv(copies[i], parts, 2));
    close(copies[i]);
  }
  int path = open("/proc/self/root/dev/random", O_RDONLY), folder = open("/dev", O_RDONLY | O_DIRECTORY);
  drawn(read(path, room, 16), 16);
  drawn(pread(openat(folder, "urandom", O_RDONLY), room, 16, 0), 16);
  drawn(read(syscall(SYS_openat, folder, "urandom", O_RDONLY), room, 16), 16);
  /* What is read elsewhere under the number of such a descriptor was not drawn. */
  MUST(dup2(open("/proc/self/comm", O_RDONLY), path) == path && read(path, room, 16) > 0);
  MUST(pread(path, room, 16, 0) > 0);
  puts("");
  return 0;
}
