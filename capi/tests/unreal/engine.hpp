/*
 * Stand-ins for what samples/plugins/unreal uses of Unreal Engine 5: names and signatures as we read them in
 * the API documentation of UE 5.7 (https://ue.hyverover.com/classISocketSubsystem.html and what it leads to),
 * so that a compiler reads the plugin. Nothing here compares the two. No code of the engine.
 */
#pragma once

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

// As <cerrno> has them on Windows.
#undef EMSGSIZE
#define EMSGSIZE 115
#undef ECONNREFUSED
#define ECONNREFUSED 107

// ---- Core ----

using uint8 = std::uint8_t;
using uint16 = std::uint16_t;
using int32 = std::int32_t;
using uint32 = std::uint32_t;
using int64 = long long; // as on every platform of the engine
using uint64 = unsigned long long;
using ANSICHAR = char;
using TCHAR = char16_t;
#define TEXT(text) u##text
#define NETREEL_API
#define PLATFORM_WINDOWS 0

std::string Utf8Of(const TCHAR *text);
std::u16string Utf16Of(const char *text);
#define TCHAR_TO_UTF8(text) Utf8Of(text).c_str()
#define UTF8_TO_TCHAR(text) Utf16Of(text).c_str()

class FString {
public:
    FString() = default;
    FString(const TCHAR *text) : text_(text) {}
    const TCHAR *operator*() const { return text_.c_str(); }
    static FString Printf(const TCHAR *format, ...);

private:
    std::u16string text_;
};

enum EName { NAME_None };
class FName {
public:
    FName(EName = NAME_None) {}
    FName(const TCHAR *text) : text_(text) {}
    FName(const char *text) : text_(Utf16Of(text)) {}
    bool operator==(const FName &other) const { return text_ == other.text_; }
    bool operator<(const FName &other) const { return text_ < other.text_; }

private:
    std::u16string text_;
};

template <class T> class TArray {
public:
    TArray() = default;
    TArray(std::initializer_list<T> all) : all_(all) {}
    int32 Num() const { return static_cast<int32>(all_.size()); }
    const T *GetData() const { return all_.data(); }
    T *GetData() { return all_.data(); }
    const T &operator[](int32 at) const { return all_[static_cast<std::size_t>(at)]; }
    void Add(const T &one) { all_.push_back(one); }

private:
    std::vector<T> all_;
};

template <class T> class TSet {
public:
    void Add(const T &one) { all_.insert(one); }
    int32 Remove(const T &one) { return static_cast<int32>(all_.erase(one)); }

private:
    std::set<T> all_;
};

template <class T> class TSharedRef {
public:
    explicit TSharedRef(T *made) : held_(made) {}
    T &operator*() const { return *held_; }
    T *operator->() const { return held_.get(); }
    T &Get() const { return *held_; }

private:
    template <class> friend class TSharedPtr;
    std::shared_ptr<T> held_;
};

template <class T> class TSharedPtr {
public:
    TSharedPtr() = default;
    TSharedPtr(const TSharedRef<T> &of) : held_(of.held_) {}
    bool IsValid() const { return held_ != nullptr; }
    T *operator->() const { return held_.get(); }

private:
    std::shared_ptr<T> held_;
};

template <class T> class TUniquePtr {
public:
    TUniquePtr() = default;
    explicit TUniquePtr(T *made) : held_(made) {}
    explicit operator bool() const { return held_ != nullptr; }
    T *Get() const { return held_.get(); }
    T *operator->() const { return held_.get(); }
    T *Release() { return held_.release(); }

private:
    std::unique_ptr<T> held_;
};
template <class T, class... A> TUniquePtr<T> MakeUnique(A &&...all)
{
    return TUniquePtr<T>(new T(std::forward<A>(all)...));
}

struct FMemory {
    static int32 Memcmp(const void *a, const void *b, std::size_t n) { return std::memcmp(a, b, n); }
    static void Memcpy(void *to, const void *from, std::size_t n) { std::memcpy(to, from, n); }
};
struct FMath {
    template <class T> static T Min(T a, T b) { return a < b ? a : b; }
};
struct FTimespan {};
class FOutputDevice {};

class FCriticalSection {
public:
    std::recursive_mutex held;
};
class FScopeLock {
public:
    explicit FScopeLock(FCriticalSection *of) : lock_(of->held) {}

private:
    std::lock_guard<std::recursive_mutex> lock_;
};

