/* Sends itself a packet every 5 ms until it is ended: G and a counter; from the Nth packet on B and
   the counter. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
    long bad = argc > 1 ? atol(argv[1]) : -1;
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof a;
    if (bind(s, (struct sockaddr *)&a, sizeof a) || getsockname(s, (struct sockaddr *)&a, &length))
        return 1;
    for (unsigned count = 0;; count++) {
        char packet[5] = {bad >= 0 && count >= bad ? 'B' : 'G'}, got[16];
        memcpy(packet + 1, &count, 4);
        if (sendto(s, packet, sizeof packet, 0, (struct sockaddr *)&a, sizeof a) != sizeof packet)
            return 1;
        if (recv(s, got, sizeof got, 0) != sizeof packet)
            return 1;
        usleep(5000);
    }
}
