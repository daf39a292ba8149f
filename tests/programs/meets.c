/* Four threads that meet at a barrier, run something once, look how high a semaphore stands, and raise
   an eventfd that one of them waits for, beside a timer; the first thread looks whether they have ended.
   What each of them got, and when, is in the packets that it sends to itself: N rounds each. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "to_itself.h"

enum { THREADS = 4 };

static pthread_barrier_t barrier;
static pthread_once_t firsts[1000];
static once_flag of_c = ONCE_FLAG_INIT;
static sem_t places;
static int out, rounds, raised, timer;
static __thread uint32_t own;
/* Written by one thread before it raises the eventfd, read by the one that it wakes. */
static uint32_t order, first_of_c;
static uint32_t mail[THREADS];

static void tell(const char *what, uint32_t a, uint64_t b) {
  struct { char what[8]; uint32_t own, a; uint64_t b; } said = {.own = own, .a = a, .b = b};
  strncpy(said.what, what, sizeof said.what);
  send(out, &said, sizeof said, MSG_DONTWAIT);
}

static void first(void) { tell("first", order++, 0); usleep(100); }
static void first_in_c(void) { first_of_c = own + 1; }

static void *meets(void *number) {
  own = (uint32_t)(uintptr_t)number;
  call_once(&of_c, first_in_c);
  tell("of c", first_of_c, 0);
  for (int round = 0; round < rounds; round++) {
    int last = pthread_barrier_wait(&barrier);
    tell("barrier", round, last == PTHREAD_BARRIER_SERIAL_THREAD);
    pthread_once(&firsts[round], first);
    tell("once", order, 0);
    int level = -1;
    if (!sem_trywait(&places)) {
      for (volatile int turn = 0; turn < 2000; turn++);
      sem_getvalue(&places, &level);
      sem_post(&places);
    }
    tell("level", level, 0);
    mail[own] = round + 1;
    uint64_t one = 1;
    if (round % 2) write(raised, &one, sizeof one);
    else eventfd_write(raised, 1);
  }
  return 0;
}

/* Until all were raised: what each read gave, and how much was in the mail by then. */
static void *waits(void *nothing) {
  own = THREADS;
  uint64_t all = 0, value = 0, ticks = 0;
  int many = epoll_create1(0);
  struct epoll_event wanted = {EPOLLIN, {.fd = raised}};
  epoll_ctl(many, EPOLL_CTL_ADD, raised, &wanted);
  wanted.data.fd = timer;
  epoll_ctl(many, EPOLL_CTL_ADD, timer, &wanted);
  while (all < (uint64_t)THREADS * rounds) {
    struct epoll_event found[2];
    int count = epoll_wait(many, found, 2, -1);
    for (int index = 0; index < count; index++) {
      if (found[index].data.fd == timer) {
        struct itimerspec left;
        ssize_t got = read(timer, &value, sizeof value);
        tell("timer", got < 0 ? errno : 0, got < 0 ? 0 : value);
        timerfd_gettime(timer, &left);
        tell("left", left.it_value.tv_nsec, left.it_interval.tv_nsec);
        continue;
      }
      if (read(raised, &value, sizeof value) == sizeof value) all += value;
      uint32_t sum = 0;
      for (int from = 0; from < THREADS; from++) sum += mail[from];
      tell("raised", sum >= all, value);
    }
    ssize_t none = read(raised, &value, sizeof value);
    if (none == sizeof value) all += value;
    tell("none", none < 0 ? errno : 0, none < 0 ? 0 : value);
  }
  return 0;
}

int main(int argc, char **argv) {
  rounds = argc > 1 ? atoi(argv[1]) : 20;
  own = 100;
  out = to_itself();
  raised = eventfd(0, EFD_NONBLOCK);
  timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  /* A second number of it, under which it is read. */
  int second = dup(raised);
  if (out < 0 || raised < 0 || timer < 0 || second < 0) return 1;
  sem_init(&places, 0, 3);
  pthread_barrier_init(&barrier, 0, THREADS);
  struct itimerspec each = {{0, 700000}, {0, 700000}}, before;
  timerfd_settime(timer, 0, &each, 0);
  timerfd_settime(timer, 0, &each, &before);
  tell("before", before.it_value.tv_nsec, before.it_interval.tv_nsec);
  /* More than it holds. */
  uint64_t full = UINT64_MAX - 1, value = 0;
  tell("full", write(raised, &full, 8), 0);
  ssize_t result = write(raised, &full, 8);
  tell("fuller", result < 0 ? errno : 0, 0);
  result = read(second, &value, 8);
  tell("emptied", result, value);
  close(second);
  pthread_t threads[THREADS], waiter;
  pthread_create(&waiter, 0, waits, 0);
  for (uintptr_t index = 0; index < THREADS; index++)
    pthread_create(&threads[index], 0, meets, (void *)index);
  for (int index = 0; index < THREADS; index++) {
    uint32_t tries = 0;
    while (pthread_tryjoin_np(threads[index], 0) == EBUSY) tries++, usleep(200);
    tell("joined", tries, 0);
  }
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec += 5;
  tell("waited", pthread_timedjoin_np(waiter, 0, &at), 0);
  return 0;
}
