/* Says by packets to itself what calls tell that are given the number of this process. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "to_itself.h"

int main(void) {
  int out = to_itself(), own = getpid();
  if (out < 0) return 1;
  char said[200];
  cpu_set_t set;
  struct rlimit limit;
  int found = sched_getaffinity(own, sizeof set, &set);
  int by_number = syscall(SYS_sched_getaffinity, own, sizeof set, &set) > 0;
  int priority = getpriority(PRIO_PROCESS, own), scheduler = sched_getscheduler(own);
  int limits = prlimit(own, RLIMIT_NOFILE, 0, &limit), alive = kill(own, 0);
  int length = snprintf(said, sizeof said, "%d %d %d %d %d %d %d", found, by_number, priority, scheduler, limits,
                        alive, (int)syscall(SYS_gettid) == own && getpgid(own) == getpgid(0));
  send(out, said, length, 0);
  return 0;
}
