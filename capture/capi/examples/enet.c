/*
 * An unchanged libenet.so, recorded and replayed with libnetreel.
 *
 *     enet record REEL [PORT]   without PORT a server, which prints its port; with PORT a client of it
 *     enet replay REEL [SIZE]   once more; with messages of another size if SIZE is given
 *
 *     cc -std=c99 enet.c -I ../include -L ../../../target/debug -lnetreel -lenet -o enet
 *
 * libenet calls its own enet_socket_send and so on through the dynamic linker, which finds the
 * functions of this program first. That is all it takes to stand between ENet and the world; an
 * engine that has ENet in its own sources changes these functions there.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <enet/enet.h>
#include <errno.h>
#include <netreel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static netreel_api net;
static netreel_recorder *recorder;
static netreel_thread *thread; /* while recording */
static netreel_replay *replay; /* while replaying */
static uint32_t number;        /* of the host's socket in the reel */

/* Finds libenet's own function behind one of ours. */
static void find(void *place, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(place, &found, sizeof found);
}

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "enet: %s: %s\n", what, net.error_text ? net.error_text() : "no library");
    exit(2);
}

static netreel_endpoint endpoint_of(const ENetAddress *address)
{
    netreel_endpoint endpoint;
    memset(&endpoint, 0, sizeof endpoint);
    endpoint.family = 4;
    endpoint.port = address->port;
    memcpy(endpoint.address, &address->host, 4); /* both in network order */
    return endpoint;
}

/* ---- Between ENet and the world ---- */

int enet_socket_send(ENetSocket socket, const ENetAddress *to, const ENetBuffer *parts, size_t count)
{
    static int (*real)(ENetSocket, const ENetAddress *, const ENetBuffer *, size_t);
    static unsigned char packet[65536];
    netreel_endpoint endpoint = endpoint_of(to);
    netreel_sent sent;
    size_t length = 0, part;
    int64_t result;
    for (part = 0; part < count; length += parts[part++].dataLength)
        memcpy(packet + length, parts[part].data, parts[part].dataLength);
    if (replay) {
        net.replay_send(replay, number, &endpoint, packet, length, &result);
        return result < 0 ? -1 : (int)result;
    }
    if (!real)
        find(&real, "enet_socket_send");
    net.packet_sent(thread, number, &endpoint, packet, length, &sent);
    result = real(socket, to, parts, count);
    net.send_result(thread, &sent, result < 0 ? -errno : result);
    return (int)result;
}

int enet_socket_receive(ENetSocket socket, ENetAddress *from, ENetBuffer *parts, size_t count)
{
    static int (*real)(ENetSocket, ENetAddress *, ENetBuffer *, size_t);
    netreel_endpoint endpoint;
    netreel_packet packet;
    int length;
    if (replay) {
        packet.size = sizeof packet;
        net.replay_receive(replay, number, parts->data, parts->dataLength, &packet);
        memcpy(&from->host, packet.from.address, 4);
        from->port = packet.from.port;
        return packet.kind == NETREEL_FAILED ? -1 : (int)packet.length;
    }
    if (!real)
        find(&real, "enet_socket_receive");
    length = real(socket, from, parts, count);
    endpoint = endpoint_of(from);
    if (length > 0)
        net.packet_received(thread, number, &endpoint, parts->data, (uint64_t)length);
    else if (length == 0)
        net.poll_empty(thread, number);
    else
        net.receive_failed(thread, number, errno);
    return length;
}

/* What the wait found steers ENet's loop: it is written down, and a replay does not wait. */
int enet_socket_wait(ENetSocket socket, enet_uint32 *condition, enet_uint32 timeout)
{
    static int (*real)(ENetSocket, enet_uint32 *, enet_uint32);
    uint64_t answer;
    int result;
    if (replay) {
        net.replay_random(replay, &answer);
        *condition = (enet_uint32)answer;
        return (int)(answer >> 32) - 1;
    }
    if (!real)
        find(&real, "enet_socket_wait");
    result = real(socket, condition, timeout);
    net.random_drawn(thread, (uint64_t)(result + 1) << 32 | *condition);
    return result;
}

enet_uint32 enet_time_get(void)
{
    static enet_uint32 (*real)(void);
    uint64_t ns;
    if (replay) {
        net.replay_clock(replay, &ns);
        return (enet_uint32)(ns / 1000000u);
    }
    if (!real)
        find(&real, "enet_time_get");
    ns = (uint64_t)real() * 1000000u;
    net.clock_read(thread, ns);
    return (enet_uint32)(ns / 1000000u);
}

/* ---- The network layer of this little game: an ENet host and what it answers ---- */

static ENetHost *host;
static ENetPeer *server;
static size_t message_size;