void Logged(const char *verbosity, const FString &line);
#define DECLARE_LOG_CATEGORY_EXTERN(name, level, all) struct name##Category
#define DEFINE_LOG_CATEGORY(name) struct name##Category {}
#define UE_LOG(category, verbosity, ...) Logged(#verbosity, FString::Printf(__VA_ARGS__))

struct FPlatformProcess {
    static void *GetDllHandle(const TCHAR *path);
    static void *GetDllExport(void *library, const TCHAR *name);
};
struct FPaths {
    static FString Combine(const FString &a, const TCHAR *b, const TCHAR *c);
};
class IPlugin {
public:
    virtual ~IPlugin() = default;
    virtual const FString &GetBaseDir() const = 0;
};
class IPluginManager {
public:
    static IPluginManager &Get();
    TSharedPtr<IPlugin> FindPlugin(const FString &name);
};
struct FApp {
    static const TCHAR *GetBuildVersion();
    static const TCHAR *GetProjectName();
    static double GetCurrentTime();
};
struct FCommandLine {
    static const TCHAR *Get();
};
struct FParse {
    static bool Value(const TCHAR *line, const TCHAR *key, FString &value);
};
extern uint64 GFrameCounter;

struct FDelegateHandle {};
class FSimpleMulticastDelegate {
public:
    FDelegateHandle AddLambda(std::function<void()> one);
    bool Remove(FDelegateHandle) { return all_.empty() ? false : (all_.clear(), true); }
    void Broadcast();

private:
    std::vector<std::function<void()>> all_;
};
struct FCoreDelegates {
    static FSimpleMulticastDelegate OnBeginFrame;
};

using ConsoleFunction = std::function<void(const TArray<FString> &)>;
struct FConsoleCommandDelegate {
    static FConsoleCommandDelegate CreateLambda(std::function<void()> one)
    {
        return {[one](const TArray<FString> &) { one(); }};
    }
    ConsoleFunction run;
};
struct FConsoleCommandWithArgsDelegate {
    static FConsoleCommandWithArgsDelegate CreateLambda(ConsoleFunction one) { return {one}; }
    ConsoleFunction run;
};
class FAutoConsoleCommand {
public:
    FAutoConsoleCommand(const TCHAR *name, const TCHAR *help, const FConsoleCommandDelegate &run);
    FAutoConsoleCommand(const TCHAR *name, const TCHAR *help, const FConsoleCommandWithArgsDelegate &run);
};

class IModuleInterface {
public:
    virtual ~IModuleInterface() = default;
    virtual void StartupModule() {}
    virtual void ShutdownModule() {}
};
struct FModuleManager {
    template <class M> static M &LoadModuleChecked(const FName &)
    {
        static M module;
        return module;
    }
};
std::unique_ptr<IModuleInterface> MakeNetreelModule();
#define IMPLEMENT_MODULE(CLASS, NAME)                                                              \
    std::unique_ptr<IModuleInterface> Make##NAME##Module() { return std::make_unique<CLASS>(); }

// ---- Sockets ----

#define PLATFORM_SOCKETSUBSYSTEM FName("FAKE")

enum ESocketType { SOCKTYPE_Unknown, SOCKTYPE_Datagram, SOCKTYPE_Streaming };
enum ESocketConnectionState { SCS_NotConnected, SCS_Connected, SCS_ConnectionError };
enum class ESocketShutdownMode { Read, Write, ReadWrite };
namespace ESocketWaitConditions {
enum Type { WaitForRead, WaitForWrite, WaitForReadOrWrite };
}
namespace ESocketReceiveFlags {
enum Type { None = 0, Peek = 2, WaitAll = 0x100 };
}
enum ESocketErrors {
    SE_NO_ERROR, SE_EINTR, SE_EACCES, SE_EINVAL, SE_EWOULDBLOCK, SE_EMSGSIZE, SE_ENETUNREACH,
    SE_ECONNRESET, SE_ENOBUFS, SE_ECONNREFUSED, SE_EHOSTUNREACH, SE_GET_LAST_ERROR_CODE
};
enum class EAddressInfoFlags { Default };
enum class ETimestampTranslation { LocalTimestamp };
enum class ERecvMultiFlags { None };
struct FPacketTimestamp {};
struct FAddressInfoResult {
    FAddressInfoResult(const TCHAR *, const TCHAR *) {}
};
using FAsyncGetAddressInfoCallback = std::function<void(FAddressInfoResult)>;
class FResolveInfo;
class FResolveInfoCached;
class FRecvMulti;

