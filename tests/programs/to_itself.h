/* A socket whose packets go to another one of the same program, which nobody reads. */
#include <arpa/inet.h>
#include <sys/socket.h>

/* -1 where there is none. */
static int to_itself(void) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof to;
  int here = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(here, (struct sockaddr *)&to, sizeof to) || getsockname(here, (struct sockaddr *)&to, &length)) return -1;
  return connect(out, (struct sockaddr *)&to, sizeof to) ? -1 : out;
}
