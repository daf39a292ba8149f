/* Waits for signals of a timer, N times, in the way that is asked for: in sigsuspend (pause), or in a loop
   that looks at memory (spins). How many have come is in the packets that it sends to itself, from the
   handler and behind the wait. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "to_itself.h"

static volatile sig_atomic_t rings;
static int out;

static void on_alarm(int signal) {
  int said[2] = {signal, ++rings};
  send(out, said, sizeof said, MSG_DONTWAIT);
}

int main(int argc, char **argv) {
  out = to_itself();
  if (out < 0 || argc < 3) return 1;
  sigset_t none, alarm;
  sigemptyset(&none), sigemptyset(&alarm), sigaddset(&alarm, SIGALRM);
  struct sigaction action = {.sa_handler = on_alarm};
  sigaction(SIGALRM, &action, 0);
  int sleeps = !strcmp(argv[1], "pause");
  if (sleeps) sigprocmask(SIG_BLOCK, &alarm, 0);
  for (int round = 0; round < atoi(argv[2]); round++) {
    struct itimerval soon = {{0, 0}, {0, 20000}};
    int before = rings, said = round;
    setitimer(ITIMER_REAL, &soon, 0);
    while (rings == before)
      if (sleeps) sigsuspend(&none);
    send(out, &said, sizeof said, MSG_DONTWAIT);
  }
  return 0;
}
