/* T threads begin to send at the same moment, 3 packets each, and live until all have sent. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

static pthread_barrier_t all;
static struct sockaddr_in to;

static void *run(void *socket) {
  pthread_barrier_wait(&all);
  for (int i = 0; i < 3; i++) sendto((int)(long)socket, "one", 3, 0, (void *)&to, sizeof to);
  pthread_barrier_wait(&all);
  return 0;
}

int main(int argc, char **argv) {
  int threads = atoi(argv[1]);
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(9);
  long fd = socket(AF_INET, SOCK_DGRAM, 0);
  pthread_barrier_init(&all, 0, threads);
  pthread_t others[2048];
  for (int i = 0; i < threads; i++)
    if (pthread_create(&others[i], 0, run, (void *)fd)) return 1;
  for (int i = 0; i < threads; i++) pthread_join(others[i], 0);
  return 0;
}
