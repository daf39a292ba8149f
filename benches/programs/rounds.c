/* `rounds packet N`: N times a packet to itself over loopback; `rounds beside N`: the same beside a thread
   that sleeps; `rounds clock N`, `rounds day N`: N clock reads; `rounds lock N`: N times a lock and its
   unlocking, beside such a thread; `rounds text N`: N lines printed into /dev/null. With STRAIGHT its code
   holds the instruction that enters the kernel, which nothing comes to. Writes the processor time of one, in nanoseconds, into the file of
   the third argument: what others do on the machine counts less there than in the time of day. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *sleeps(void *nothing) {
  for (;;) pause();
  return nothing;
}

#ifdef STRAIGHT
__attribute__((used)) static long straight(long number) {
#ifdef __x86_64__
  __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
#else
  __asm__ volatile("svc #0" : : : "memory");
#endif
  return number;
}
#endif

int main(int argc, char **argv) {
  long count = atol(argv[2]);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from;
  socklen_t length = sizeof to;
  int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(a, (void *)&to, length) || getsockname(a, (void *)&to, &length)) return 1;
  char bytes[128] = {0};
  struct timespec start, end, now;
  struct timeval day;
  pthread_t other;
  int beside = argv[1][0] == 'l' || argv[1][0] == 'b';
  if (beside && pthread_create(&other, 0, sleeps, 0)) return 5;
  if (argv[1][0] == 't' && !freopen("/dev/null", "w", stdout)) return 6;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  for (long i = 0; i < count; i++) {
    if (argv[1][0] == 'c') {
      clock_gettime(CLOCK_MONOTONIC, &now);
    } else if (argv[1][0] == 'd') {
      gettimeofday(&day, 0);
    } else if (argv[1][0] == 't') {
      printf("line %ld of many, which says something of the state of the game\n", i);
    } else if (argv[1][0] == 'l') {
      pthread_mutex_lock(&lock);
      pthread_mutex_unlock(&lock);
    } else {
      socklen_t l = sizeof from;
      if (sendto(b, bytes, sizeof bytes, 0, (void *)&to, sizeof to) < 0) return 2;
      if (recvfrom(a, bytes, sizeof bytes, 0, (void *)&from, &l) < 0) return 3;
    }
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  double nanos = (end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec);
  FILE *out = fopen(argv[3], "w");
  if (!out) return 4;
  fprintf(out, "%f\n", nanos / count);
  return fclose(out);
}
