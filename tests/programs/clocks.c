/* Waits and reads clocks in rarer ways, and prints each one's name and what it told, in nanoseconds. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define MUST(x) \
  do { if (!(x)) { perror(#x); exit(3); } } while (0)

static void told(int clock, long seconds, long nanos) { printf("%d:%ld ", clock, seconds * 1000000000 + nanos); }

int main() {
  enum { OF_TIMEVAL = 0x80, OF_TIME = 0x81 };
  struct timespec fine, rest = {0, 1000};
  struct timeval micros;
  clockid_t own, clocks[] = {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME};
  for (int i = 0; i < 3; i++) {
    MUST(!clock_gettime(clocks[i], &fine));
    told(clocks[i], fine.tv_sec, fine.tv_nsec);
  }
  MUST(!clock_getcpuclockid(getpid(), &own) && !clock_gettime(own, &fine));
  told(127, fine.tv_sec, fine.tv_nsec);
  MUST(!syscall(SYS_gettimeofday, &micros, 0));
  told(OF_TIMEVAL, micros.tv_sec, micros.tv_usec * 1000);
#ifdef SYS_time
  time_t whole;
  MUST(syscall(SYS_time, &whole) == whole);
  told(OF_TIME, whole, 0);
#endif
  struct timespec soon = {0, 1000};
  MUST(!syscall(SYS_ppoll, 0, 0, &soon, 0, 0) && !syscall(SYS_pselect6, 0, 0, 0, 0, &soon, 0));
  struct epoll_event event;
  int epoll = epoll_create1(0);
  MUST(!syscall(SYS_epoll_pwait, epoll, &event, 1, 0, 0, 0));
  MUST(!thrd_sleep(&rest, 0));
  MUST(!syscall(SYS_nanosleep, &rest, 0));
  MUST(!syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &rest, 0));
  MUST(syscall(SYS_clock_nanosleep, 99, 0, &rest, 0) == -1);
  puts("");
  return 0;
}
