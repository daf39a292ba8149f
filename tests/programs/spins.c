/* Threads that wait for each other by looking at memory, without a lock: each adds its mark when it
   finds the word as it wants it, and says in packets to itself how often it looked. N rounds. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

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
  struct sockaddr_in to = {.sin_family = AF_INET};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int here = socket(AF_INET, SOCK_DGRAM, 0);
  out = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(here, (void *)&to, sizeof to)) return 1;
  socklen_t length = sizeof to;
  getsockname(here, (void *)&to, &length);
  if (connect(out, (void *)&to, sizeof to)) return 2;
  pthread_t threads[THREADS];
  for (uintptr_t index = 0; index < THREADS; index++)
    pthread_create(&threads[index], 0, spins, (void *)index);
  for (int index = 0; index < THREADS; index++) pthread_join(threads[index], 0);
  return 0;
}
