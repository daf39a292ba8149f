/*
 * An unchanged libenet.so, recorded and replayed with libnetreel.
 *
 *     enet record REEL [PORT]   without PORT a server, which prints its port; with PORT its client
 *     enet replay REEL [SIZE]   once more; with messages of another size if SIZE is given
 *
 *     cc enet.c -I ../include -L ../../target/release -lnetreel -lenet -ldl \
 *         -Wl,-rpath,$PWD/../../target/release -o enet
 *
 * libenet calls its own enet_socket_send and so on through the dynamic linker, which finds those
 * of this program first. An engine with ENet among its own sources changes them there.
 */
#define _GNU_SOURCE
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

static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "enet: %s: %s\n", what, net.error_text ? net.error_text() : "no library");
        exit(2);
    }
}

/* ---- Between ENet and the world ---- */

static struct { /* libenet's own functions, behind those below */
    int (*send)(ENetSocket, const ENetAddress *, const ENetBuffer *, size_t);
    int (*receive)(ENetSocket, ENetAddress *, ENetBuffer *, size_t);
    int (*wait)(ENetSocket, enet_uint32 *, enet_uint32);
    enet_uint32 (*time)(void);
} real;

static void find(void *place, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    must(found != NULL, name);
    memcpy(place, &found, sizeof found);
}

static netreel_endpoint endpoint_of(const ENetAddress *address)
{
    netreel_endpoint endpoint = {4, address->port, 0, 0, {0}};
    memcpy(endpoint.address, &address->host, 4); /* both in network order */
    return endpoint;
}

int enet_socket_send(ENetSocket socket, const ENetAddress *to, const ENetBuffer *parts, size_t count)
{
    static unsigned char packet[65536];
    netreel_endpoint endpoint = endpoint_of(to);
    netreel_sent sent;
    int64_t result;
    size_t length = 0, part;
    for (part = 0; part < count; length += parts[part++].dataLength)
        memcpy(packet + length, parts[part].data, parts[part].dataLength);
    if (replay) {
        net.replay_send(replay, number, &endpoint, packet, length, &result);
        return result < 0 ? -1 : (int)result;
    }
    net.packet_sent(thread, number, &endpoint, packet, length, &sent);
    result = real.send(socket, to, parts, count);
    net.send_result(thread, &sent, result < 0 ? -errno : result);
    return (int)result;
}

/* ENet passes one buffer; 0 says that there was nothing. */
int enet_socket_receive(ENetSocket socket, ENetAddress *from, ENetBuffer *parts, size_t count)
{
    netreel_packet packet;
    netreel_endpoint endpoint;
    int length;
    if (replay) {
        packet.size = sizeof packet;
        net.replay_receive(replay, number, parts->data, parts->dataLength, &packet);
        memcpy(&from->host, packet.from.address, 4);
        from->port = packet.from.port;
        return packet.kind == NETREEL_FAILED ? -1 : (int)packet.length;
    }
    length = real.receive(socket, from, parts, count);
    endpoint = endpoint_of(from);
    if (length > 0)
        net.packet_received(thread, number, &endpoint, parts->data, (uint64_t)length);
    else if (length == 0)
        net.poll_empty(thread, number);
    else
        net.receive_failed(thread, number, errno);
    return length;
}

/* What a wait found steers ENet's loop: it is written down, and a replay does not wait. */
int enet_socket_wait(ENetSocket socket, enet_uint32 *condition, enet_uint32 timeout)
{
    uint64_t answer = 0;
    int result;
    if (replay) {
        net.replay_random(replay, &answer);
        *condition = (enet_uint32)answer;
        return (int)(answer >> 32) - 1;
    }
    result = real.wait(socket, condition, timeout);
    net.random_drawn(thread, (uint64_t)(result + 1) << 32 | *condition);
    return result;
}

enet_uint32 enet_time_get(void)
{
    uint64_t ns = 0;
    if (replay)
        net.replay_clock(replay, &ns);
    else
        net.clock_read(thread, ns = real.time() * (uint64_t)1000000);
    return (enet_uint32)(ns / 1000000);
}

/* ---- The network layer of this little game: an ENet host and what it answers ---- */

static ENetHost *host;
static ENetPeer *server; /* at the client */
static size_t message_size = 3000; /* larger than a datagram: ENet makes fragments of it */

