/* Four threads that fight for locks, semaphores and conditions with time-outs. What each of them
   got, and when, is in the packets that it sends to itself: N rounds each. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "to_itself.h"

enum { THREADS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static sem_t places;
static uint32_t counter, written, signals, rounds;
static int out;

static struct timespec in(long nanos) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec += nanos;
  if (at.tv_nsec >= 1000000000) at.tv_nsec -= 1000000000, at.tv_sec++;
  return at;
}

static void *fights(void *number) {
  uint32_t own = (uint32_t)(uintptr_t)number, busy = 0, late = 0, full = 0;
  for (uint32_t round = 0; round < rounds; round++) {
    uint32_t said[9] = {own, round};
    pthread_mutex_lock(&lock);
    said[2] = counter++;
    /* Held for longer than a step of the scheduler now and then. */
    if (said[2] % 37 == 0) usleep(300);
    pthread_mutex_unlock(&lock);
    if (pthread_mutex_trylock(&other)) busy++;
    else {
      for (volatile int turn = 0; turn < 2000; turn++);
      pthread_mutex_unlock(&other);
    }
    said[3] = busy;
    pthread_mutex_lock(&lock);
    struct timespec at = in(200000);
    if (round % 5 == own) signals++, pthread_cond_broadcast(&turned);
    else if (pthread_cond_timedwait(&turned, &lock, &at) == ETIMEDOUT) late++;
    said[4] = signals, said[5] = late;
    pthread_mutex_unlock(&lock);
    at = in(100000);
    if (sem_timedwait(&places, &at)) full++;
    else {
      if (round % 7 == 0) usleep(150);
      sem_post(&places);
    }
    said[6] = full;
    if (round % 4) pthread_rwlock_rdlock(&shared), said[7] = written;
    else pthread_rwlock_wrlock(&shared), said[7] = ++written;
    pthread_rwlock_unlock(&shared);
    at = in(50000);
    said[8] = pthread_mutex_timedlock(&other, &at);
    if (!said[8]) pthread_mutex_unlock(&other);
    send(out, said, sizeof said, MSG_DONTWAIT);
  }
  return 0;
}

int main(int argc, char **argv) {
  rounds = argc > 1 ? atoi(argv[1]) : 50;
  out = to_itself();
  if (out < 0) return 1;
  sem_init(&places, 0, 2);
  pthread_t threads[THREADS];
  for (uintptr_t index = 0; index < THREADS; index++)
    pthread_create(&threads[index], 0, fights, (void *)index);
  for (int index = 0; index < THREADS; index++) pthread_join(threads[index], 0);
  return 0;
}
