/* Sends a packet to itself, sleeps as often as the file says, and sends another one. With "beside"
   another thread lives meanwhile. With "there" another thread sleeps in its place, and asks a clock where
   it does not sleep at all. */
#include <arpa/inet.h>
#include <pthread.h>
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

static void *sleeps(void *naps) {
  struct timespec time;
  if (!*(int *)naps) clock_gettime(CLOCK_MONOTONIC, &time);
  for (int nap = 0; nap < *(int *)naps; nap++) usleep(1000);
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
  int there = argc > 2 && !strcmp(argv[2], "there");
  pthread_mutex_lock(&lock);
  if (beside) pthread_create(&other, 0, waits, 0);
  if (there) pthread_create(&other, 0, sleeps, &naps);
  sendto(here, "before", 6, 0, (void *)&to, sizeof to);
  for (int nap = 0; nap < naps && !there; nap++) {
    usleep(1000);
    write(2, "napped\n", 7);
  }
  sendto(here, "behind", 6, 0, (void *)&to, sizeof to);
  pthread_mutex_unlock(&lock);
  if (beside || there) pthread_join(other, 0);
  return 0;
}
