/* Looks this machine up by its usual name or by its number, and sends where memory lies that it asks for
   then. */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "to_itself.h"
int main(int count, char **arguments) {
  struct addrinfo *found = 0, hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM};
  char said[100];
  int out = to_itself();
  if (!strcmp(arguments[1], "getaddrinfo")) {
    if (getaddrinfo("localhost", "9", &hints, &found)) return 70;
  } else if (!strcmp(arguments[1], "number")) {
    /* One address for each kind of socket. */
    if (getaddrinfo("127.0.0.1", 0, 0, &found) || getaddrinfo("::1", "9", 0, &found)) return 72;
  } else if (!gethostbyname("localhost")) {
    return 71;
  }
  snprintf(said, sizeof said, "%p %p", malloc(100), malloc(100000));
  send(out, said, strlen(said), 0);
  return 0;
}
