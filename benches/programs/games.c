/* `games SECONDS TICKS PACKETS PROCESSES FILE`: each of so many processes opens a socket, and for
   so many seconds, so many times a second, reads the clock, sends so many packets to itself and
   receives them; without ticks it sleeps. Writes the processor time that all took, in milliseconds
   a second, into the file. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void play(int seconds, int ticks, int packets) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from;
  socklen_t length = sizeof to;
  int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(a, (void *)&to, length) || getsockname(a, (void *)&to, &length)) exit(1);
  char bytes[128] = {0};
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
}

static double took(int who) {
  struct rusage use;
  getrusage(who, &use);
  return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
         (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3;
}

int main(int argc, char **argv) {
  int seconds = atoi(argv[1]), ticks = atoi(argv[2]), packets = atoi(argv[3]);
  double before = took(RUSAGE_SELF);
  for (int i = 1; i < atoi(argv[4]); i++)
    if (fork() == 0) {
      play(seconds, ticks, packets);
      return 0;
    }
  play(seconds, ticks, packets);
  double self = took(RUSAGE_SELF) - before;
  while (wait(0) > 0);
  FILE *out = fopen(argv[5], "w");
  fprintf(out, "%f\n", (self + took(RUSAGE_CHILDREN)) / seconds);
  return fclose(out);
}
