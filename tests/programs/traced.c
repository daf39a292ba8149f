/* Ends with 0 where it is granted to be traced; with an argument it waits until nothing more comes in, and
   opens a socket then. */
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
  char byte;
  if (argc < 2) return ptrace(PTRACE_TRACEME, 0, 0, 0) != 0;
  puts("waits");
  fflush(stdout);
  while (read(0, &byte, 1) > 0) {}
  return socket(AF_INET, SOCK_DGRAM, 0) < 0;
}
