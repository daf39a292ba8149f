/* Sends to itself what it reads of descriptor 5, with which it was started. */
#include <unistd.h>

#include "to_itself.h"

int main(void) {
  char bytes[64];
  int out = to_itself();
  if (out < 0) return 1;
  send(out, "hello", 5, MSG_DONTWAIT);
  ssize_t got = read(5, bytes, sizeof bytes);
  if (got >= 0) send(out, bytes, got, MSG_DONTWAIT);
  return 0;
}
