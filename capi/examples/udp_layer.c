/*
 * The protocol of udp.c as a plugin: what `udp record` has written,
 * `netreel replay REEL --layer ./udp_layer.so` plays once more.
 *
 *     cc -std=c99 -shared -fPIC udp_layer.c -I ../include -o udp_layer.so
 *     x86_64-w64-mingw32-gcc -std=c99 -shared udp_layer.c -I ../include -lws2_32 -o udp_layer.dll
 *
 * With -DSTEP=7 it is a changed layer, and diverges. With -DTIME_OUT_NS=1000000000 it fails where a
 * second of the machine's clock passes between two ticks, unless its time-outs are off.
 */
#define _POSIX_C_SOURCE 200112L
#include "system.h"
#include <netreel_layer.h>
#include <stdlib.h>
#include <string.h>

struct packet {
    uint32_t sequence, ack, milliseconds, nonce;
    int32_t position;
};

/* As udp.c writes it into the start conditions. */
struct layer {
    netreel_endpoint peer;
    uint32_t sequence, ack;
    int32_t position, step;
};

/* A layer, and what it needs beside its protocol. */
struct made {
    struct layer layer;
    uint32_t sockets; /* how many there are */
    uint32_t socket;  /* where the peer was heard last */
    const char *error;
#ifdef TIME_OUT_NS
    uint64_t last_tick_ns;
    int32_t time_outs;
#endif
};

static const char *create_error = "";

#ifdef TIME_OUT_NS
/* A watchdog, as engines have one: it reads a clock that is not netreel's, so that an hour in a
 * debugger counts. */
static int32_t watchdog(struct made *made)
{
    uint64_t now = system_now_ns();
    int32_t late = made->last_tick_ns != 0 && now - made->last_tick_ns >= TIME_OUT_NS;
    made->last_tick_ns = now;
    if (!made->time_outs || !late)
        return NETREEL_OK;
    made->error = "the loop stood still for too long";
    return NETREEL_E_LIMIT;
}

static int32_t time_outs(void *layer, int32_t on)
{
    ((struct made *)layer)->time_outs = on;
    return NETREEL_OK;
}
#endif

static int32_t create(const netreel_layer_start *start, const netreel_world *world, void **made_out)
{
    struct made *made;
    (void)world;
    if (start->start_length != sizeof made->layer) {
        create_error = "the start conditions are not those of udp.c";
        return NETREEL_E_ARGUMENT;
    }
    made = calloc(1, sizeof *made);
    if (!made) {
        create_error = "no memory";
        return NETREEL_E_LIMIT;
    }
    memcpy(&made->layer, start->start, sizeof made->layer);
#ifdef STEP
    made->layer.step = STEP;
#endif
    made->sockets = start->sockets_count;
    made->error = "";
#ifdef TIME_OUT_NS
    made->time_outs = 1;
#endif
    *made_out = made;
    return NETREEL_OK;
}

static int32_t tick(void *layer, const netreel_world *world, uint64_t number, uint64_t time)
{
    struct made *made = layer;
    struct packet in, out;
    netreel_packet came;
    uint64_t now, drawn;
    uint32_t socket;
    (void)number;
    (void)time;
#ifdef TIME_OUT_NS
    if (watchdog(made) < NETREEL_OK)
        return NETREEL_E_LIMIT;
#endif
    world->clock(world->world, &now);
    for (socket = 0; socket < made->sockets; ++socket) {
        came.size = sizeof came;
        while (world->receive(world->world, socket, &in, sizeof in, &came) == NETREEL_OK &&
               came.kind == NETREEL_RECEIVED) {
            if (came.length != sizeof in)
                continue;
            made->layer.peer = came.from;
            made->socket = socket;
            if (ntohl(in.sequence) > made->layer.ack)
                made->layer.ack = ntohl(in.sequence);
        }
    }
    if (made->layer.peer.port == 0)
        return NETREEL_OK;
    out.sequence = htonl(++made->layer.sequence);
    out.ack = htonl(made->layer.ack);
    out.milliseconds = htonl((uint32_t)(now / 1000000u));
    world->random(world->world, &drawn);
    out.nonce = htonl((uint32_t)drawn);
    out.position = (int32_t)htonl((uint32_t)made->layer.position);
    world->send(world->world, made->socket, &made->layer.peer, &out, sizeof out, NULL);
    return NETREEL_OK;
}

static int32_t input(void *layer, const netreel_world *world, const void *call, uint64_t length)
{
    struct made *made = layer;
    (void)world;
    if (length != 1) {
        made->error = "a call of udp.c has one byte";
        return NETREEL_E_ARGUMENT;
    }
    made->layer.position += *(const int8_t *)call * made->layer.step;
    return NETREEL_OK;
}

static void destroy(void *layer)
{
    free(layer);
}

static const char *error(void *layer)
{
    return layer ? ((struct made *)layer)->error : create_error;
}

#ifdef STATES
/* All that its further doing follows from; zeros where the compiler pads. */
struct state {
    struct layer layer;
    uint32_t socket;
};

static int32_t save(void *layer, void *state, uint64_t capacity, uint64_t *length_out)
{
    const struct made *made = layer;
    struct state kept;
    memset(&kept, 0, sizeof kept);
    kept.layer = made->layer;
    kept.socket = made->socket;
    *length_out = sizeof kept;
    if (capacity >= sizeof kept)
        memcpy(state, &kept, sizeof kept);
    return NETREEL_OK;
}

static int32_t restore(void *layer, const netreel_world *world, const void *state, uint64_t length)
{
    struct made *made = layer;
    struct state kept;
    (void)world;
    if (length != sizeof kept) {
        made->error = "that is no state of udp.c";
        return NETREEL_E_ARGUMENT;
    }
    memcpy(&kept, state, sizeof kept);
    made->layer = kept.layer;
    made->socket = kept.socket;
    return NETREEL_OK;
}
#endif

#ifndef BUILD
#define BUILD NULL
#endif

const netreel_layer_api *netreel_layer(uint32_t version)
{
    static const netreel_layer_api api = {
        .size = sizeof api,
        .version = NETREEL_LAYER_VERSION,
        .name = "udp example",
        .create = create,
        .tick = tick,
        .input = input,
        .destroy = destroy,
        .error = error,
        .build = BUILD,
#ifdef STATES
        .save = save,
        .restore = restore,
#endif
#ifdef TIME_OUT_NS
        .time_outs = time_outs,
#endif
    };
    return version == NETREEL_LAYER_VERSION ? &api : NULL;
}
