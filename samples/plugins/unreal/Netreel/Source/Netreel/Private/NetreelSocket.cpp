// SPDX-License-Identifier: MIT OR Apache-2.0
#include "NetreelSocket.h"

#include "IPAddress.h"
#include "NetreelRecording.h"

namespace
{
/** A reel has Linux's numbers, whatever the platform's <cerrno> says. */
enum ELinux : int32
{
	LINUX_EINTR = 4,
	LINUX_EIO = 5,
	LINUX_EAGAIN = 11,
	LINUX_EACCES = 13,
	LINUX_EINVAL = 22,
	LINUX_EMSGSIZE = 90,
	LINUX_ENETUNREACH = 101,
	LINUX_ECONNRESET = 104,
	LINUX_ENOBUFS = 105,
	LINUX_ECONNREFUSED = 111,
	LINUX_EHOSTUNREACH = 113,
};

/** No socket has it: what is said of it is refused. */
constexpr uint32 NoNumber = ~uint32(0);
} // namespace

FNetreelSocket::FNetreelSocket(FSocket* InInner, ISocketSubsystem& InPlatform, const FName& Protocol)
	: FSocket(InInner->GetSocketType(), InInner->GetDescription(), Protocol)
	, Inner(InInner)
	, Platform(InPlatform)
{
}

FNetreelSocket::~FNetreelSocket()
{
	Close();
	Platform.DestroySocket(Inner);
}

bool FNetreelSocket::Close()
{
	const uint64 Was = Known.exchange(0);
	FNetreelThread* Thread = FNetreelRecording::Get().Thread();
	if (Thread && Was >> 32 == Thread->Reel)
	{
		Thread->socket_closed(static_cast<uint32>(Was));
	}
	return Inner->Close();
}

uint32 FNetreelSocket::NumberFor(FNetreelThread& Thread)
{
	const uint64 Reel = Thread.Reel;
	uint64 Was = Known.load();
	if (Was >> 32 == Reel)
	{
		return static_cast<uint32>(Was);
	}
	const TSharedRef<FInternetAddr> Local = Platform.CreateInternetAddr();
	Inner->GetAddress(*Local);
	auto Opened = Thread.open_socket(ToEndpoint(*Local));
	if (!Opened)
	{
		return NoNumber;
	}
	const uint32 Number = *Opened;
	// Where two threads come at once, one socket more is in the reel, and nothing happens at it.
	if (!Known.compare_exchange_strong(Was, Reel << 32 | Number))
	{
		Thread.socket_closed(Number);
		return static_cast<uint32>(Was);
	}
	const FString Named = FString::Printf(TEXT("socket %u is %s"), Number, *GetDescription());
	Thread.note(TCHAR_TO_UTF8(*Named));
	return Number;
}

int32 FNetreelSocket::LastErrno() const
{
	switch (Platform.GetLastErrorCode())
	{
	case SE_EWOULDBLOCK: return LINUX_EAGAIN;
	case SE_ECONNREFUSED: return LINUX_ECONNREFUSED;
	case SE_ECONNRESET: return LINUX_ECONNRESET;
	case SE_EMSGSIZE: return LINUX_EMSGSIZE;
	case SE_ENOBUFS: return LINUX_ENOBUFS;
	case SE_ENETUNREACH: return LINUX_ENETUNREACH;
	case SE_EHOSTUNREACH: return LINUX_EHOSTUNREACH;
	case SE_EINTR: return LINUX_EINTR;
	case SE_EACCES: return LINUX_EACCES;
	case SE_EINVAL: return LINUX_EINVAL;
	default: return LINUX_EIO;
	}
}

TSharedRef<FInternetAddr> FNetreelSocket::Peer()
{
	const TSharedRef<FInternetAddr> Address = Platform.CreateInternetAddr();
	Inner->GetPeerAddress(*Address);
	return Address;
}

