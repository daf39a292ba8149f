/* Sends how often it was started, which it keeps in a file. */
#include <fcntl.h>
#include <unistd.h>
#include "to_itself.h"
int main(int count, char **arguments) {
  char starts[2] = "0";
  int out = to_itself(), file = open(arguments[1], O_RDWR | O_CREAT, 0600);
  if (out < 0 || file < 0) return 70;
  pread(file, starts, 1, 0);
  send(out, starts, 1, 0);
  starts[0]++;
  pwrite(file, starts, 1, 0);
  return 0;
}