namespace FNetworkProtocolTypes {
extern const FName IPv4, IPv6;
}

class FInternetAddr {
public:
    virtual ~FInternetAddr() = default;
    virtual void SetIp(uint32 InAddr) = 0;
    virtual void GetIp(uint32 &OutAddr) const = 0;
    virtual void SetPort(int32 InPort) = 0;
    virtual int32 GetPort() const = 0;
    virtual void SetRawIp(const TArray<uint8> &RawAddr) = 0;
    virtual TArray<uint8> GetRawIp() const = 0;
    virtual FString ToString(bool bAppendPort) const = 0;
    virtual FName GetProtocolType() const = 0;
};

class FSocket {
public:
    FSocket(ESocketType type, const FString &description, const FName &protocol)
        : type_(type), description_(description), protocol_(protocol) {}
    virtual ~FSocket() = default;
    virtual bool Shutdown(ESocketShutdownMode Mode) = 0;
    virtual bool Close() = 0;
    virtual bool Bind(const FInternetAddr &Addr) = 0;
    virtual bool Connect(const FInternetAddr &Addr) = 0;
    virtual bool Listen(int32 MaxBacklog) = 0;
    virtual bool WaitForPendingConnection(bool &bHasPendingConnection, const FTimespan &WaitTime) = 0;
    virtual bool HasPendingData(uint32 &PendingDataSize) = 0;
    virtual FSocket *Accept(const FString &InSocketDescription) = 0;
    virtual FSocket *Accept(FInternetAddr &OutAddr, const FString &InSocketDescription) = 0;
    virtual bool SendTo(const uint8 *Data, int32 Count, int32 &BytesSent, const FInternetAddr &Destination) = 0;
    virtual bool Send(const uint8 *Data, int32 Count, int32 &BytesSent) = 0;
    virtual bool RecvFrom(uint8 *Data, int32 BufferSize, int32 &BytesRead, FInternetAddr &Source, ESocketReceiveFlags::Type Flags = ESocketReceiveFlags::None) = 0;
    virtual bool RecvFromWithPktInfo(uint8 *Data, int32 BufferSize, int32 &BytesRead, FInternetAddr &Source, FInternetAddr &Destination, ESocketReceiveFlags::Type Flags = ESocketReceiveFlags::None) = 0;
    virtual bool Recv(uint8 *Data, int32 BufferSize, int32 &BytesRead, ESocketReceiveFlags::Type Flags = ESocketReceiveFlags::None) = 0;
    virtual bool RecvMulti(FRecvMulti &, ESocketReceiveFlags::Type = ESocketReceiveFlags::None) { return false; }
    virtual bool Wait(ESocketWaitConditions::Type Condition, FTimespan WaitTime) = 0;
    virtual ESocketConnectionState GetConnectionState() = 0;
    virtual void GetAddress(FInternetAddr &OutAddr) = 0;
    virtual bool GetPeerAddress(FInternetAddr &OutAddr) = 0;
    virtual bool SetNonBlocking(bool bIsNonBlocking = true) = 0;
    virtual bool SetBroadcast(bool bAllowBroadcast = true) = 0;
    virtual bool SetNoDelay(bool bIsNoDelay = true) = 0;
    virtual bool JoinMulticastGroup(const FInternetAddr &GroupAddress) = 0;
    virtual bool JoinMulticastGroup(const FInternetAddr &GroupAddress, const FInternetAddr &InterfaceAddress) = 0;
    virtual bool LeaveMulticastGroup(const FInternetAddr &GroupAddress) = 0;
    virtual bool LeaveMulticastGroup(const FInternetAddr &GroupAddress, const FInternetAddr &InterfaceAddress) = 0;
    virtual bool SetMulticastLoopback(bool bLoopback) = 0;
    virtual bool SetMulticastTtl(uint8 TimeToLive) = 0;
    virtual bool SetMulticastInterface(const FInternetAddr &InterfaceAddress) = 0;
    virtual bool SetReuseAddr(bool bAllowReuse = true) = 0;
    virtual bool SetLinger(bool bShouldLinger = true, int32 Timeout = 0) = 0;
    virtual bool SetRecvErr(bool bUseErrorQueue = true) = 0;
    virtual bool SetSendBufferSize(int32 Size, int32 &NewSize) = 0;
    virtual bool SetReceiveBufferSize(int32 Size, int32 &NewSize) = 0;
    virtual bool SetIpPktInfo(bool bEnable) = 0;
    virtual bool SetRetrieveTimestamp(bool bRetrieveTimestamp = true) = 0;
    virtual int32 GetPortNo() = 0;
    ESocketType GetSocketType() const { return type_; }
    FString GetDescription() const { return description_; }
    const FName &GetProtocol() const { return protocol_; }

private:
    ESocketType type_;
    FString description_;
    FName protocol_;
};

