/* C++. What runs once, and is left before its end, so that whoever asks next runs it again: first by a
   thread that is cancelled in it, then by exceptions, two in each of N rounds of three threads. What came
   of it is in packets that each sends to itself.
   forks: a child is made while a thread runs something once, and runs that itself. */
#include <atomic>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "to_itself.h"

enum { THREADS = 3, ROUNDS_MAX = 100 };

static std::once_flag firsts[ROUNDS_MAX];
static pthread_once_t seconds[ROUNDS_MAX], last = PTHREAD_ONCE_INIT;
static int out, tries[ROUNDS_MAX], runs;
static __thread uint32_t own;

static void tell(const char *what, uint32_t a, uint32_t b) {
  struct { char what[8]; uint32_t own, a, b; } said = {{}, own, a, b};
  strncpy(said.what, what, sizeof said.what);
  send(out, &said, sizeof said, MSG_DONTWAIT);
}

static void fails_twice(int round) {
  tell("tries", round, ++tries[round]);
  usleep(100);
  if (tries[round] < 3) throw round;
}

static void runs_second() { tell("second", runs, 0); }

static void *asks(void *rounds) {
  for (int round = 0; round < (int)(intptr_t)rounds; round++) {
    for (bool done = false; !done;) {
      try {
        std::call_once(firsts[round], fails_twice, round);
        done = true;
      } catch (int thrown) {
        tell("thrown", thrown, 0);
      }
    }
    pthread_once(&seconds[round], runs_second);
    tell("done", round, 0);
  }
  return 0;
}

static void ends_here() {
  tell("begins", ++runs, 0);
  /* The first that runs it is cancelled in this. */
  if (runs == 1) sleep(1000);
}

static void *begins(void *) {
  own = 100;
  pthread_once(&last, ends_here);
  tell("never", 0, 0);
  return 0;
}

static void *asks_numbered(void *number) {
  own = (uintptr_t)number & 0xff;
  return asks((void *)((uintptr_t)number >> 8));
}

static std::atomic<int> inside;
static void waits_inside() {
  inside++;
  while (inside == 1) usleep(1000);
}
static void *is_inside(void *) { pthread_once(&last, waits_inside); return 0; }
static void in_child() { send(out, "again", 5, 0); }

static int forks() {
  pthread_t thread;
  pthread_create(&thread, 0, is_inside, 0);
  while (!inside) usleep(1000);
  pid_t child = fork();
  if (!child) {
    pthread_once(&last, in_child);
    pthread_once(&last, in_child);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  inside++;
  pthread_join(thread, 0);
  send(out, "done", 4, 0);
  return status;
}

int main(int argc, char **argv) {
  out = to_itself();
  if (out < 0 || argc < 2) return 1;
  if (!strcmp(argv[1], "forks")) return forks();
  uintptr_t rounds = atoi(argv[1]);
  if (rounds > ROUNDS_MAX) return 1;
  pthread_t thread, threads[THREADS];
  pthread_create(&thread, 0, begins, 0);
  while (!__atomic_load_n(&runs, __ATOMIC_ACQUIRE)) usleep(1000);
  usleep(2000);
  pthread_cancel(thread);
  void *result = 0;
  pthread_join(thread, &result);
  tell("joined", result == PTHREAD_CANCELED, runs);
  own = 101;
  pthread_once(&last, ends_here);
  pthread_once(&last, ends_here);
  tell("last", runs, 0);
  for (uintptr_t index = 0; index < THREADS; index++)
    pthread_create(&threads[index], 0, asks_numbered, (void *)(rounds << 8 | index));
  for (int index = 0; index < THREADS; index++) pthread_join(threads[index], 0);
  return 0;
}
