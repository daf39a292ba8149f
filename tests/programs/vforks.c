/* Starts a program by vfork and exec, or as its first word says, waits for it, and ends with 0 whatever came
   of it. */
#define _GNU_SOURCE
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int spawns = !strcmp(argv[1], "spawn"), spawns_named = !strcmp(argv[1], "spawnp");
  int named = !strcmp(argv[1], "execvp");
  char **program = argv + 1 + (spawns || spawns_named || named);
  pid_t child = 0;
  if (spawns) posix_spawn(&child, program[0], 0, 0, program, environ);
  else if (spawns_named) posix_spawnp(&child, program[0], 0, 0, program, environ);
  else if ((child = vfork()) == 0) {
    if (named) execvp(program[0], program);
    else execv(program[0], program);
    _exit(127);
  }
  if (child) waitpid(child, 0, 0);
  return 0;
}
