/* Threads that are cancelled where they wait, each in another call; their cleanup handlers say so by
   packets to itself. Those that wait for the condition fight for its lock when they end. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "to_itself.h"

enum { WAYS = 10, EACH = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t nothing, waiting;
static uint32_t ended;
static int out, quiet, door, pipes[2];
static sigset_t signals;
static pthread_t lasting;

static void says(uint32_t way, uint32_t what) {
  uint32_t said[2] = {way, what};
  send(out, said, sizeof said, MSG_DONTWAIT);
}

static void leaves(void *way) { says((uintptr_t)way, 1000); }

static void leaves_the_lock(void *way) {
  says((uintptr_t)way, ended++);
  pthread_mutex_unlock(&lock);
}

static void *lasts(void *unused) {
  sem_wait(&nothing);
  return 0;
}

static void *waits(void *number) {
  uintptr_t way = (uintptr_t)number % WAYS;
  char byte;
  int signal;
  struct pollfd one = {.fd = quiet, .events = POLLIN};
  says(way, 2000);
  if (way == 0) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(leaves_the_lock, (void *)way);
    sem_post(&waiting);
    for (;;) pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(0);
  }
  pthread_cleanup_push(leaves, (void *)way);
  sem_post(&waiting);
  for (;;) {
    if (way == 1) recv(quiet, &byte, 1, 0);
    if (way == 2) poll(&one, 1, -1);
    if (way == 3) sleep(1000);
    if (way == 4) sem_wait(&nothing);
    if (way == 5) select(0, 0, 0, 0, 0);
    if (way == 6) read(pipes[0], &byte, 1);
    if (way == 7) pthread_join(lasting, 0);
    if (way == 8) sigwait(&signals, &signal);
    if (way == 9) accept(door, 0, 0);
  }
  pthread_cleanup_pop(0);
  return 0;
}

int main(void) {
  out = to_itself(), quiet = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (out < 0 || pipe(pipes) || bind(quiet, (void *)&own, sizeof own)) return 1;
  struct sockaddr unnamed = {.sa_family = AF_UNIX};
  door = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(door, &unnamed, sizeof unnamed.sa_family) || listen(door, 1)) return 2;
  sigemptyset(&signals), sigaddset(&signals, SIGRTMIN);
  sem_init(&nothing, 0, 0), sem_init(&waiting, 0, 0);
  pthread_create(&lasting, 0, lasts, 0);
  pthread_t threads[WAYS * EACH];
  for (uintptr_t index = 0; index < WAYS * EACH; index++)
    /* One thread at a time may join another. */
    if (index % WAYS != 7 || index == 7) pthread_create(&threads[index], 0, waits, (void *)index);
  for (int index = 0; index < WAYS * EACH; index++)
    if (index % WAYS != 7 || index == 7) sem_wait(&waiting);
  usleep(20000);
  for (int index = WAYS * EACH - 1; index >= 0; index--)
    if (index % WAYS != 7 || index == 7) pthread_cancel(threads[index]);
  for (int index = 0; index < WAYS * EACH; index++) {
    void *result = 0;
    if (index % WAYS != 7 || index == 7) pthread_join(threads[index], &result);
    says(100 + index, result == PTHREAD_CANCELED);
  }
  says(200, ended);
  return 0;
}
