/*
 * A hand-written protocol over UDP, recorded and replayed with libnetreel.
 *
 *     udp record REEL [PORT]   plays on 127.0.0.1; without PORT it prints its port and waits for a
 *                              peer, with PORT it calls there
 *     udp replay REEL [STEP]   plays the reel once more, with another constant if STEP is given
 *
 *     cc -std=c99 udp.c -I ../include -L ../../target/release -lnetreel \
 *         -Wl,-rpath,$PWD/../../target/release -o udp
 *
 * Two walkers tell each other where they stand. The protocol sees the world only through the
 * functions io_*: in a recording these call the operating system and write down what it said, in
 * a replay the reel answers.
 */
#define _DEFAULT_SOURCE
#include "system.h"
#include <netreel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static netreel_api net;
static netreel_recorder *recorder;
static netreel_thread *thread; /* while recording */
static netreel_replay *replay; /* while replaying */
static uint32_t socket_number; /* in the reel */
static system_socket own = SYSTEM_NO_SOCKET;

static void must(int32_t code, const char *what)
{
    if (code < 0) {
        fprintf(stderr, "udp: %s: %s (%s)\n", what, net.error_text(), net.code_name(code));
        exit(2);
    }
}

/* ---- The world, as the protocol sees it ---- */

static uint64_t io_now(void)
{
    uint64_t ns;
    if (replay) {
        net.replay_clock(replay, &ns);
        return ns;
    }
    ns = system_now_ns();
    net.clock_read(thread, ns);
    return ns;
}

static uint64_t io_random(void)
{
    uint64_t drawn;
    if (replay) {
        net.replay_random(replay, &drawn);
        return drawn;
    }
    drawn = (uint64_t)rand() << 31 ^ (uint64_t)rand();
    net.random_drawn(thread, drawn);
    return drawn;
}

static void io_send(const netreel_endpoint *to, const void *bytes, size_t length)
{
    struct sockaddr_in address;
    uint32_t size = sizeof address;
    netreel_sent sent;
    long taken;
    if (replay) {
        net.replay_send(replay, socket_number, to, bytes, length, NULL);
        return;
    }
    net.endpoint_to_sockaddr(to, &address, &size);
    net.packet_sent(thread, socket_number, to, bytes, length, &sent);
    taken = system_send(own, &address, bytes, length);
    net.send_result(thread, &sent, taken < 0 ? -system_error() : taken);
}

/* Returns the length of the packet, or -1 if there is none. */
static long io_receive(netreel_endpoint *from, void *buffer, size_t room)
{
    struct sockaddr_in address;
    long length;
    if (replay) {
        netreel_packet packet;
        packet.size = sizeof packet;
        net.replay_receive(replay, socket_number, buffer, room, &packet);
        *from = packet.from;
        return packet.kind == NETREEL_RECEIVED ? (long)packet.length : -1;
    }
    length = system_receive(own, &address, buffer, room);
    if (length >= 0) {
        net.endpoint_from_sockaddr(&address, sizeof address, from);
        net.packet_received(thread, socket_number, from, buffer, (uint64_t)length);
    } else if (system_error() == SYSTEM_NO_PACKET) {
        net.poll_empty(thread, socket_number);
    } else {
        net.receive_failed(thread, socket_number, system_error());
    }
    return length;
}

/* ---- The protocol: knows nothing of netreel ---- */

struct packet {
    uint32_t sequence, ack, milliseconds, nonce;
    int32_t position;
};

static struct {
    netreel_endpoint peer;
    uint32_t sequence, ack;
    int32_t position, step;
} layer;

static void layer_tick(void)
{
    struct packet in, out;
    netreel_endpoint from;
    uint64_t now = io_now();
    long length;
    while ((length = io_receive(&from, &in, sizeof in)) >= 0) {
        if (length != (long)sizeof in)
            continue;
        layer.peer = from;
        if (ntohl(in.sequence) > layer.ack)
            layer.ack = ntohl(in.sequence);
    }
    if (layer.peer.port == 0)
        return;
    out.sequence = htonl(++layer.sequence);
    out.ack = htonl(layer.ack);
    out.milliseconds = htonl((uint32_t)(now / 1000000u));
    out.nonce = htonl((uint32_t)io_random());
    out.position = (int32_t)htonl((uint32_t)layer.position);
    io_send(&layer.peer, &out, sizeof out);
}

