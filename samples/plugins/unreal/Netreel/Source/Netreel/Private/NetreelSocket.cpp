// SPDX-License-Identifier: MIT OR Apache-2.0
#include "NetreelSocket.h"

#include "IPAddress.h"
#include "NetreelRecording.h"

#include <cerrno>

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
	netreel::thread* Thread = FNetreelRecording::Get().Thread();
	if (Thread && Was >> 32 == FNetreelRecording::Get().Current())
	{
		Thread->socket_closed(static_cast<uint32>(Was));
	}
	return Inner->Close();
}

uint32 FNetreelSocket::NumberFor(netreel::thread& Thread)
{
	const uint64 Reel = FNetreelRecording::Get().Current();
	uint64 Was = Known.load();
	if (Was >> 32 == Reel)
	{
		return static_cast<uint32>(Was);
	}
	const TSharedRef<FInternetAddr> Local = Platform.CreateInternetAddr();
	Inner->GetAddress(*Local);
	auto Opened = Thread.open_socket(ToEndpoint(*Local));
	const uint32 Number = Opened ? *Opened : 0;
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
	case SE_EWOULDBLOCK: return EAGAIN;
	case SE_ECONNREFUSED: return ECONNREFUSED;
	case SE_ECONNRESET: return ECONNRESET;
	case SE_EMSGSIZE: return EMSGSIZE;
	case SE_ENOBUFS: return ENOBUFS;
	case SE_ENETUNREACH: return ENETUNREACH;
	case SE_EHOSTUNREACH: return EHOSTUNREACH;
	case SE_EINTR: return EINTR;
	case SE_EACCES: return EACCES;
	case SE_EINVAL: return EINVAL;
	default: return EIO;
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
	netreel::thread* Thread = FNetreelRecording::Get().Thread();
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
	netreel::thread* Thread = FNetreelRecording::Get().Thread();
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

void FNetreelSocket::Received(netreel::thread& Thread, bool bReceived, const uint8* Data, int32 BytesRead, const FInternetAddr& Source)
{
	const int32 Errno = bReceived ? 0 : LastErrno();
	const uint32 Number = NumberFor(Thread);
	if (bReceived)
	{
		Thread.packet_received(Number, ToEndpoint(Source), netreel::bytes_at(Data, BytesRead));
	}
	else if (Errno == EAGAIN)
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
	netreel::thread* Thread = FNetreelRecording::Get().Thread();
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
	netreel::thread* Thread = FNetreelRecording::Get().Thread();
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
	netreel::thread* Thread = FNetreelRecording::Get().Thread();
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
