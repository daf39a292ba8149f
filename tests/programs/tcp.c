/* Sends one packet, and speaks TCP with itself: "calls" makes the connection, "waits" takes it as well. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "to_itself.h"
int main(int count, char **arguments) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof at;
  int out = to_itself(), listens = socket(AF_INET, SOCK_STREAM, 0), calls = socket(AF_INET, SOCK_STREAM, 0);
  if (out < 0 || bind(listens, (void *)&at, length) || listen(listens, 5)) return 70;
  getsockname(listens, (void *)&at, &length);
  send(out, "before", 6, 0);
  int called = connect(calls, (void *)&at, length);
  if (count > 1 && !strcmp(arguments[1], "waits") && accept(listens, NULL, NULL) < 0) return 71;
  send(out, called ? "alone" : "calls", 5, 0);
  return 0;
}
