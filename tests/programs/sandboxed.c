/* Forbids itself what a recorder asks of sockets, and to wake others; then sends, receives and
   closes. The filter comes by prctl, or, with "number", by its number. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FORBID(call) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

int main(int argc, char **argv) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof to;
  int a = socket(AF_INET, SOCK_DGRAM, 0);
  char bytes[8];
  if (bind(a, (void *)&to, sizeof to) || getsockname(a, (void *)&to, &length)) return 1;
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      FORBID(SYS_getsockopt), FORBID(SYS_getsockname), FORBID(SYS_getpeername),
      FORBID(SYS_fstat), FORBID(SYS_futex), FORBID(SYS_nanosleep),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 2;
  if (argc > 1 ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
    return 3;
  for (int round = 0; round < 3; round++) {
    int b = socket(AF_INET, SOCK_DGRAM, 0);
    if (sendto(b, "packet", 6, 0, (void *)&to, sizeof to) != 6) return 4;
    if (recv(a, bytes, sizeof bytes, 0) != 6) return 5;
    close(b);
    /* So long that the recorder sleeps. */
    struct timespec pause = {1, 200000000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, 0);
  }
  close(a);
  _exit(0);
}