static void layer_open(enet_uint16 port)
{
    ENetAddress address;
    uint64_t seed = 0;
    address.host = htonl(0x7f000001);
    address.port = 0;
    host = enet_host_create(&address, 4, 2, 0, 0);
    must(host != NULL, "enet_host_create");
    address.port = port;
    /* ENet makes its seed from the clock and from where the host lies in memory. */
    if (replay)
        net.replay_random(replay, &seed);
    else
        net.random_drawn(thread, seed = host->randomSeed);
    host->randomSeed = (enet_uint32)seed;
    if (port)
        server = enet_host_connect(host, &address, 2, 0);
}

static void layer_tick(void)
{
    ENetEvent event;
    int more = enet_host_service(host, &event, 3);
    for (; more > 0; more = enet_host_service(host, &event, 0)) {
        if (event.type != ENET_EVENT_TYPE_RECEIVE)
            continue;
        if (server) /* the client keeps what it got; the server sends it back */
            enet_packet_destroy(event.packet);
        else if (enet_peer_send(event.peer, event.channelID, event.packet) != 0)
            enet_packet_destroy(event.packet);
    }
}

static void layer_say(unsigned char flags)
{
    static unsigned char text[8000];
    ENetPacket *packet = enet_packet_create(text, flags ? message_size : 40, flags);
    if (server->state != ENET_PEER_STATE_CONNECTED || enet_peer_send(server, flags, packet) != 0)
        enet_packet_destroy(packet);
}

/* ---- The game, and the replay in its place ---- */

static void play(const char *path, unsigned port)
{
    char start[32];
    unsigned char call;
    netreel_options options;
    netreel_endpoint local = endpoint_of(&(ENetAddress){0, 0});
    ENetAddress bound;
    uint64_t tick;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.path = path;
    options.engine = "libenet example";
    options.start = start;
    options.start_length = (uint64_t)sprintf(start, "%u %u", port, (unsigned)message_size);
    must(net.open(&options, &recorder) == NETREEL_OK, "open");
    must(net.thread_open(recorder, &thread) == NETREEL_OK, "thread_open");
    layer_open((enet_uint16)port);
    if (enet_socket_get_address(host->socket, &bound) == 0)
        local = endpoint_of(&bound);
    net.socket_opened(thread, &local, &number);
    printf("%u\n", (unsigned)local.port);
    fflush(stdout);
    for (tick = 0; tick < (port ? 150 : 200); ++tick) {
        if (server && tick % 5 == 0) {
            call = tick % 10 == 0 ? ENET_PACKET_FLAG_RELIABLE : 0;
            net.input(thread, &call, 1);
            layer_say(call);
        }
        net.tick(thread, tick, 0);
        layer_tick();
    }
    net.thread_close(thread);
    must(net.close(recorder, NULL) == NETREEL_OK, "close");
}

static int play_again(const char *path, const char *size)
{
    netreel_step step;
    netreel_report report;
    const void *start;
    uint64_t length;
    unsigned port = 0, recorded_size = 0;
    char text[32] = "";
    must(net.replay_open(path, &replay) == NETREEL_OK, "replay_open");
    must(net.replay_start(replay, &start, &length) == NETREEL_OK, "replay_start");
    memcpy(text, start, length < sizeof text ? length : sizeof text - 1);
    sscanf(text, "%u %u", &port, &recorded_size);
    message_size = size ? (size_t)atoi(size) : recorded_size;
    layer_open((enet_uint16)port);
    step.size = sizeof step;
    while (net.replay_next(replay, &step) == NETREEL_OK && step.kind != NETREEL_STEP_END) {
        if (step.kind == NETREEL_STEP_TICK)
            layer_tick();
        else
            layer_say(*(const unsigned char *)step.call);
    }
    report.size = sizeof report;
    must(net.replay_report(replay, &report) == NETREEL_OK, "replay_report");
    printf("%s: %lu ticks, %lu calls, %lu equal sends\n",
           report.outcome == NETREEL_EXACT ? "exact" : report.text, (unsigned long)report.ticks,
           (unsigned long)report.inputs, (unsigned long)report.sends);
    return report.outcome == NETREEL_EXACT ? 0 : 1;
}

int main(int argc, char **argv)
{
    must(netreel_load(&net, sizeof net, NETREEL_API_VERSION) == NETREEL_OK, "netreel_load");
    message_size = 3000; /* larger than a datagram: ENet makes fragments of it */
    if (argc >= 3 && strcmp(argv[1], "replay") == 0)
        return play_again(argv[2], argc > 3 ? argv[3] : NULL);
    must(argc >= 3 && strcmp(argv[1], "record") == 0, "record REEL [PORT] | replay REEL [SIZE]");
    play(argv[2], argc > 3 ? (unsigned)atoi(argv[3]) : 0);
    return 0;
}
