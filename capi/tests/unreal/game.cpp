/*
 * The plugin in an engine that is not one: its sockets are those of this machine, its frames come from
 * `main`. `game LIBRARY REEL REEL REEL`: the first is begun by the command line, the second by the console, the
 * third by the game.
 */
#include "Netreel.h"
#include "engine.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <iostream>

// ---- The engine's core ----

std::string Utf8Of(const TCHAR *text)
{
    std::string out;
    for (; *text; ++text)
        out += static_cast<char>(*text < 0x80 ? *text : u'?');
    return out;
}
std::u16string Utf16Of(const char *text) { return std::u16string(text, text + std::strlen(text)); }

FString FString::Printf(const TCHAR *format, ...)
{
    std::va_list all;
    va_start(all, format);
    std::u16string out;
    for (; *format; ++format) {
        if (*format != u'%') {
            out += *format;
        } else if (*++format == u's') {
            out += va_arg(all, const TCHAR *);
        } else {
            out += Utf16Of(std::to_string(va_arg(all, unsigned)).c_str());
        }
    }
    va_end(all);
    return out.c_str();
}

static std::string library, command_line;
static std::map<std::string, ConsoleFunction> &console()
{
    static std::map<std::string, ConsoleFunction> all;
    return all;
}

void Logged(const char *verbosity, const FString &line)
{
    std::cout << verbosity << ": " << Utf8Of(*line) << std::endl;
}
void *FPlatformProcess::GetDllHandle(const TCHAR *path)
{
    // Beside the plugin there is none: then where the system looks.
    return Utf8Of(path) == "libnetreel.so" ? dlopen(library.c_str(), RTLD_NOW) : nullptr;
}
void *FPlatformProcess::GetDllExport(void *of, const TCHAR *name)
{
    return dlsym(of, Utf8Of(name).c_str());
}
FString FPaths::Combine(const FString &a, const TCHAR *b, const TCHAR *c)
{
    return FString::Printf(TEXT("%s/%s/%s"), *a, b, c);
}
class Plugin : public IPlugin {
    const FString &GetBaseDir() const override { return base_; }
    FString base_ = TEXT("/Plugins/Netreel");
};
IPluginManager &IPluginManager::Get()
{
    static IPluginManager all;
    return all;
}
TSharedPtr<IPlugin> IPluginManager::FindPlugin(const FString &)
{
    return TSharedRef<IPlugin>(new Plugin);
}
const TCHAR *FApp::GetBuildVersion() { return TEXT("5.4-test"); }
const TCHAR *FApp::GetProjectName() { return TEXT("Shooter"); }
double FApp::GetCurrentTime() { return static_cast<double>(GFrameCounter) / 60; }
const TCHAR *FCommandLine::Get()
{
    static std::u16string line;
    line = Utf16Of(command_line.c_str());
    return line.c_str();
}
bool FParse::Value(const TCHAR *line, const TCHAR *key, FString &value)
{
    const std::string all = Utf8Of(line), of = Utf8Of(key);
    const auto at = all.find(of);
    if (at == std::string::npos)
        return false;
    value = Utf16Of(all.substr(at + of.size()).c_str()).c_str();
    return true;
}
uint64 GFrameCounter = 0;
FSimpleMulticastDelegate FCoreDelegates::OnBeginFrame;
FDelegateHandle FSimpleMulticastDelegate::AddLambda(std::function<void()> one)
{
    all_.push_back(one);
    return {};
}
void FSimpleMulticastDelegate::Broadcast()
{
    for (auto &one : all_)
        one();
}
FAutoConsoleCommand::FAutoConsoleCommand(const TCHAR *name, const TCHAR *, const FConsoleCommandDelegate &run)
{
    console()[Utf8Of(name)] = run.run;
}
FAutoConsoleCommand::FAutoConsoleCommand(const TCHAR *name, const TCHAR *, const FConsoleCommandWithArgsDelegate &run)
{
    console()[Utf8Of(name)] = run.run;
}

// ---- The engine's sockets ----