class ISocketSubsystem {
public:
    virtual ~ISocketSubsystem() = default;
    static ISocketSubsystem *Get(const FName &SubsystemName = NAME_None);
    virtual bool Init(FString &Error) = 0;
    virtual void Shutdown() = 0;
    virtual FSocket *CreateSocket(const FName &SocketType, const FString &SocketDescription, bool bForceUDP = false) = 0;
    virtual FSocket *CreateSocket(const FName &SocketType, const FString &SocketDescription, const FName &ProtocolName) = 0;
    virtual FResolveInfoCached *CreateResolveInfoCached(TSharedPtr<FInternetAddr> Addr) const = 0;
    virtual void DestroySocket(FSocket *Socket) = 0;
    virtual FAddressInfoResult GetAddressInfo(const TCHAR *HostName, const TCHAR *ServiceName = nullptr, EAddressInfoFlags QueryFlags = EAddressInfoFlags::Default, const FName ProtocolTypeName = NAME_None, ESocketType SocketType = ESocketType::SOCKTYPE_Unknown) = 0;
    virtual void GetAddressInfoAsync(FAsyncGetAddressInfoCallback Callback, const TCHAR *HostName, const TCHAR *ServiceName = nullptr, EAddressInfoFlags QueryFlags = EAddressInfoFlags::Default, const FName ProtocolTypeName = NAME_None, ESocketType SocketType = ESocketType::SOCKTYPE_Unknown) = 0;
    virtual TSharedPtr<FInternetAddr> GetAddressFromString(const FString &InAddress) = 0;
    virtual FResolveInfo *GetHostByName(const ANSICHAR *HostName) = 0;
    virtual bool RequiresChatDataBeSeparate() = 0;
    virtual bool RequiresEncryptedPackets() = 0;
    virtual bool GetHostName(FString &HostName) = 0;
    virtual TSharedRef<FInternetAddr> CreateInternetAddr() = 0;
    virtual TSharedRef<FInternetAddr> CreateInternetAddr(const FName ProtocolType) = 0;
    virtual TSharedRef<FInternetAddr> GetLocalBindAddr(FOutputDevice &Out) = 0;
    virtual TArray<TSharedRef<FInternetAddr>> GetLocalBindAddresses() = 0;
    virtual bool GetLocalAdapterAddresses(TArray<TSharedPtr<FInternetAddr>> &OutAddresses) = 0;
    virtual TSharedRef<FInternetAddr> GetLocalHostAddr(FOutputDevice &Out, bool &bCanBindAll) = 0;
    virtual bool GetMultihomeAddress(TSharedRef<FInternetAddr> &Addr) = 0;
    virtual bool HasNetworkDevice() = 0;
    virtual const TCHAR *GetSocketAPIName() const = 0;
    virtual ESocketErrors GetLastErrorCode() = 0;
    virtual ESocketErrors TranslateErrorCode(int32 Code) = 0;
    virtual bool IsSocketRecvMultiSupported() const { return false; }
    virtual bool IsSocketWaitSupported() const = 0;
    virtual double TranslatePacketTimestamp(const FPacketTimestamp &Timestamp, ETimestampTranslation Translation = ETimestampTranslation::LocalTimestamp) = 0;
    virtual bool IsRecvFromWithPktInfoSupported() const = 0;
};

class FSocketSubsystemModule : public IModuleInterface {
public:
    ISocketSubsystem *GetSocketSubsystem(const FName InSubsystemName = NAME_None);
    void RegisterSocketSubsystem(const FName FactoryName, ISocketSubsystem *Factory, bool bMakeDefault = false);
    void UnregisterSocketSubsystem(const FName FactoryName);

private:
    std::map<FName, ISocketSubsystem *> all_;
    FName default_;
};
