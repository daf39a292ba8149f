/* Sleeps that a timer's signal ends: what each call returned, and what it said was left, is in the
   packets that it sends to itself. With "beside" another thread computes and sends meanwhile. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "to_itself.h"

static int out, rings;

static void rang(int signal) { rings++; }

/* In 20 ms, once. */
static void alarm_soon(void) {
  struct itimerval in = {.it_value = {0, 20000}};
  setitimer(ITIMER_REAL, &in, 0);
}

static void tell(int result, struct timespec left) {
  int64_t said[4] = {result, rings, left.tv_sec, left.tv_nsec};
  send(out, said, sizeof said, MSG_DONTWAIT);
}

static void *computes(void *nothing) {
  for (int round = 0; round < 4; round++) {
    for (volatile long turn = 0; turn < 30000000; turn++);
    send(out, "beside", 6, MSG_DONTWAIT);
  }
  return 0;
}

int main(int argc, char **argv) {
  out = to_itself();
  if (out < 0) return 1;
  pthread_t other;
  int beside = argc > 1 && !strcmp(argv[1], "beside");
  if (beside) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_create(&other, 0, computes, 0);
    pthread_sigmask(SIG_SETMASK, &before, 0);
  }
  struct sigaction action = {.sa_handler = rang};
  sigaction(SIGALRM, &action, 0);
  struct timespec asked = {2, 0}, left = {-1, -1};
  alarm_soon();
  int result = nanosleep(&asked, &left);
  tell(result ? errno : 0, left);
  /* The same place for both. */
  alarm_soon();
  left = asked;
  result = nanosleep(&left, &left);
  tell(result ? errno : 0, left);
  left = (struct timespec){-1, -1};
  alarm_soon();
  tell(clock_nanosleep(CLOCK_MONOTONIC, 0, &asked, &left), left);
  alarm_soon();
  tell(thrd_sleep(&asked, &left), left);
  alarm_soon();
  result = syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 0, &asked, &left);
  tell(result ? errno : 0, left);
  /* Up to a time of the clock nothing is left. */
  left = (struct timespec){-1, -1};
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_sec += 2;
  alarm_soon();
  tell(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, &left), left);
  asked = (struct timespec){0, 1000};
  tell(clock_nanosleep(CLOCK_MONOTONIC, 0, &asked, &left), left);
  alarm_soon();
  tell(usleep(900000) ? errno : 0, left);
  alarm_soon();
  tell(sleep(5), left);
  if (beside) pthread_join(other, 0);
  return 0;
}
