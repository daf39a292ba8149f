/* T threads send N packets each: their number and a counter. A fifth of the way in, the program
   kills itself where a third argument says so; a fourth is a port to send to. */
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int count, deadly;
static struct sockaddr_in to;

static void *run(void *number) {
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  for (int i = 0; i < count; i++) {
    int packet[8] = {(int)(long)number, i};
    if (sendto(fd, packet, sizeof packet, 0, (void *)&to, sizeof to) < 0) exit(2);
    if (deadly && (long)number == 0 && i == count / 5) kill(getpid(), SIGKILL);
  }
  return 0;
}

int main(int argc, char **argv) {
  int threads = atoi(argv[1]);
  count = atoi(argv[2]);
  deadly = argc == 4;
  int sink = socket(AF_INET, SOCK_DGRAM, 0);
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(sink, (void *)&to, sizeof to)) return 1;
  socklen_t length = sizeof to;
  getsockname(sink, (void *)&to, &length);
  if (argc > 4) to.sin_port = htons(atoi(argv[4]));
  pthread_t all[64];
  for (long i = 0; i < threads; i++) pthread_create(&all[i], 0, run, (void *)i);
  for (long i = 0; i < threads; i++) pthread_join(all[i], 0);
  return 0;
}
