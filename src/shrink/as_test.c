/*
 * Made by `netreel shrink`: {sentence}
 *
 * All nodes of a small session, live, over the network that it had: the plugin's layers are given the
 * recorded ticks and calls, and what one of them sends comes to the others when it came in the recording.
 * Behind the end they tick on, and every way brings what is sent. It needs netreel_layer.h and netreel.h
 * alone:
 *
 *     cc -I INCLUDE race.c -ldl -o race && ./race ./my_layer.so
 *     cc -I INCLUDE -DLINKED race.c my_layer.c -o race && ./race
 *
 * It returns 0 where all nodes believe the same at the end, 1 where they part, where a layer notes
 * "broken: ..." or fails, and 2 where nothing can be said: the layer has no function `beliefs`.
 */
#include <netreel_layer.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef LINKED
#include <dlfcn.h>
#endif

enum does { START, TICK, CALL };

struct node {
    const char *name, *engine, *build;
    const uint8_t *start;
    uint64_t start_length;
    const netreel_endpoint *sockets;
    uint32_t sockets_count;
    const uint64_t *randoms;
    uint64_t randoms_count;
};

/* `bytes` of a call, and `clocks`, what the clock says, are places in BYTES and CLOCKS. */
struct turn {
    uint32_t node, turn;
    int64_t at_ns;
    enum does does;
    uint64_t tick, time;
    uint32_t bytes, length, clocks, clocks_count;
};

/* `arrivals` is a place in ARRIVALS. */
struct packet {
    uint32_t node, turn, socket, nth;
    netreel_endpoint to;
    uint32_t arrivals, arrivals_count;
};

struct arrival {
    uint32_t node, turn;
    int64_t ns;
    uint32_t socket;
    netreel_endpoint source;
};

/* What a way does to packets that the recording does not have. */
struct way {
    uint32_t node, socket;
    netreel_endpoint to;
    int64_t from_ns, delay_ns;
    uint32_t receiver, socket_there;
    netreel_endpoint source;
};

{data}

#define COUNT(of) (sizeof(of) / sizeof *(of))
#define NODES_COUNT COUNT(NODES)

/* A packet that is under way. */
struct item {
    struct item *next;
    struct arrival at;
    uint64_t number, length;
    uint8_t bytes[];
};

struct sent {
    uint32_t socket, count;
    netreel_endpoint to;
};

static struct live {
    void *layer;
    struct item *inbox; /* by turn, time and number */
    struct sent sends[256]; /* of this turn, by way */
    size_t sends_count;
    uint64_t randoms, clocks, drawn;
} live[NODES_COUNT];

static const struct turn *now;
static uint64_t packets_sent;
static int wrong;

static int is_same(const netreel_endpoint *a, const netreel_endpoint *b)
{
    return a->family == b->family && a->port == b->port && a->scope == b->scope &&
           memcmp(a->address, b->address, sizeof a->address) == 0;
}

static int is_before(const struct item *a, const struct item *b)
{
    if (a->at.turn != b->at.turn)
        return a->at.turn < b->at.turn;
    if (a->at.ns != b->at.ns)
        return a->at.ns < b->at.ns;
    return a->number < b->number;
}

static void put(const struct arrival *at, const void *bytes, uint64_t length)
{
    struct item *item = malloc(sizeof *item + length), **place = &live[at->node].inbox;
    if (item == NULL)
        abort();
    item->at = *at;
    item->number = ++packets_sent;
    item->length = length;
    memcpy(item->bytes, bytes, length);
    while (*place != NULL && is_before(*place, item))
        place = &(*place)->next;
    item->next = *place;
    *place = item;
}

/* The first turn of a node that is not before a time; 0: there is none. */
static int turn_at(uint32_t node, int64_t ns, uint32_t *turn)
{
    for (size_t place = 0; place < COUNT(TURNS); place++) {
        if (TURNS[place].node == node && TURNS[place].at_ns >= ns) {
            *turn = TURNS[place].turn;
            return 1;
        }
    }
    return 0;
}

static uint32_t nth_of(struct live *of, uint32_t socket, const netreel_endpoint *to)
{
    for (size_t place = 0; place < of->sends_count; place++) {
        struct sent *sent = &of->sends[place];
        if (sent->socket == socket && is_same(&sent->to, to))
            return sent->count++;
    }
    if (of->sends_count == COUNT(of->sends)) {
        fprintf(stderr, "a layer sends by more than %zu ways in a turn: enlarge `sends`\n", COUNT(of->sends));
        exit(2);
    }
    of->sends[of->sends_count++] = (struct sent){socket, 1, *to};
    return 0;
}

