/* What programs do with sockets that is easily overlooked; the first argument says which. Prints "ok"
   where all went as it goes without a recorder. */
#define _GNU_SOURCE
#include <aio.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(x) \
  do { if (!(x)) { perror(#x); exit(3); } } while (0)

/* A socket that is connected to itself. */
static int to_itself(void) {
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof own;
  MUST(bind(fd, (void *)&own, sizeof own) == 0);
  MUST(getsockname(fd, (void *)&own, &length) == 0);
  MUST(connect(fd, (void *)&own, sizeof own) == 0);
  return fd;
}

static int bound(void) {
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  MUST(bind(fd, (void *)&own, sizeof own) == 0);
  return fd;
}

/* The descriptor of a socket that was closed behind everybody's back is a file now. */
static void reads_a_file(int was) {
  char line[16];
  int fd = open("/proc/self/comm", O_RDONLY);
  MUST(fd == was);
  MUST(read(fd, line, sizeof line) > 0);
  close(fd);
}

static void closed(void) {
  int fd = bound();
  closefrom(fd);
  reads_a_file(fd);
  fd = bound();
  fclose(fdopen(fd, "r+"));
  reads_a_file(fd);
  fd = bound();
  close_range(fd, ~0u, 2 /* CLOSE_RANGE_UNSHARE */);
  reads_a_file(fd);
}

static void borrowed(void) {
  int udp = bound();
  int place = open("/proc/self/comm", O_RDONLY);
  char line[16];
  if (vfork() == 0) {
    dup2(udp, place);
    _exit(0);
  }
  wait(0);
  MUST(read(place, line, sizeof line) > 0);
}

static void *in_a_small_stack(void *unused) {
  char byte = 'x';
  struct iovec part = {&byte, 1};
  struct mmsghdr one = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
  int fd = to_itself();
  MUST(sendmmsg(fd, &one, 1, 0) == 1);
  MUST(recvmmsg(fd, &one, 1, 0, 0) == 1);
  return 0;
}

static void small(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  MUST(pthread_create(&thread, &attributes, in_a_small_stack, 0) == 0);
  pthread_join(thread, 0);
}

/* More packets in one call than the recorder looks at together. */
static void batch(void) {
  enum { COUNT = 100 };
  int fd = to_itself();
  static int numbers[COUNT];
  static struct iovec parts[COUNT];
  static struct mmsghdr all[COUNT];
  for (int i = 0; i < COUNT; i++) {
    numbers[i] = i;
    parts[i] = (struct iovec){&numbers[i], sizeof(int)};
    all[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
  }
  MUST(sendmmsg(fd, all, COUNT, 0) == COUNT);
  int got = 0;
  while (got < COUNT) {
    int more = recvmmsg(fd, all + got, COUNT - got, MSG_WAITFORONE, 0);
    MUST(more > 0);
    got += more;
  }
  for (int i = 0; i < COUNT; i++) MUST(numbers[i] == i && all[i].msg_hdr.msg_name == 0);
}

static void numbers(void) {
  int fd = to_itself();
  char byte = 'x';
  MUST(syscall(SYS_write, fd, &byte, 1) == 1);
  MUST(syscall(SYS_read, fd, &byte, 1) == 1);
  MUST(syscall(SYS_close, fd) == 0);
}

static void stream(void) {
  FILE *out = fdopen(to_itself(), "w");
  fprintf(out, "printed");
  fflush(out);
}

static void printed(void) {
  int fd = to_itself();
  char got[32] = {0};
  MUST(dprintf(fd, "%d %s %g %g %d %d %d", 1, "two", 3.5, 4.25, 5, 6, 7) > 0);
  MUST(recv(fd, got, sizeof got, 0) > 0 && !strcmp(got, "1 two 3.5 4.25 5 6 7"));
}

/* Functions of the C library have second names. */
extern ssize_t __send(int, const void *, size_t, int), __read(int, void *, size_t), __write(int, const void *, size_t);
extern int __close(int);

static void twins(void) {
  int fd = to_itself();
  char room[8];
  MUST(__send(fd, "one", 3, 0) == 3 && __read(fd, room, sizeof room) == 3);
  MUST(__write(fd, "two", 3) == 3 && __read(fd, room, sizeof room) == 3);
  MUST(__close(fd) == 0);
}

static void spliced(void) {
  int fd = to_itself(), ends[2];
  MUST(send(fd, "out", 3, 0) == 3 && pipe(ends) == 0);
  splice(fd, 0, ends[1], 0, 3, SPLICE_F_NONBLOCK);
}

static void requested(void) {
  struct aiocb one = {.aio_fildes = to_itself(), .aio_buf = "out", .aio_nbytes = 3};
  const struct aiocb *all[] = {&one};
  MUST(aio_write(&one) == 0 && aio_suspend(all, 1, 0) == 0 && aio_return(&one) == 3);
}

static void submitted(void) {
  aio_context_t context = 0;
  struct iocb one = {.aio_fildes = to_itself(), .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_buf = (long)"out", .aio_nbytes = 3}, *all[] = {&one};
  MUST(syscall(SYS_io_setup, 4, &context) == 0 && syscall(SYS_io_submit, context, 1, all) == 1);
}

/* Sockets have no offset: -1 is the only one there is. */
static void offsets(void) {
  int fd = to_itself();
  char room[8];
  struct iovec out = {"out", 3}, in = {room, sizeof room};
  MUST(pwritev(fd, &out, 1, 0) == -1 && pwritev2(fd, &out, 1, 0, 0) == -1);
  MUST(pwritev2(fd, &out, 1, -1, 0) == 3 && preadv2(fd, &in, 1, -1, 0) == 3);
  MUST(syscall(SYS_pwritev2, fd, &out, 1, -1L, 0L, 0) == 3);
  MUST(syscall(SYS_preadv2, fd, &in, 1, -1L, 0L, 0) == 3);
}

/* Room for a part of the sender's address. */
static void short_address(void) {
  int to = bound(), from = bound();
  struct sockaddr_in address;
  socklen_t length = sizeof address;
  char byte = 'x';
  MUST(getsockname(to, (void *)&address, &length) == 0);
  MUST(sendto(from, &byte, 1, 0, (void *)&address, sizeof address) == 1);
  char room[64];
  memset(room, 0xee, sizeof room);
  length = 4;
  MUST(recvfrom(to, &byte, 1, 0, (void *)room, &length) == 1);
}

/* A raw socket gets a copy of what is sent, with its headers, by other programs as well. Only root
   may have one. */
static void raw(void) {
  char room[64];
  ssize_t got;
  int copies = socket(AF_INET, SOCK_RAW, IPPROTO_UDP), fd = to_itself();
  MUST(send(fd, "out", 3, 0) == 3);
  if (copies < 0) return;
  do MUST((got = recv(copies, room, sizeof room, 0)) > 0);
  while (got != 20 + 8 + 3 || memcmp(room + 20 + 8, "out", 3));
}

int main(int argc, char **argv) {
  struct { const char *name; void (*does)(void); } all[] = {
      {"closed", closed}, {"borrowed", borrowed}, {"small", small}, {"batch", batch},
      {"numbers", numbers}, {"stream", stream}, {"address", short_address},
      {"twins", twins}, {"printed", printed}, {"spliced", spliced}, {"requested", requested}, {"submitted", submitted}, {"offsets", offsets}, {"raw", raw},
  };
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
    if (strcmp(argv[1], all[i].name)) continue;
    all[i].does();
    puts("ok");
    return 0;
  }
  return 2;
}
