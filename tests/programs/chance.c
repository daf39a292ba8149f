/* C++. Sends numbers to itself that std::random_device gives: where it can, it asks the processor. */
#include <arpa/inet.h>
#include <random>
#include <sys/socket.h>

#include "to_itself.h"

int main() {
  int out = to_itself();
  if (out < 0) return 1;
  std::random_device any, file("/dev/urandom");
  std::mt19937 from(any());
  for (int turn = 0; turn < 10; turn++) {
    unsigned said[3] = {(unsigned)any(), file(), (unsigned)from()};
    send(out, said, sizeof said, MSG_DONTWAIT);
  }
  return 0;
}
