/* T threads, one after the other, send N packets each, while the handler of a timer sends from the same
   thread. No thread ends before the last has sent. Prints how many were sent. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static int count, fd, sent;
static struct sockaddr_in to;
static sem_t this_has_sent;
static pthread_barrier_t all_have_sent;

static void send_one(int of) {
  if (sendto(fd, &of, sizeof of, 0, (void *)&to, sizeof to) < 0) _exit(2);
  __atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED);
}

static void on_alarm(int number) { send_one(-1); }

static void *run(void *number) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
  event.sigev_notify_thread_id = syscall(SYS_gettid);
  /* So that the first comes at another moment in each thread. */
  struct itimerspec often = {{0, 50000}, {0, 2000 + 5000 * (long)number}};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, 0)) _exit(3);
  for (int i = 0; i < count; i++) send_one((int)(long)number);
  timer_delete(timer);
  sem_post(&this_has_sent);
  /* A thread that ends gives its ring to the next. */
  pthread_barrier_wait(&all_have_sent);
  return 0;
}

int main(int argc, char **argv) {
  int threads = atoi(argv[1]);
  count = atoi(argv[2]);
  fd = socket(AF_INET, SOCK_DGRAM, 0);
  int sink = socket(AF_INET, SOCK_DGRAM, 0);
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(sink, (void *)&to, sizeof to)) return 1;
  socklen_t length = sizeof to;
  getsockname(sink, (void *)&to, &length);
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, 0);
  pthread_barrier_init(&all_have_sent, 0, threads);
  pthread_t all[64];
  for (long i = 0; i < threads; i++) {
    pthread_create(&all[i], 0, run, (void *)i);
    while (sem_wait(&this_has_sent)) continue;
  }
  for (long i = 0; i < threads; i++) pthread_join(all[i], 0);
  printf("sent %d\n", sent);
  return 0;
}
