/* Threads of C11 that fight for a lock: who got it when is in the packets, N rounds each. */
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

#include "to_itself.h"

enum { THREADS = 4 };

static mtx_t lock;
static uint32_t counter, rounds;
static int out;

static int fights(void *number) {
  for (uint32_t round = 0; round < rounds; round++) {
    uint32_t said[3] = {(uintptr_t)number, round};
    mtx_lock(&lock);
    said[2] = counter++;
    for (volatile int turn = 0; turn < 20000; turn++);
    mtx_unlock(&lock);
    send(out, said, sizeof said, MSG_DONTWAIT);
    if (round % 5 == 0) thrd_yield();
  }
  return 40 + (uintptr_t)number;
}

int main(int argc, char **argv) {
  rounds = atoi(argv[1]);
  out = to_itself();
  if (out < 0 || mtx_init(&lock, mtx_plain)) return 1;
  thrd_t threads[THREADS];
  for (uintptr_t index = 0; index < THREADS; index++)
    if (thrd_create(&threads[index], fights, (void *)index) != thrd_success) return 3;
  for (int index = 0, result; index < THREADS; index++)
    if (thrd_join(threads[index], &result) != thrd_success || result != 40 + index) return 4;
  return 0;
}
