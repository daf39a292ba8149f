/* Sends a packet to itself, sleeps as often as the file says, and sends another one. With "beside"
   another thread lives meanwhile. With "there" another thread sleeps in its place, and asks a clock where
   it does not sleep at all; with "told" it then waits until it is told something. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *waits(void *nothing) {
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  return 0;
}

static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told_it = PTHREAD_COND_INITIALIZER;
static volatile int waits_for_it, told;

static void tell(int naps) {
  while (!naps && !waits_for_it) sched_yield();
  pthread_mutex_lock(&telling);
  told = 1;
  pthread_cond_signal(&told_it);
  pthread_mutex_unlock(&telling);
}

static void *sleeps(void *naps) {
  struct timespec time;
  if (!*(int *)naps) clock_gettime(CLOCK_MONOTONIC, &time);
  for (int nap = 0; nap < *(int *)naps; nap++) usleep(1000);
  return 0;
}

static void *is_told(void *naps) {
  for (int nap = 0; nap < *(int *)naps; nap++) usleep(1000);
  if (*(int *)naps) return 0;
  pthread_mutex_lock(&telling);
  waits_for_it = 1;
  while (!told) pthread_cond_wait(&told_it, &telling);
  pthread_mutex_unlock(&telling);
  return 0;
}

int main(int argc, char **argv) {
  int naps = 0;
  FILE *file = fopen(argv[1], "r");
  if (!file || fscanf(file, "%d", &naps) != 1) return 1;
  fclose(file);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof to;
  int here = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(here, (void *)&to, sizeof to) || getsockname(here, (void *)&to, &length)) return 2;
  pthread_t other;
  int beside = argc > 2 && !strcmp(argv[2], "beside");
  int asks = argc > 2 && !strcmp(argv[2], "told");
  int there = asks || (argc > 2 && !strcmp(argv[2], "there"));
  pthread_mutex_lock(&lock);
  if (beside) pthread_create(&other, 0, waits, 0);
  if (there) pthread_create(&other, 0, asks ? is_told : sleeps, &naps);
  sendto(here, "before", 6, 0, (void *)&to, sizeof to);
  for (int nap = 0; nap < naps && !there; nap++) {
    usleep(1000);
    write(2, "napped\n", 7);
  }
  sendto(here, "behind", 6, 0, (void *)&to, sizeof to);
  pthread_mutex_unlock(&lock);
  if (asks) tell(naps);
  if (beside || there) pthread_join(other, 0);
  return 0;
}