const FName FNetworkProtocolTypes::IPv4(TEXT("IPv4")), FNetworkProtocolTypes::IPv6(TEXT("IPv6"));

ISocketSubsystem *FSocketSubsystemModule::GetSocketSubsystem(const FName name)
{
    return all_[name == FName() ? default_ : name];
}
void FSocketSubsystemModule::RegisterSocketSubsystem(const FName name, ISocketSubsystem *made, bool bMakeDefault)
{
    all_.insert({name, made}); // one that is there stays
    if (bMakeDefault)
        default_ = name;
}
void FSocketSubsystemModule::UnregisterSocketSubsystem(const FName name)
{
    all_.erase(name); // its name stays that of the default one
}
ISocketSubsystem *ISocketSubsystem::Get(const FName &name)
{
    return FModuleManager::LoadModuleChecked<FSocketSubsystemModule>("Sockets").GetSocketSubsystem(name);
}

/** An address that says of itself whether it is one of IPv4, or the same inside one of IPv6. */
class Address : public FInternetAddr {
public:
    bool mapped = false;
    uint32 ip = INADDR_LOOPBACK;
    int32 port = 0;
    void SetIp(uint32 of) override { ip = of; }
    void GetIp(uint32 &of) const override { of = ip; }
    void SetPort(int32 of) override { port = of; }
    int32 GetPort() const override { return port; }
    void SetRawIp(const TArray<uint8> &) override {}
    TArray<uint8> GetRawIp() const override
    {
        return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, uint8(ip >> 24), uint8(ip >> 16), uint8(ip >> 8), uint8(ip)};
    }
    FString ToString(bool) const override
    {
        return FString::Printf(TEXT("127.0.0.1:%u"), static_cast<unsigned>(port));
    }
    FName GetProtocolType() const override
    {
        return mapped ? FNetworkProtocolTypes::IPv6 : FNetworkProtocolTypes::IPv4;
    }
    sockaddr_in system() const
    {
        sockaddr_in of{};
        of.sin_family = AF_INET;
        of.sin_addr.s_addr = htonl(ip);
        of.sin_port = htons(static_cast<uint16>(port));
        return of;
    }
    void from(const sockaddr_in &of)
    {
        ip = ntohl(of.sin_addr.s_addr);
        port = ntohs(of.sin_port);
    }
};

