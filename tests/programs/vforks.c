/* Starts a program by vfork and exec, waits for it, and ends with 0 whatever came of it. */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  pid_t child = vfork();
  if (child == 0) {
    execv(argv[1], argv + 1);
    _exit(127);
  }
  waitpid(child, 0, 0);
  return 0;
}
