/* Threads that wait for each other by looking at memory, without a lock: each adds its mark when it
   finds the word as it wants it, and says in packets to itself how often it looked. N rounds. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "to_itself.h"

enum { THREADS = 3 };

static atomic_uint word, races;
static uint32_t rounds;
static int out;

static void *spins(void *number) {
  uint32_t own = (uint32_t)(uintptr_t)number, looks = 0;
  for (uint32_t round = 0; round < rounds; round++) {
    while (atomic_load(&word) % THREADS != own) {
      looks++;
      if (round % 3 == 0) sched_yield();
      else if (round % 3 == 1) usleep(20);
      else {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
      }
    }
    /* Lost now and then where two do it at once. */
    uint32_t seen = atomic_load(&races);
    atomic_store(&races, seen + 1);
    uint32_t said[4] = {own, round, looks, seen};
    atomic_fetch_add(&word, 1);
    send(out, said, sizeof said, MSG_DONTWAIT);
  }
  return 0;
}

int main(int argc, char **argv) {
  rounds = argc > 1 ? atoi(argv[1]) : 20;
  out = to_itself();
  if (out < 0) return 1;
  pthread_t threads[THREADS];
  for (uintptr_t index = 0; index < THREADS; index++)
    pthread_create(&threads[index], 0, spins, (void *)index);
  for (int index = 0; index < THREADS; index++) pthread_join(threads[index], 0);
  return 0;
}