class Socket : public FSocket {
public:
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    Socket(const FString &described, const FName &protocol) : FSocket(SOCKTYPE_Datagram, described, protocol) {}
    bool Shutdown(ESocketShutdownMode) override { return true; }
    bool Close() override { return fd < 0 || (::close(fd), fd = -1, true); }
    bool Bind(const FInternetAddr &at) override { return with(at, ::bind); }
    bool Connect(const FInternetAddr &at) override { return with(at, ::connect); }
    bool Listen(int32) override { return false; }
    bool WaitForPendingConnection(bool &, const FTimespan &) override { return false; }
    bool HasPendingData(uint32 &) override { return false; }
    FSocket *Accept(const FString &) override { return nullptr; }
    FSocket *Accept(FInternetAddr &, const FString &) override { return nullptr; }
    bool SendTo(const uint8 *data, int32 count, int32 &sent, const FInternetAddr &to) override
    {
        const sockaddr_in at = static_cast<const Address &>(to).system();
        sent = static_cast<int32>(sendto(fd, data, static_cast<std::size_t>(count), 0, reinterpret_cast<const sockaddr *>(&at), sizeof at));
        return sent >= 0;
    }
    bool Send(const uint8 *data, int32 count, int32 &sent) override
    {
        sent = static_cast<int32>(send(fd, data, static_cast<std::size_t>(count), 0));
        return sent >= 0;
    }
    bool RecvFrom(uint8 *data, int32 size, int32 &read, FInternetAddr &from, ESocketReceiveFlags::Type flags) override
    {
        sockaddr_in at{};
        socklen_t length = sizeof at;
        const int how = MSG_DONTWAIT | (flags & ESocketReceiveFlags::Peek ? MSG_PEEK : 0);
        read = static_cast<int32>(recvfrom(fd, data, static_cast<std::size_t>(size), how, reinterpret_cast<sockaddr *>(&at), &length));
        if (read >= 0)
            static_cast<Address &>(from).from(at);
        return read >= 0;
    }
    bool RecvFromWithPktInfo(uint8 *data, int32 size, int32 &read, FInternetAddr &from, FInternetAddr &, ESocketReceiveFlags::Type flags) override
    {
        return RecvFrom(data, size, read, from, flags);
    }
    bool Recv(uint8 *data, int32 size, int32 &read, ESocketReceiveFlags::Type) override
    {
        read = static_cast<int32>(recv(fd, data, static_cast<std::size_t>(size), MSG_DONTWAIT));
        return read >= 0;
    }
    bool Wait(ESocketWaitConditions::Type, FTimespan) override { return true; }
    ESocketConnectionState GetConnectionState() override { return SCS_Connected; }
    void GetAddress(FInternetAddr &at) override { named(at, getsockname); }
    bool GetPeerAddress(FInternetAddr &at) override { return named(at, getpeername); }
    bool SetNonBlocking(bool) override { return true; }
    bool SetBroadcast(bool) override { return true; }
    bool SetNoDelay(bool) override { return true; }
    bool JoinMulticastGroup(const FInternetAddr &) override { return true; }
    bool JoinMulticastGroup(const FInternetAddr &, const FInternetAddr &) override { return true; }
    bool LeaveMulticastGroup(const FInternetAddr &) override { return true; }
    bool LeaveMulticastGroup(const FInternetAddr &, const FInternetAddr &) override { return true; }
    bool SetMulticastLoopback(bool) override { return true; }
    bool SetMulticastTtl(uint8) override { return true; }
    bool SetMulticastInterface(const FInternetAddr &) override { return true; }
    bool SetReuseAddr(bool) override { return true; }
    bool SetLinger(bool, int32) override { return true; }
    bool SetRecvErr(bool) override { return true; }
    bool SetSendBufferSize(int32, int32 &) override { return true; }
    bool SetReceiveBufferSize(int32, int32 &) override { return true; }
    bool SetIpPktInfo(bool) override { return true; }
    bool SetRetrieveTimestamp(bool) override { return true; }
    int32 GetPortNo() override
    {
        Address at;
        GetAddress(at);
        return at.port;
    }

private:
    template <class F> bool with(const FInternetAddr &of, F call)
    {
        const sockaddr_in at = static_cast<const Address &>(of).system();
        return call(fd, reinterpret_cast<const sockaddr *>(&at), sizeof at) == 0;
    }
    template <class F> bool named(FInternetAddr &of, F call)
    {
        sockaddr_in at{};
        socklen_t length = sizeof at;
        const bool came = call(fd, reinterpret_cast<sockaddr *>(&at), &length) == 0;
        static_cast<Address &>(of).from(at);
        return came;
    }
};

