/* Two threads. The first begins the second, and then makes no call that a recorder stands before:
   works: computes for 0.4 s of its processor, which eight processes share with it;
   spins: looks at memory until the second has set a word;
   waits: until the second sends it a signal;
   reads: a clock, and waits for the second's word in the kernel;
   asks: for a signal, which the second sends to the process;
   forks: ten children, one after the other, while the second computes;
   child: the same as works, in a child whose parent had a second thread before.
   The second says so in a packet to itself, and ends what the first does. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "to_itself.h"

enum { BUSY = 8 };

static atomic_int word, woken;
static pthread_t first;
static int out;

/* Without the C library, as a runtime may do it. */
static void futex(long how, long value) {
  long result;
  register void *timeout __asm__("r10") = 0;
  __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_futex), "D"(&woken), "S"(how), "d"(value), "r"(timeout)
                   : "rcx", "r11", "memory");
}

static void wakes(int signal) { atomic_store(&woken, signal); }

/* Within fork, so that the second thread runs by then. */
static void lets_run(void) { usleep(2000); }

static double worked(void) {
  struct rusage used;
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void computes(double seconds) {
  for (double end = worked() + seconds; worked() < end;)
    for (int index = 0; index < 100000; index++) atomic_load(&word);
}

static void *second(void *how) {
  atomic_store(&word, 1);
  if (!strcmp(how, "reads") || !strcmp(how, "waits")) usleep(100000);
  send(out, how, strlen(how), 0);
  while (!strcmp(how, "forks") && !atomic_load(&woken)) {
    computes(0.01);
    sched_yield();
  }
  if (!strcmp(how, "reads")) {
    atomic_store(&woken, 1);
    futex(FUTEX_WAKE, 1);
  }
  if (!strcmp(how, "asks")) {
    usleep(1000);
    kill(getpid(), SIGUSR1);
  }
  /* When the first has it is not to matter here. */
  for (int time = 0; time < 30 && !strcmp(how, "waits"); time++) {
    pthread_kill(first, SIGURG);
    usleep(20000);
  }
  return 0;
}

/* Others that want the same processor, which end with this process. */
static void share(pid_t *busy) {
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(sched_getcpu(), &here);
  sched_setaffinity(0, sizeof here, &here);
  for (int index = 0; index < BUSY; index++)
    if (!(busy[index] = _Fork())) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) atomic_load(&word);
    }
}

int main(int argc, char **argv) {
  char *how = argc > 1 ? argv[1] : "works";
  pid_t busy[BUSY];
  pthread_t thread;
  out = to_itself(), first = pthread_self();
  if (out < 0) return 1;
  signal(SIGURG, wakes);
  if (!strcmp(how, "child")) {
    pthread_create(&thread, 0, second, "parent");
    pthread_join(thread, 0);
    pid_t made = fork();
    if (made) {
      waitpid(made, 0, 0);
      return 0;
    }
    atomic_store(&word, 0);
    how = "works";
  }
  if (!strcmp(how, "works")) share(busy);
  sigset_t asked;
  sigemptyset(&asked), sigaddset(&asked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &asked, 0);
  pthread_create(&thread, 0, second, how);
  if (!strcmp(how, "asks")) sigwait(&asked, &(int){0});
  if (!strcmp(how, "works")) {
    computes(0.4);
    for (int index = 0; index < BUSY; index++) kill(busy[index], SIGKILL);
  }
  if (!strcmp(how, "spins"))
    while (!atomic_load(&word));
  if (!strcmp(how, "waits"))
    while (!atomic_load(&woken)) pause();
  if (!strcmp(how, "reads")) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    while (!atomic_load(&woken)) futex(FUTEX_WAIT, 0);
  }
  if (!strcmp(how, "forks")) pthread_atfork(lets_run, 0, 0);
  for (int child = 0; child < 10 && !strcmp(how, "forks"); child++) {
    pid_t made = fork();
    if (!made) {
      send(out, "child", 5, 0);
      _exit(0);
    }
    waitpid(made, 0, 0);
  }
  if (!strcmp(how, "forks")) atomic_store(&woken, 1);
  send(out, "first", 5, 0);
  pthread_join(thread, 0);
  return 0;
}
