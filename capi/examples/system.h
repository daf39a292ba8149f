/*
 * What the examples ask of the operating system: sockets, the monotonic clock, a pause. POSIX and
 * Windows.
 */
#ifndef NETREEL_EXAMPLES_SYSTEM_H
#define NETREEL_EXAMPLES_SYSTEM_H

#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>

typedef SOCKET system_socket;
#define SYSTEM_NO_SOCKET INVALID_SOCKET
#define SYSTEM_NO_PACKET WSAEWOULDBLOCK /* what a receive fails with that finds none */

static inline int system_error(void) { return WSAGetLastError(); }
static inline unsigned system_process(void) { return (unsigned)GetCurrentProcessId(); }
static inline void system_sleep_ms(unsigned ms) { Sleep(ms); }
static inline void system_close(system_socket of) { closesocket(of); }

static inline uint64_t system_now_ns(void)
{
    LARGE_INTEGER now, frequency;
    uint64_t each;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&frequency);
    each = (uint64_t)frequency.QuadPart;
    return (uint64_t)now.QuadPart / each * 1000000000u + (uint64_t)now.QuadPart % each * 1000000000u / each;
}

static inline void system_do_not_wait(system_socket of)
{
    u_long on = 1;
    ioctlsocket(of, FIONBIO, &on);
}
#else
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef int system_socket;
#define SYSTEM_NO_SOCKET (-1)
#define SYSTEM_NO_PACKET EAGAIN

static inline int system_error(void) { return errno; }
static inline unsigned system_process(void) { return (unsigned)getpid(); }
static inline void system_close(system_socket of) { close(of); }

static inline void system_sleep_ms(unsigned ms)
{
    struct timespec pause;
    pause.tv_sec = (time_t)(ms / 1000);
    pause.tv_nsec = (long)(ms % 1000) * 1000000;
    nanosleep(&pause, NULL);
}

static inline uint64_t system_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void system_do_not_wait(system_socket of)
{
    fcntl(of, F_SETFL, fcntl(of, F_GETFL) | O_NONBLOCK);
}
#endif

/* A UDP socket on 127.0.0.1, and its address; SYSTEM_NO_SOCKET if there is none. */
static inline system_socket system_open(struct sockaddr_in *own)
{
    socklen_t size = sizeof *own;
    system_socket made;
#ifdef _WIN32
    WSADATA data;
    if (WSAStartup(MAKEWORD(2, 2), &data) != 0)
        return SYSTEM_NO_SOCKET;
#endif
    memset(own, 0, sizeof *own);
    own->sin_family = AF_INET;
    own->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    made = socket(AF_INET, SOCK_DGRAM, 0);
    if (made == SYSTEM_NO_SOCKET || bind(made, (struct sockaddr *)own, size) != 0 ||
        getsockname(made, (struct sockaddr *)own, &size) != 0)
        return SYSTEM_NO_SOCKET;
    return made;
}

static inline long system_send(system_socket from, const struct sockaddr_in *to, const void *bytes,
                               size_t length)
{
    const struct sockaddr *address = (const struct sockaddr *)to;
#ifdef _WIN32
    return sendto(from, (const char *)bytes, (int)length, 0, address, sizeof *to);
#else
    return (long)sendto(from, bytes, length, 0, address, sizeof *to);
#endif
}

static inline long system_receive(system_socket at, struct sockaddr_in *from, void *buffer, size_t room)
{
    socklen_t size = sizeof *from;
#ifdef _WIN32
    return recvfrom(at, (char *)buffer, (int)room, 0, (struct sockaddr *)from, &size);
#else
    return (long)recvfrom(at, buffer, room, 0, (struct sockaddr *)from, &size);
#endif
}

/* Waits for a packet, at most for so long. */
static inline void system_wait(system_socket at, int seconds)
{
    struct timeval most;
    fd_set waited;
    most.tv_sec = seconds;
    most.tv_usec = 0;
    FD_ZERO(&waited);
    FD_SET(at, &waited);
    select((int)at + 1, &waited, NULL, NULL, &most);
}

#endif