class Fake : public ISocketSubsystem {
public:
    int open = 0;
    bool Init(FString &) override { return true; }
    void Shutdown() override {}
    FSocket *CreateSocket(const FName &type, const FString &described, bool) override
    {
        return CreateSocket(type, described, FNetworkProtocolTypes::IPv4);
    }
    FSocket *CreateSocket(const FName &, const FString &described, const FName &protocol) override
    {
        ++open;
        return new Socket(described, protocol);
    }
    FResolveInfoCached *CreateResolveInfoCached(TSharedPtr<FInternetAddr>) const override { return nullptr; }
    void DestroySocket(FSocket *of) override
    {
        --open;
        delete of;
    }
    FAddressInfoResult GetAddressInfo(const TCHAR *a, const TCHAR *b, EAddressInfoFlags, const FName, ESocketType) override { return {a, b}; }
    void GetAddressInfoAsync(FAsyncGetAddressInfoCallback, const TCHAR *, const TCHAR *, EAddressInfoFlags, const FName, ESocketType) override {}
    TSharedPtr<FInternetAddr> GetAddressFromString(const FString &) override { return CreateInternetAddr(); }
    FResolveInfo *GetHostByName(const ANSICHAR *) override { return nullptr; }
    bool RequiresChatDataBeSeparate() override { return false; }
    bool RequiresEncryptedPackets() override { return false; }
    bool GetHostName(FString &) override { return false; }
    TSharedRef<FInternetAddr> CreateInternetAddr() override { return TSharedRef<FInternetAddr>(new Address); }
    TSharedRef<FInternetAddr> CreateInternetAddr(const FName) override { return CreateInternetAddr(); }
    TSharedRef<FInternetAddr> GetLocalBindAddr(FOutputDevice &) override { return CreateInternetAddr(); }
    TArray<TSharedRef<FInternetAddr>> GetLocalBindAddresses() override { return {CreateInternetAddr()}; }
    bool GetLocalAdapterAddresses(TArray<TSharedPtr<FInternetAddr>> &) override { return false; }
    TSharedRef<FInternetAddr> GetLocalHostAddr(FOutputDevice &, bool &) override { return CreateInternetAddr(); }
    bool GetMultihomeAddress(TSharedRef<FInternetAddr> &) override { return false; }
    bool HasNetworkDevice() override { return true; }
    const TCHAR *GetSocketAPIName() const override { return TEXT("fake"); }
    ESocketErrors GetLastErrorCode() override { return TranslateErrorCode(errno); }
    ESocketErrors TranslateErrorCode(int32 code) override
    {
        return code == EAGAIN ? SE_EWOULDBLOCK : code == 90 ? SE_EMSGSIZE : SE_EINVAL;
    }
    bool IsSocketWaitSupported() const override { return true; }
    double TranslatePacketTimestamp(const FPacketTimestamp &, ETimestampTranslation) override { return 0; }
    bool IsRecvFromWithPktInfoSupported() const override { return true; }
};

// ---- The game ----

static int wrong = 0;
static void check(bool so, const char *what)
{
    if (!so) {
        std::cout << "not so: " << what << std::endl;
        ++wrong;
    }
}

/** A server and a client, whose packets go to and fro for so many frames. */
static void play(FSocket &server, FSocket &client, int frames)
{
    Address to, from;
    to.port = server.GetPortNo();
    from.mapped = true;
    uint8 buffer[2000];
    int32 count = 0;
    for (int frame = 0; frame < frames; ++frame) {
        ++GFrameCounter;
        FCoreDelegates::OnBeginFrame.Broadcast();
        const uint8 ping[] = {1, 2, 3, uint8(frame)};
        check(client.SendTo(ping, sizeof ping, count, to) && count == 4, "a ping is sent");
        while (!server.RecvFrom(buffer, sizeof buffer, count, from, ESocketReceiveFlags::Peek))
            check(ISocketSubsystem::Get()->GetLastErrorCode() == SE_EWOULDBLOCK, "the last error is the platform's");
        check(server.RecvFrom(buffer, sizeof buffer, count, from) && count == 4, "it comes");
        check(!server.RecvFrom(buffer, sizeof buffer, count, from), "once");
        check(ISocketSubsystem::Get()->GetLastErrorCode() == SE_EWOULDBLOCK, "and then there is none");
        check(server.SendTo(buffer, 2, count, from), "it is answered");
    }
    static const uint8 large[70000] = {};
    check(!client.SendTo(large, sizeof large, count, to), "no datagram is that large");
    check(ISocketSubsystem::Get()->GetLastErrorCode() == SE_EMSGSIZE, "and the game hears why");
}

/** More threads at once than a reel has. */
static void say_in_threads(int count)
{
    std::atomic<int> said{0};
    std::vector<std::thread> all;
    for (int one = 0; one < count; ++one)
        all.emplace_back([&] {
            FNetreel::Note(TEXT("of a thread"));
            for (++said; said < count;)
                std::this_thread::yield();
        });
    for (std::thread &one : all)
        one.join();
}