bool FNetreelSocket::SendTo(const uint8* Data, int32 Count, int32& BytesSent, const FInternetAddr& Destination)
{
	FNetreelThread* Thread = FNetreelRecording::Get().Thread();
	if (!Thread)
	{
		return Inner->SendTo(Data, Count, BytesSent, Destination);
	}
	bool bSent = false;
	const uint32 Number = NumberFor(*Thread);
	Thread->send(Number, ToEndpoint(Destination), netreel::bytes_at(Data, Count), [&]() -> int64 {
		bSent = Inner->SendTo(Data, Count, BytesSent, Destination);
		return bSent ? BytesSent : -LastErrno();
	});
	return bSent;
}

bool FNetreelSocket::Send(const uint8* Data, int32 Count, int32& BytesSent)
{
	FNetreelThread* Thread = FNetreelRecording::Get().Thread();
	if (!Thread)
	{
		return Inner->Send(Data, Count, BytesSent);
	}
	bool bSent = false;
	const uint32 Number = NumberFor(*Thread);
	Thread->send(Number, ToEndpoint(*Peer()), netreel::bytes_at(Data, Count), [&]() -> int64 {
		bSent = Inner->Send(Data, Count, BytesSent);
		return bSent ? BytesSent : -LastErrno();
	});
	return bSent;
}

void FNetreelSocket::Received(FNetreelThread& Thread, bool bReceived, const uint8* Data, int32 BytesRead, const FInternetAddr& Source)
{
	const int32 Errno = bReceived ? 0 : LastErrno();
	const uint32 Number = NumberFor(Thread);
	if (bReceived)
	{
		Thread.packet_received(Number, ToEndpoint(Source), netreel::bytes_at(Data, BytesRead));
	}
	else if (Errno == LINUX_EAGAIN)
	{
		Thread.poll_empty(Number);
	}
	else
	{
		Thread.receive_failed(Number, Errno);
	}
}

bool FNetreelSocket::RecvFrom(uint8* Data, int32 BufferSize, int32& BytesRead, FInternetAddr& Source, ESocketReceiveFlags::Type Flags)
{
	FNetreelThread* Thread = FNetreelRecording::Get().Thread();
	if (Thread)
	{
		NumberFor(*Thread); // so that nothing asks the system between a failure and who asks why
	}
	const bool bReceived = Inner->RecvFrom(Data, BufferSize, BytesRead, Source, Flags);
	// A look at what is there is no receipt.
	if (Thread && !(Flags & ESocketReceiveFlags::Peek))
	{
		Received(*Thread, bReceived, Data, BytesRead, Source);
	}
	return bReceived;
}

bool FNetreelSocket::RecvFromWithPktInfo(uint8* Data, int32 BufferSize, int32& BytesRead, FInternetAddr& Source, FInternetAddr& Destination, ESocketReceiveFlags::Type Flags)
{
	FNetreelThread* Thread = FNetreelRecording::Get().Thread();
	if (Thread)
	{
		NumberFor(*Thread);
	}
	const bool bReceived = Inner->RecvFromWithPktInfo(Data, BufferSize, BytesRead, Source, Destination, Flags);
	if (Thread && !(Flags & ESocketReceiveFlags::Peek))
	{
		Received(*Thread, bReceived, Data, BytesRead, Source);
	}
	return bReceived;
}

bool FNetreelSocket::Recv(uint8* Data, int32 BufferSize, int32& BytesRead, ESocketReceiveFlags::Type Flags)
{
	FNetreelThread* Thread = FNetreelRecording::Get().Thread();
	if (!Thread || Flags & ESocketReceiveFlags::Peek)
	{
		return Inner->Recv(Data, BufferSize, BytesRead, Flags);
	}
	const TSharedRef<FInternetAddr> Source = Peer();
	NumberFor(*Thread);
	const bool bReceived = Inner->Recv(Data, BufferSize, BytesRead, Flags);
	Received(*Thread, bReceived, Data, BytesRead, *Source);
	return bReceived;
}
