/* One thread receives and puts what it got into a queue, another one takes it out, works on it and
   answers; a third one has nothing to do with packets. N packets from itself. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static uint32_t queue[4096];
static int head, tail, rounds, in, out, stop;
static struct sockaddr_in to = {.sin_family = AF_INET};

static void *works(void *none) {
  for (int done = 0; done < rounds; done++) {
    pthread_mutex_lock(&lock);
    while (head == tail) pthread_cond_wait(&filled, &lock);
    uint32_t job = queue[head++ % 4096];
    pthread_mutex_unlock(&lock);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int turn = 0; turn < 100; turn++) job = job * 1664525 + now.tv_nsec;
    send(out, &job, sizeof job, 0);
  }
  return 0;
}

static void *idles(void *none) {
  struct timespec now;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    usleep(500);
  }
  return 0;
}

int main(int argc, char **argv) {
  rounds = argc > 1 ? atoi(argv[1]) : 100;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  in = socket(AF_INET, SOCK_DGRAM, 0);
  out = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(in, (void *)&to, sizeof to)) return 1;
  socklen_t length = sizeof to;
  getsockname(in, (void *)&to, &length);
  if (connect(out, (void *)&to, sizeof to)) return 2;
  pthread_t idle, worker;
  pthread_create(&idle, 0, idles, 0);
  pthread_create(&worker, 0, works, 0);
  uint32_t first = 1;
  if (getrandom(&first, sizeof first, 0) < 0) return 3;
  pthread_mutex_lock(&lock);
  queue[tail++ % 4096] = first;
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&lock);
  for (int got = 0; got < rounds; got++) {
    uint32_t packet;
    if (recv(in, &packet, sizeof packet, 0) != sizeof packet) return 4;
    pthread_mutex_lock(&lock);
    queue[tail++ % 4096] = packet;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
  }
  pthread_join(worker, 0);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  pthread_join(idle, 0);
  return 0;
}
