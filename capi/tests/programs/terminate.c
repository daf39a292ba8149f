/*
 * terminate MICROSECONDS COMMAND...: starts a program for Windows, waits until it prints something
 * and then so long, ends it by TerminateProcess, and prints what it has printed.
 */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

static HANDLE from;

/* Empties the pipe, which is full soon, and keeps what comes; the end of the pipe ends it. */
static DWORD WINAPI pass_on(LPVOID first)
{
    static char bytes[1 << 16];
    DWORD length;
    while (ReadFile(from, bytes, sizeof bytes, &length, NULL) && length > 0) {
        fwrite(bytes, 1, length, stdout);
        SetEvent((HANDLE)first);
    }
    return 0;
}

int main(int argc, char **argv)
{
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    STARTUPINFOA start = {.cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION made;
    HANDLE to, reader, first = CreateEventA(NULL, TRUE, FALSE, NULL);
    LARGE_INTEGER now, until, frequency;
    char command[4096] = "";
    int word;
    if (argc < 3)
        return 2;
    for (word = 2; word < argc; ++word)
        snprintf(command + strlen(command), sizeof command - strlen(command), "\"%s\" ", argv[word]);
    _setmode(1, _O_BINARY);
    if (!CreatePipe(&from, &to, &inherited, 1 << 16) ||
        !SetHandleInformation(from, HANDLE_FLAG_INHERIT, 0))
        return 3;
    start.hStdOutput = to;
    start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    if (!CreateProcessA(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &start, &made))
        return 4;
    CloseHandle(to);
    reader = CreateThread(NULL, 0, pass_on, first, 0, NULL);
    if (WaitForSingleObject(first, 60000) != WAIT_OBJECT_0)
        return 5;
    /* Sleep counts milliseconds. */
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&until);
    until.QuadPart += frequency.QuadPart * atoi(argv[1]) / 1000000;
    do {
        Sleep(0);
        QueryPerformanceCounter(&now);
    } while (now.QuadPart < until.QuadPart);
    if (!TerminateProcess(made.hProcess, 137))
        return 6;
    WaitForSingleObject(made.hProcess, INFINITE);
    WaitForSingleObject(reader, INFINITE);
    return 0;
}
