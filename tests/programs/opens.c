/* Makes N threads, which live until it has made all, and opens a descriptor behind each: what number that
   has is in a packet to itself. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "to_itself.h"

enum { THREADS_MAX = 30 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *lives(void *nothing) {
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  return nothing;
}

int main(int argc, char **argv) {
  int out = to_itself(), count = argc > 1 ? atoi(argv[1]) : 1;
  if (out < 0 || count > THREADS_MAX) return 1;
  pthread_t threads[THREADS_MAX];
  pthread_mutex_lock(&lock);
  for (int index = 0; index < count; index++) {
    if (pthread_create(&threads[index], 0, lives, 0)) return 2;
    int opened = dup(0);
    send(out, &opened, sizeof opened, MSG_DONTWAIT);
  }
  pthread_mutex_unlock(&lock);
  for (int index = 0; index < count; index++) pthread_join(threads[index], 0);
  return 0;
}
