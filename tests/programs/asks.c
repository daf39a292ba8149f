/* Asks a server of Quake 3's kind on the port of the first argument how it is, as often as the second
   one says, five times a second. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 3) return 77;
  int fd = socket(AF_INET, SOCK_DGRAM, 0), got = 0;
  struct sockaddr_in to = {AF_INET, htons(atoi(argv[1])), {htonl(INADDR_LOOPBACK)}};
  if (connect(fd, (struct sockaddr *)&to, sizeof to)) return 77;
  char room[2048], asked[64];
  for (int count = 0; count < atoi(argv[2]); count++) {
    int length = sprintf(asked, "\xff\xff\xff\xffget%s %d", count % 2 ? "info" : "status", count);
    send(fd, asked, length, 0);
    usleep(200000);
    while (recv(fd, room, sizeof room, MSG_DONTWAIT) > 0) got++;
  }
  printf("%d\n", got);
  return got == 0;
}
