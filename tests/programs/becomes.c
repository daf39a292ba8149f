/* Becomes itself again, N times, in the middle of what its threads do: they read clocks without end,
   so that one of them hardly ever ends with its last event whole. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *reads(void *unused) {
  struct timespec now;
  for (;;) clock_gettime(CLOCK_MONOTONIC, &now);
}

int main(int argc, char **argv) {
  enum { THREADS = 16 };
  int left = atoi(argv[1]);
  if (left == 0) return puts("the last one") < 0;
  for (int i = 0; i < THREADS; i++) {
    pthread_t thread;
    if (pthread_create(&thread, 0, reads, 0)) return 2;
  }
  usleep(20000);
  char next[16];
  snprintf(next, sizeof next, "%d", left - 1);
  execl(argv[0], argv[0], next, (char *)0);
  return 3;
}
