/* A descriptor is read and then closed inside the C library; a UDP socket that another process hands
   over gets its number, and sends five packets. With an argument, many messages are asked for. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static union {
  struct cmsghdr head;
  char bytes[CMSG_SPACE(sizeof(int))];
} beside;

int main(int argc, char **argv) {
  int pair[2];
  char byte = 'x';
  struct iovec part = {&byte, 1};
  struct mmsghdr message = {{0}};
  message.msg_hdr.msg_iov = &part;
  message.msg_hdr.msg_iovlen = 1;
  message.msg_hdr.msg_control = beside.bytes;
  message.msg_hdr.msg_controllen = sizeof beside;
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  if (fork() == 0) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    beside.head.cmsg_level = SOL_SOCKET;
    beside.head.cmsg_type = SCM_RIGHTS;
    beside.head.cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(&beside.head), &fd, sizeof fd);
    _exit(sendmsg(pair[1], &message.msg_hdr, 0) != 1);
  }
  close(pair[1]);
  DIR *folder = opendir("/");
  int number = dirfd(folder), fd;
  read(number, &byte, 1);
  closedir(folder);
  if (argc > 1) {
    if (recvmmsg(pair[0], &message, 1, 0, 0) != 1) return 2;
  } else if (recvmsg(pair[0], &message.msg_hdr, 0) != 1) {
    return 2;
  }
  memcpy(&fd, CMSG_DATA(&beside.head), sizeof fd);
  if (fd != number) return 3;
  struct sockaddr_in to = {AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}};
  for (int i = 0; i < 5; i++) sendto(fd, "handed", 6, 0, (void *)&to, sizeof to);
  wait(0);
  return 0;
}
