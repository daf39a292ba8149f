/* One thread writes into a pipe, another one reads there without waiting, and says by packets to itself how often
   it found nothing. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "to_itself.h"

static int out, ends[2], rounds;

static void *writes(void *unused) {
  for (int round = 0; round < rounds; round++) {
    if (write(ends[1], "word", 1 + round % 4) < 1) exit(1);
    if (round % 3 == 0) close(-1);
  }
  close(ends[1]);
  return 0;
}

int main(int count, char **words) {
  out = to_itself(), rounds = atoi(words[1]);
  if (out < 0 || pipe2(ends, 0) || fcntl(ends[0], F_SETFL, O_NONBLOCK)) return 1;
  pthread_t writer;
  pthread_create(&writer, 0, writes, 0);
  uint32_t said[3] = {0};
  char bytes[8];
  for (ssize_t got; (got = read(ends[0], bytes, sizeof bytes)); said[0]++) {
    if (got < 0) said[1]++;
    else said[2] += got;
    if (said[0] % 64 == 0) send(out, said, sizeof said, 0);
  }
  send(out, said, sizeof said, 0);
  pthread_join(writer, 0);
  return 0;
}