/** More sockets, one after another, than a reel has numbers for. */
static void open_too_many(ISocketSubsystem &all, const TCHAR *reel)
{
    check(FNetreel::Start(reel), "the game begins a reel");
    Address any, from;
    int32 count = 0;
    uint8 buffer[8];
    auto open = [&] {
        FSocket *made = all.CreateSocket("DGram", TEXT("one of many"), FNetworkProtocolTypes::IPv4);
        check(made->Bind(any), "it is bound");
        return made;
    };
    FSocket *first = open();
    first->RecvFrom(buffer, sizeof buffer, count, from);
    for (int opened = 1; opened < 65536; ++opened) {
        FSocket *made = open();
        made->RecvFrom(buffer, sizeof buffer, count, from);
        all.DestroySocket(made);
    }
    Address to;
    to.port = first->GetPortNo();
    FSocket *last = open();
    check(last->SendTo(buffer, 3, count, to) && count == 3, "a socket without a number sends");
    all.DestroySocket(last);
    all.DestroySocket(first);
    check(FNetreel::Stop(), "and the reel ends");
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    library = argv[1];
    command_line = std::string("-game -netreel=") + argv[2];
    Fake fake;
    auto &sockets = FModuleManager::LoadModuleChecked<FSocketSubsystemModule>("Sockets");
    sockets.RegisterSocketSubsystem("FAKE", &fake, true);
    FSocket *before = ISocketSubsystem::Get()->CreateSocket("DGram", TEXT("older"), FNetworkProtocolTypes::IPv4);

    auto module = MakeNetreelModule();
    module->StartupModule();
    check(FNetreel::IsRecording(), "the command line begins a reel");
    ISocketSubsystem *all = ISocketSubsystem::Get();
    check(all != &fake, "the plugin's subsystem is the default one");
    FSocket *server = all->CreateSocket("DGram", TEXT("GameNetDriver"), FNetworkProtocolTypes::IPv4);
    FSocket *client = all->CreateSocket("DGram", TEXT("PendingNetDriver"), false);
    Address any;
    check(server->Bind(any) && client->Bind(any), "sockets are bound");
    play(*server, *client, 50);

    FNetreel::NameConnection(any, TEXT("nobody"));
    FNetreel::ObjectCreated(42, 3);
    const double place[] = {1, 2, 3};
    FNetreel::ObjectValue(42, "position", place, 3);
    FNetreel::ObjectText(42, "name", TEXT("Bob"));
    FNetreel::ObjectOwner(42, 4);
    FNetreel::ObjectDestroyed(42);
    FNetreel::Input("go", 2);
    FNetreel::Snapshot("all", 3);
    // A net driver with a thread of its own, at a connected socket.
    Address to;
    to.port = server->GetPortNo();
    check(client->Connect(to), "it connects");
    std::thread([&] {
        int32 sent = 0;
        client->Send(reinterpret_cast<const uint8 *>("hey"), 3, sent);
    }).join();
    int32 count = 0;
    uint8 heard[8];
    while (!server->RecvFrom(heard, sizeof heard, count, any, ESocketReceiveFlags::Peek)) {
    }
    check(server->RecvFrom(heard, sizeof heard, count, any) && count == 3, "what a thread sent comes");
    // Its older answers are still there.
    check(client->Recv(heard, sizeof heard, count) && count == 2, "a connected socket hears");
    console()["netreel.Stop"]({});
    check(!FNetreel::IsRecording(), "the console ends it");
    play(*server, *client, 1); // goes into no reel

    console()["netreel.Start"]({Utf16Of(argv[3]).c_str()});
    FString why;
    check(!FNetreel::Start(TEXT("other.reel"), &why), "one at a time");
    play(*server, *client, 3);
    say_in_threads(300);
    all->DestroySocket(server);
    all->DestroySocket(client);
    console()["netreel.Stop"]({});
    open_too_many(*all, Utf16Of(argv[4]).c_str());
    all->DestroySocket(before);
    check(fake.open == 0, "all sockets are destroyed");
    module->ShutdownModule();
    check(!FNetreel::IsRecording() && ISocketSubsystem::Get() == &fake, "a module that ends leaves nothing");
    return wrong == 0 ? 0 : 1;
}
