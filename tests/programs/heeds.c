/* Writes the number of each signal that it gets into argv[1]; SIGUSR2 ends it with 42. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int out;

static void heed(int number) {
  char text[8];
  (void)!write(out, text, snprintf(text, sizeof text, "%d\n", number));
  if (number == SIGUSR2) _exit(42);
}

int main(int argc, char **argv) {
  out = open(argv[1], O_CREAT | O_WRONLY | O_APPEND, 0600);
  signal(SIGUSR1, heed);
  signal(SIGUSR2, heed);
  signal(SIGQUIT, heed);
  signal(SIGXCPU, heed);
  signal(SIGRTMIN + 3, heed);
  socket(AF_INET, SOCK_DGRAM, 0);
  (void)!write(out, "ready\n", 6);
  for (;;) pause();
}
