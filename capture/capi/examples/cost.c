/*
 * What a call of libnetreel costs the thread that makes it: `cost REEL [CALLS]`. The reel is
 * replaced.
 */
#define _POSIX_C_SOURCE 200809L
#include <netreel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

int main(int argc, char **argv)
{
    static netreel_options options;
    netreel_api net;
    netreel_recorder *recorder;
    netreel_thread *thread;
    netreel_endpoint to = {4, 7000, 0, 0, {127, 0, 0, 1}};
    netreel_sent sent;
    uint32_t socket;
    unsigned char packet[200] = {0};
    size_t calls = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000, call;
    uint64_t *took = calloc(calls + 1, sizeof *took), start, clock, sends, clocks;
    options.size = sizeof options;
    options.flags = NETREEL_REPLACE | NETREEL_CLOCK_MONOTONIC;
    options.path = argc > 1 ? argv[1] : "cost.reel";
    if (!took || netreel_load(&net, sizeof net, NETREEL_API_VERSION) != NETREEL_OK)
        return 2;
    if (net.open(&options, &recorder) < 0 || net.thread_open(recorder, &thread) < 0 ||
        net.socket_opened(thread, &to, &socket) < 0) {
        fprintf(stderr, "cost: %s\n", net.error_text());
        return 2;
    }
    for (call = 0, start = now(); call < calls; ++call)
        took[call] = now();
    clock = now() - start;
    for (call = 0, start = now(); call < calls; ++call) {
        net.packet_sent(thread, socket, &to, packet, sizeof packet, &sent);
        net.send_result(thread, &sent, sizeof packet);
    }
    sends = now() - start;
    for (call = 0, start = now(); call < calls; ++call)
        net.clock_read(thread, took[call]);
    clocks = now() - start;
    for (call = 0; call < calls; ++call) {
        start = now();
        net.packet_received(thread, socket, &to, packet, sizeof packet);
        took[call] = now() - start;
    }
    qsort(took, calls, sizeof *took, by_value);
    printf("a clock read without a recorder: %.1f ns\n", (double)clock / (double)calls);
    printf("packet_sent and send_result: %.1f ns\n", (double)sends / (double)calls);
    printf("clock_read: %.1f ns\n", (double)clocks / (double)calls);
    printf("packet_received, with the clock read that measures it: p50 %lu ns, p99 %lu ns\n",
           (unsigned long)took[calls / 2], (unsigned long)took[calls - calls / 100 - 1]);
    free(took);
    net.thread_close(thread);
    return net.close(recorder, NULL) == NETREEL_OK ? 0 : 1;
}