static int32_t world_send(void *world, uint32_t socket, const netreel_endpoint *to, const void *bytes,
                          uint64_t length, int64_t *result)
{
    struct live *of = world;
    uint32_t node = (uint32_t)(of - live), nth = nth_of(of, socket, to);
    if (result != NULL)
        *result = (int64_t)length;
    for (size_t place = 0; place < COUNT(PACKETS); place++) {
        const struct packet *it = &PACKETS[place];
        if (it->node != node || it->turn != now->turn || it->socket != socket || it->nth != nth ||
            !is_same(&it->to, to))
            continue;
        for (uint32_t arrival = 0; arrival < it->arrivals_count; arrival++)
            put(&ARRIVALS[it->arrivals + arrival], bytes, length);
        return NETREEL_OK;
    }
    for (size_t place = 0; place < COUNT(WAYS); place++) {
        const struct way *way = &WAYS[place];
        struct arrival at = {way->receiver, 0, now->at_ns + way->delay_ns, way->socket_there, way->source};
        if (way->node == node && way->socket == socket && is_same(&way->to, to) &&
            now->at_ns >= way->from_ns && turn_at(at.node, at.ns, &at.turn))
            put(&at, bytes, length);
    }
    return NETREEL_OK;
}

static int32_t world_receive(void *world, uint32_t socket, void *buffer, uint64_t capacity,
                             netreel_packet *packet)
{
    struct live *of = world;
    struct item **place = &of->inbox, *item;
    while (*place != NULL && (*place)->at.turn <= now->turn && (*place)->at.socket != socket)
        place = &(*place)->next;
    item = *place;
    packet->kind = NETREEL_EMPTY;
    packet->length = 0;
    if (item == NULL || item->at.turn > now->turn)
        return NETREEL_OK;
    *place = item->next;
    packet->kind = NETREEL_RECEIVED;
    packet->length = item->length < capacity ? item->length : capacity;
    packet->from = item->at.source;
    memcpy(buffer, item->bytes, packet->length);
    free(item);
    return NETREEL_OK;
}

static int32_t world_clock(void *world, uint64_t *value)
{
    struct live *of = world;
    uint64_t last = now->clocks_count - 1;
    *value = CLOCKS[now->clocks + (of->clocks < last ? of->clocks : last)];
    of->clocks++;
    return NETREEL_OK;
}

static int32_t world_random(void *world, uint64_t *value)
{
    struct live *of = world;
    const struct node *node = &NODES[of - live];
    if (of->randoms < node->randoms_count) {
        *value = node->randoms[of->randoms++];
        return NETREEL_OK;
    }
    /* splitmix64 (Steele, Lea, Flood 2014) */
    uint64_t bits = (of->drawn += 0x9e3779b97f4a7c15u) + (uint64_t)(of - live);
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    *value = bits ^ (bits >> 31);
    return NETREEL_OK;
}

static int32_t world_note(void *world, const char *text, uint64_t length)
{
    struct live *of = world;
    if (length >= 7 && memcmp(text, "broken:", 7) == 0) {
        printf("%s: %.*s\n", NODES[of - live].name, (int)length, text);
        wrong = 1;
    }
    return NETREEL_OK;
}

static int32_t world_believes(void *world, const char *words, uint64_t length)
{
    (void)world, (void)words, (void)length;
    return NETREEL_OK;
}

/* Frees all that is left: a sanitizer has nothing to say of the test itself. */
static void end(const netreel_layer_api *api)
{
    for (size_t node = 0; node < NODES_COUNT; node++) {
        for (struct item *item = live[node].inbox, *next; item != NULL; item = next) {
            next = item->next;
            free(item);
        }
        if (live[node].layer != NULL && api->destroy != NULL)
            api->destroy(live[node].layer);
    }
}

static void failed(const netreel_layer_api *api, uint32_t node, const char *what)
{
    const char *why = api->error == NULL ? NULL : api->error(live[node].layer);
    printf("%s: %s fails: %s\n", NODES[node].name, what, why == NULL ? "" : why);
    exit(1);
}

