/*
 * What libnetreel costs the thread that is recorded: `cost REEL [CALLS]`. The reel is replaced. In C and C++.
 */
#define _POSIX_C_SOURCE 200809L
#include "system.h"
#include <netreel.h>
#include <stdio.h>
#include <stdlib.h>

static netreel_api net;
static netreel_thread *thread;
static netreel_endpoint to = {4, 7000, 0, 0, {127, 0, 0, 1}};
static unsigned char packet[200];
static uint32_t number;

static int by_value(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* ns for one packet that is sent to the own socket and received again. */
static double round_ns(system_socket fd, const struct sockaddr_in *own, int rounds, int recorded)
{
    const uint64_t start = system_now_ns();
    struct sockaddr_in from;
    netreel_sent sent;
    int round;
    for (round = 0; round < rounds; ++round) {
        long taken, length;
        if (recorded)
            net.packet_sent(thread, number, &to, packet, sizeof packet, &sent);
        taken = system_send(fd, own, packet, sizeof packet);
        if (recorded)
            net.send_result(thread, &sent, taken);
        length = system_receive(fd, &from, packet, sizeof packet);
        if (recorded)
            net.packet_received(thread, number, &to, packet, (uint64_t)length);
    }
    return (double)(system_now_ns() - start) / rounds;
}

/* Bare and recorded in turn; the fastest of each is the one that was disturbed least. */
static void loopback(void)
{
    struct sockaddr_in own;
    system_socket fd = system_open(&own);
    double best[2] = {1e18, 1e18}, took;
    int run;
    if (fd == SYSTEM_NO_SOCKET)
        return;
    for (run = 0; run < 2000; ++run) {
        took = round_ns(fd, &own, 50, run % 2);
        if (took < best[run % 2])
            best[run % 2] = took;
    }
    printf("send and receive on loopback: bare %.0f ns, recorded %.0f ns (%+.1f %%)\n", best[0],
           best[1], (best[1] / best[0] - 1) * 100);
}

/* The mean tells something where the clock ticks more seldom than a call takes. */
static void tell(const char *what, uint64_t *took, size_t calls)
{
    double all = 0;
    size_t call;
    for (call = 0; call < calls; ++call)
        all += (double)took[call];
    qsort(took, calls, sizeof *took, by_value);
    printf("%s, and the clock read that measures it: p50 %lu ns, p99 %lu ns, mean %.0f ns\n", what,
           (unsigned long)took[calls / 2], (unsigned long)took[calls - calls / 100 - 1],
           all / (double)(calls ? calls : 1));
}

int main(int argc, char **argv)
{
    static netreel_options options;
    netreel_recorder *recorder;
    netreel_sent sent;
    size_t calls = argc > 2 ? strtoul(argv[2], NULL, 10) : 20000, call;
    uint64_t *took = (uint64_t *)calloc(calls + 1, sizeof *took), start;
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
        start = system_now_ns();
        took[call] = system_now_ns() - start;
    }
    tell("nothing", took, calls);
    for (call = 0; call < calls; ++call) {
        start = system_now_ns();
        net.packet_sent(thread, number, &to, packet, sizeof packet, &sent);
        net.send_result(thread, &sent, sizeof packet);
        took[call] = system_now_ns() - start;
    }
    tell("packet_sent and send_result", took, calls);
    for (call = 0; call < calls; ++call) {
        start = system_now_ns();
        net.clock_read(thread, start);
        took[call] = system_now_ns() - start;
    }
    tell("clock_read", took, calls);
    for (call = 0; call < calls; ++call) {
        start = system_now_ns();
        net.packet_received(thread, number, &to, packet, sizeof packet);
        took[call] = system_now_ns() - start;
    }
    tell("packet_received", took, calls);
    free(took);
    loopback();
    net.thread_close(thread);
    return net.close(recorder, NULL) == NETREEL_OK ? 0 : 1;
}
