/* `games FIRST SECONDS TICKS PACKETS PROCESSES FILE`: each of so many processes opens a socket, and for
   FIRST and then for SECONDS seconds, so many times a second, reads the clock, sends so many packets to
   itself and receives them; without ticks it sleeps. Writes the processor time that the first process took
   in each of both, in milliseconds a second, into the file. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What this process took so far, in milliseconds. */
static double took(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
         (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3;
}

static int a, b;
static struct sockaddr_in to = {.sin_family = AF_INET};

static void begin(void) {
  socklen_t length = sizeof to;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(a, (void *)&to, length) || getsockname(a, (void *)&to, &length)) exit(1);
}

static double play(int seconds, int ticks, int packets) {
  struct sockaddr_in from;
  char bytes[128] = {0};
  double before = took();
  if (!ticks) sleep(seconds);
  for (int tick = 0; tick < seconds * ticks; tick++) {
    struct timespec now, pause = {0, 1000000000 / ticks};
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (int i = 0; i < packets; i++) {
      socklen_t l = sizeof from;
      if (sendto(b, bytes, sizeof bytes, 0, (void *)&to, sizeof to) < 0) exit(2);
      if (recvfrom(a, bytes, sizeof bytes, 0, (void *)&from, &l) < 0) exit(3);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    nanosleep(&pause, 0);
  }
  return (took() - before) / seconds;
}

int main(int argc, char **argv) {
  int first = atoi(argv[1]), seconds = atoi(argv[2]), ticks = atoi(argv[3]), packets = atoi(argv[4]);
  int is_first = 1;
  for (int i = 1; i < atoi(argv[5]) && is_first; i++) is_first = fork() != 0;
  begin();
  double at_first = play(first, ticks, packets), then = play(seconds, ticks, packets);
  if (!is_first) return 0;
  while (wait(0) > 0);
  FILE *out = fopen(argv[6], "w");
  fprintf(out, "%f %f\n", at_first, then);
  return fclose(out);
}