static void play(const netreel_layer_api *api, const netreel_world *worlds)
{
    for (size_t place = 0; place < COUNT(TURNS); place++) {
        uint32_t node = TURNS[place].node;
        struct live *of = &live[node];
        const netreel_world *world = &worlds[node];
        now = &TURNS[place];
        of->clocks = of->sends_count = 0;
        if (of->layer == NULL) {
            const struct node *it = &NODES[node];
            netreel_layer_start start = {sizeof start, it->sockets_count, it->sockets, it->name,
                                         it->engine, it->build, it->start, it->start_length};
            if (api->create(&start, world, &of->layer) < NETREEL_OK)
                failed(api, node, "create");
        }
        if (now->does == TICK && api->tick(of->layer, world, now->tick, now->time) < NETREEL_OK)
            failed(api, node, "a tick");
        /* A call that a layer refuses is not made. */
        if (now->does == CALL)
            (void)api->input(of->layer, world, BYTES + now->bytes, now->length);
    }
}

/* What a node believes of an object; NULL: that it does not live. */
static const netreel_belief *belief(const netreel_belief *all, uint64_t count, uint64_t object)
{
    for (uint64_t place = 0; place < count; place++)
        if (all[place].object == object)
            return &all[place];
    return NULL;
}

/* Tells where two nodes part of what the first believes in. */
static void compare(uint32_t one, uint32_t other, netreel_belief *const *all, const uint64_t *counts)
{
    for (uint64_t place = 0; place < counts[one]; place++) {
        const netreel_belief *it = &all[one][place];
        const netreel_belief *there = belief(all[other], counts[other], it->object);
        const char *what = there == NULL                  ? "lives"
                           : there->owner != it->owner   ? "has this owner"
                           : there->values != it->values ? "has these values"
                                                         : NULL;
        if (what == NULL)
            continue;
        printf("%s believes that object %llu %s, and %s does not\n", NODES[one].name,
               (unsigned long long)it->object, what, NODES[other].name);
        wrong = 1;
    }
}

static void unsaid(uint32_t node)
{
    fprintf(stderr, "the layer of %s does not say what it believes\n", NODES[node].name);
    exit(2);
}

static void agree(const netreel_layer_api *api)
{
    netreel_belief *all[NODES_COUNT];
    uint64_t counts[NODES_COUNT];
    for (uint32_t node = 0; node < NODES_COUNT; node++) {
        counts[node] = 0;
        if (api->beliefs(live[node].layer, NULL, 0, &counts[node]) < NETREEL_OK)
            unsaid(node);
        all[node] = calloc(counts[node] + 1, sizeof **all);
        if (all[node] == NULL || api->beliefs(live[node].layer, all[node], counts[node], &counts[node]) < NETREEL_OK)
            unsaid(node);
    }
    for (uint32_t one = 0; one < NODES_COUNT; one++)
        for (uint32_t other = 0; other < NODES_COUNT; other++)
            if (one != other)
                compare(one, other, all, counts);
    for (uint32_t node = 0; node < NODES_COUNT; node++)
        free(all[node]);
}

int main(int count, char **arguments)
{
    const netreel_layer_api *(*ask)(uint32_t) = NULL;
#ifdef LINKED
    (void)count, (void)arguments;
    ask = netreel_layer;
#else
    void *plugin = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    void *found = plugin == NULL ? NULL : dlsym(plugin, "netreel_layer");
    memcpy(&ask, &found, sizeof ask);
#endif
    const netreel_layer_api *api = ask == NULL ? NULL : ask(NETREEL_LAYER_VERSION);
    if (api == NULL) {
        fprintf(stderr, "name the plugin of the engine: ./race ./my_layer.so\n");
        return 2;
    }
    size_t until = offsetof(netreel_layer_api, beliefs) + sizeof api->beliefs;
    if (api->size < until || api->beliefs == NULL) {
        fprintf(stderr, "the layer has no function beliefs (netreel_layer.h)\n");
        return 2;
    }
    netreel_world worlds[NODES_COUNT];
    for (size_t node = 0; node < NODES_COUNT; node++)
        worlds[node] = (netreel_world){sizeof *worlds, NETREEL_LAYER_VERSION, &live[node], world_receive,
                                       world_send, world_clock, world_random, world_note, world_believes};
    play(api, worlds);
    agree(api);
    end(api);
    printf(wrong ? "nodes do not agree\n" : "all nodes agree\n");
    return wrong;
}