static void layer_open(enet_uint16 port)
{
    ENetAddress address = {htonl(0x7f000001), 0};
    uint64_t seed = 0;
    host = enet_host_create(&address, 4, 2, 0, 0);
    must(host != NULL, "enet_host_create");
    if (replay) /* ENet makes its seed from the clock and from where the host lies in memory. */
        net.replay_random(replay, &seed);
    else
        net.random_drawn(thread, seed = host->randomSeed);
    host->randomSeed = (enet_uint32)seed;
    address.port = port;
    server = port ? enet_host_connect(host, &address, 2, 0) : NULL;
}

static void layer_tick(void)
{
    ENetEvent event;
    int more = enet_host_service(host, &event, 3);
    for (; more > 0; more = enet_host_service(host, &event, 0)) /* the server sends all back */
        if (event.type == ENET_EVENT_TYPE_RECEIVE &&
            (server || enet_peer_send(event.peer, event.channelID, event.packet) != 0))
            enet_packet_destroy(event.packet);
}

static void layer_say(unsigned char flags)
{
    static unsigned char text[65536];
    ENetPacket *packet = enet_packet_create(text, flags ? message_size : 40, flags);
    if (server->state != ENET_PEER_STATE_CONNECTED || enet_peer_send(server, flags, packet) != 0)
        enet_packet_destroy(packet);
}

/* ---- The game, and the replay in its place ---- */

static void play(const char *path, enet_uint16 port)
{
    static netreel_options options; /* all zeros */
    netreel_endpoint local;
    ENetAddress bound = {0, 0};
    uint64_t tick, idle, heard = 0;
    options.size = sizeof options;
    options.path = path;
    options.start = &port; /* what the layer starts from */
    options.start_length = sizeof port;
    must(net.open(&options, &recorder) == NETREEL_OK, "open");
    must(net.thread_open(recorder, &thread) == NETREEL_OK, "thread_open");
    layer_open(port);
    enet_socket_get_address(host->socket, &bound);
    local = endpoint_of(&bound);
    net.socket_opened(thread, &local, &number);
    printf("%u\n", (unsigned)bound.port);
    fflush(stdout);
    /* The client leaves when it has heard enough; the server then hears nothing for a while. */
    for (tick = idle = 0; idle < 300 && tick < (heard > 60 ? 150 : 20000); ++tick) {
        unsigned char call = tick % 10 == 0 ? ENET_PACKET_FLAG_RELIABLE : 0;
        enet_uint32 before = host->totalReceivedPackets;
        if (server && tick % 5 == 0) {
            net.input(thread, &call, sizeof call);
            layer_say(call);
        }
        net.tick(thread, tick, 0);
        layer_tick();
        idle = before && before == host->totalReceivedPackets ? idle + 1 : 0;
        heard = server ? before : 0;
    }
    must(net.close(recorder, NULL) == NETREEL_OK, "close");
    printf("%u sent, %u received\n", host->totalSentPackets, host->totalReceivedPackets);
}

static int play_again(const char *path)
{
    netreel_step step;
    netreel_report report;
    const void *start;
    uint64_t length;
    step.size = sizeof step;
    report.size = sizeof report;
    must(net.replay_open(path, &replay) == NETREEL_OK, "replay_open");
    must(net.replay_start(replay, &start, &length) == NETREEL_OK, "replay_start");
    layer_open(*(const enet_uint16 *)start);
    while (net.replay_next(replay, &step) == NETREEL_OK && step.kind != NETREEL_STEP_END)
        if (step.kind == NETREEL_STEP_TICK)
            layer_tick();
        else
            layer_say(*(const unsigned char *)step.call);
    must(net.replay_report(replay, &report) == NETREEL_OK, "replay_report");
    printf("%s: %lu equal sends\n", report.outcome == NETREEL_EXACT ? "exact" : report.text,
           (unsigned long)report.sends);
    return report.outcome == NETREEL_EXACT ? 0 : 1;
}

int main(int argc, char **argv)
{
    must(netreel_load(&net, sizeof net, NETREEL_API_VERSION) == NETREEL_OK, "netreel_load");
    find(&real.send, "enet_socket_send");
    find(&real.receive, "enet_socket_receive");
    find(&real.wait, "enet_socket_wait");
    find(&real.time, "enet_time_get");
    must(argc >= 3, "record REEL [PORT] | replay REEL [SIZE]");
    if (strcmp(argv[1], "record") == 0)
        return play(argv[2], argc > 3 ? (enet_uint16)atoi(argv[3]) : 0), 0;
    message_size = argc > 3 ? (size_t)atoi(argv[3]) : message_size;
    return play_again(argv[2]);
}
