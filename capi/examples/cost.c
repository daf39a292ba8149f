/*
 * What libnetreel costs the thread that is recorded: `cost REEL [CALLS]`. The reel is replaced.
 */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <netreel.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

static netreel_api net;
static netreel_thread *thread;
static netreel_endpoint to = {4, 7000, 0, 0, {127, 0, 0, 1}};
static unsigned char packet[200];
static uint32_t number;

static uint64_t now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static int by_value(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* ns for one packet that is sent to the own socket and received again. */
static double round_ns(int fd, const struct sockaddr_in *own, int rounds, int recorded)
{
    const uint64_t start = now();
    netreel_sent sent;
    int round;
    for (round = 0; round < rounds; ++round) {
        ssize_t taken, length;
        if (recorded)
            net.packet_sent(thread, number, &to, packet, sizeof packet, &sent);
        taken = sendto(fd, packet, sizeof packet, 0, (const struct sockaddr *)own, sizeof *own);
        if (recorded)
            net.send_result(thread, &sent, taken);
        length = recvfrom(fd, packet, sizeof packet, 0, NULL, NULL);
        if (recorded)
            net.packet_received(thread, number, &to, packet, (uint64_t)length);
    }
    return (double)(now() - start) / rounds;
}

/* Bare and recorded in turn; the fastest of each is the one that was disturbed least. */
static void loopback(void)
{
    struct sockaddr_in own = {0};
    socklen_t size = sizeof own;
    double best[2] = {1e18, 1e18}, took;
    int fd = socket(AF_INET, SOCK_DGRAM, 0), run;
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&own, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&own, &size) != 0)
        return;
    for (run = 0; run < 2000; ++run) {
        took = round_ns(fd, &own, 50, run % 2);
        if (took < best[run % 2])
            best[run % 2] = took;
    }
    printf("send and receive on loopback: bare %.0f ns, recorded %.0f ns (%+.1f %%)\n", best[0],
           best[1], (best[1] / best[0] - 1) * 100);
}

static void tell(const char *what, uint64_t *took, size_t calls)
{
    qsort(took, calls, sizeof *took, by_value);
    printf("%s, and the clock read that measures it: p50 %lu ns, p99 %lu ns\n", what,
           (unsigned long)took[calls / 2], (unsigned long)took[calls - calls / 100 - 1]);
}

int main(int argc, char **argv)
{
    static netreel_options options;
    netreel_recorder *recorder;
    netreel_sent sent;
    size_t calls = argc > 2 ? strtoul(argv[2], NULL, 10) : 20000, call;
    uint64_t *took = calloc(calls + 1, sizeof *took), start;
    options.size = sizeof options;
    options.flags = NETREEL_REPLACE | NETREEL_CLOCK_MONOTONIC;
    options.path = argc > 1 ? argv[1] : "cost.reel";
    if (!took || netreel_load(&net, sizeof net, NETREEL_API_VERSION) != NETREEL_OK)
        return 2;
    if (net.open(&options, &recorder) < 0 || net.thread_open(recorder, &thread) < 0 ||
        net.socket_opened(thread, &to, &number) < 0) {
        fprintf(stderr, "cost: %s\n", net.error_text());
        return 2;
    }
    for (call = 0; call < calls; ++call) {
        start = now();
        net.packet_sent(thread, number, &to, packet, sizeof packet, &sent);
        net.send_result(thread, &sent, sizeof packet);
        took[call] = now() - start;
    }
    tell("packet_sent and send_result", took, calls);
    for (call = 0; call < calls; ++call) {
        start = now();
        net.clock_read(thread, start);
        took[call] = now() - start;
    }
    tell("clock_read", took, calls);
    for (call = 0; call < calls; ++call) {
        start = now();
        net.packet_received(thread, number, &to, packet, sizeof packet);
        took[call] = now() - start;
    }
    tell("packet_received", took, calls);
    free(took);
    loopback();
    net.thread_close(thread);
    return net.close(recorder, NULL) == NETREEL_OK ? 0 : 1;
}
