/*
 * storm REEL THREADS: records packets without end. After each call that returned, a thread writes
 * its number and its count to standard output, so that whoever kills the program knows what the
 * reel must hold.
 */
#define _POSIX_C_SOURCE 200809L
#include <netreel.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

static netreel_api net;
static netreel_recorder *recorder;

static void *storm(void *argument)
{
    unsigned char id = *(unsigned char *)argument;
    unsigned char payload[300], line[9];
    netreel_thread *thread;
    netreel_endpoint to;
    uint32_t socket;
    uint64_t count;
    memset(&to, 0, sizeof to);
    to.family = 4;
    to.port = 7000;
    if (net.thread_open(recorder, &thread) != NETREEL_OK ||
        net.socket_opened(thread, &to, &socket) != NETREEL_OK)
        exit(3);
    for (count = 1;; ++count) {
        memset(payload, id, sizeof payload);
        memcpy(payload, &count, 8);
        if (net.packet_sent(thread, socket, &to, payload, 8 + count * 37 % 292, NULL) != NETREEL_OK)
            exit(4);
        line[0] = id;
        memcpy(line + 1, &count, 8);
        if (write(1, line, sizeof line) != (ssize_t)sizeof line)
            exit(5);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static unsigned char ids[16];
    pthread_t handle;
    netreel_options options;
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    int id;
#ifdef _WIN32
    _setmode(1, _O_BINARY);
#endif
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.path = argv[1];
    if (netreel_load(&net, sizeof net, NETREEL_API_VERSION) != NETREEL_OK ||
        net.open(&options, &recorder) != NETREEL_OK)
        return 2;
    for (id = 0; id < threads && id < 16; ++id) {
        ids[id] = (unsigned char)id;
        if (pthread_create(&handle, NULL, storm, &ids[id]) != 0)
            return 6;
    }
    pthread_join(handle, NULL);
    return 0;
}
