/* Sends three packets to itself, and ends as a file says: its first letter. */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static int a, b;
static struct sockaddr_in to = {.sin_family = AF_INET};
static void round_trip(void) {
  char buf[16] = "packet";
  if (sendto(b, buf, 6, 0, (void *)&to, sizeof to) != 6) exit(90);
  if (recvfrom(a, buf, sizeof buf, 0, 0, 0) != 6) exit(91);
}
int main(int argc, char **argv) {
  socklen_t n = sizeof to;
  a = socket(AF_INET, SOCK_DGRAM, 0);
  b = socket(AF_INET, SOCK_DGRAM, 0);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(a, (void *)&to, sizeof to)) return 92;
  getsockname(a, (void *)&to, &n);
  for (int i = 0; i < 3; i++) round_trip();
  FILE *f = fopen(argv[1], "r");
  int how = f ? fgetc(f) : 'e';
  if (f) fclose(f);
  switch (how) {
    case 'e': exit(3);
    case 'o': exit(0);
    case '_': _exit(4);
    case 'm': round_trip(); _exit(4);
    case 'a': abort();
    case 'k': raise(SIGKILL);
  }
  return 93;
}