static void layer_walk(int8_t direction)
{
    layer.position += direction * layer.step;
}

/* ---- The game: what it does to the protocol is recorded, and not run in a replay ---- */

static void play(const char *path, unsigned port)
{
    struct sockaddr_in address;
    netreel_options options;
    netreel_summary summary;
    netreel_endpoint local;
    uint64_t tick;

    own = system_open(&address);
    if (own == SYSTEM_NO_SOCKET) {
        fprintf(stderr, "udp: no socket: error %d\n", system_error());
        exit(2);
    }
    system_do_not_wait(own);
    net.endpoint_from_sockaddr(&address, sizeof address, &local);
    if (port) {
        layer.peer = local;
        layer.peer.port = (uint16_t)port;
    }

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.flags = NETREEL_CLOCK_MONOTONIC;
    options.path = path;
    options.engine = "udp example";
    options.start = &layer; /* a real engine would not write memory as it lies */
    options.start_length = sizeof layer;
    must(net.open(&options, &recorder), "open");
    must(net.thread_open(recorder, &thread), "thread_open");
    must(net.socket_opened(thread, &local, &socket_number), "socket_opened");
    printf("%u\n", (unsigned)local.port);
    fflush(stdout);

    if (!port)
        system_wait(own, 10);
    for (tick = 0; tick < 120 || (layer.ack < 60 && tick < 5000); ++tick) {
        if (tick % 3 == 0) {
            int8_t call = tick % 2 ? 1 : -2;
            net.input(thread, &call, sizeof call);
            layer_walk(call);
        }
        net.tick(thread, tick, tick * 2000000u);
        layer_tick();
        system_sleep_ms(2);
    }
    net.socket_closed(thread, socket_number);
    net.thread_close(thread);
    summary.size = sizeof summary;
    must(net.close(recorder, &summary), "close");
    printf("%lu events\n", (unsigned long)summary.events);
    system_close(own);
}

static int play_again(const char *path, const char *step_given)
{
    netreel_step step;
    netreel_report report;
    const void *start;
    uint64_t length;
    must(net.replay_open(path, &replay), "replay_open");
    must(net.replay_start(replay, &start, &length), "replay_start");
    memcpy(&layer, start, length < sizeof layer ? length : sizeof layer);
    if (step_given)
        layer.step = atoi(step_given);
    step.size = sizeof step;
    while (net.replay_next(replay, &step) == NETREEL_OK && step.kind != NETREEL_STEP_END) {
        if (step.kind == NETREEL_STEP_TICK)
            layer_tick();
        else
            layer_walk(*(const int8_t *)step.call);
    }
    report.size = sizeof report;
    must(net.replay_report(replay, &report), "replay_report");
    printf("%s: %lu ticks, %lu calls, %lu equal sends%s\n",
           report.outcome == NETREEL_EXACT ? "exact" : report.text, (unsigned long)report.ticks,
           (unsigned long)report.inputs, (unsigned long)report.sends,
           report.cut ? "; the reel was cut" : "");
    net.replay_close(replay);
    return report.outcome == NETREEL_EXACT ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (netreel_load(&net, sizeof net, NETREEL_API_VERSION) != NETREEL_OK)
        return 2;
    layer.step = 5;
    if (argc >= 3 && strcmp(argv[1], "replay") == 0)
        return play_again(argv[2], argc > 3 ? argv[3] : NULL);
    if (argc < 3 || strcmp(argv[1], "record") != 0) {
        fprintf(stderr, "udp record REEL [PORT] | udp replay REEL [STEP]\n");
        return 2;
    }
    srand(system_process());
    play(argv[2], argc > 3 ? (unsigned)atoi(argv[3]) : 0);
    return 0;
}
