/* A thread waits in recv while another one closes its socket, then gets a packet. With an argument
   the number of the closed descriptor is used again before that. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int waiting;
static volatile int thread_id;
static ssize_t got;

static void *receive(void *unused) {
  char packet[16];
  thread_id = syscall(SYS_gettid);
  got = recv(waiting, packet, sizeof packet, 0);
  return 0;
}

static int is_receiving(void) {
  char path[64];
  int number = -1;
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread_id);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  fscanf(file, "%d", &number);
  fclose(file);
  return number == SYS_recvfrom;
}

static int bound(struct sockaddr_in *at) {
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  memset(at, 0, sizeof *at);
  at->sin_family = AF_INET;
  at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof *at;
  if (bind(fd, (void *)at, sizeof *at) || getsockname(fd, (void *)at, &length)) _exit(2);
  return fd;
}

int main(int argc, char **argv) {
  struct sockaddr_in to, other;
  waiting = bound(&to);
  int sender = bound(&other);
  pthread_t thread;
  pthread_create(&thread, 0, receive, 0);
  for (int i = 0; i < 3000 && !is_receiving(); i++) usleep(10000);
  close(waiting);
  if (argc > 1 && bound(&other) != waiting) return 3;
  if (sendto(sender, "late", 4, 0, (void *)&to, sizeof to) != 4) return 4;
  pthread_join(thread, 0);
  return got == 4 ? 0 : 5;
}
