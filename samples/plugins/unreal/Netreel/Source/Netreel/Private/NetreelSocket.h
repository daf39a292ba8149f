// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include "SocketSubsystem.h"
#include "Sockets.h"

#include <netreel.hpp>

#include <atomic>

struct FNetreelThread;

/** A datagram socket of the platform. What it sends and receives goes into the reel; nothing else changes. */
class FNetreelSocket : public FSocket
{
public:
	/** `InPlatform` made `InInner`, and destroys it. */
	FNetreelSocket(FSocket* InInner, ISocketSubsystem& InPlatform, const FName& Protocol);
	virtual ~FNetreelSocket();

	virtual bool Close() override;
	virtual bool SendTo(const uint8* Data, int32 Count, int32& BytesSent, const FInternetAddr& Destination) override;
	virtual bool Send(const uint8* Data, int32 Count, int32& BytesSent) override;
	virtual bool RecvFrom(uint8* Data, int32 BufferSize, int32& BytesRead, FInternetAddr& Source, ESocketReceiveFlags::Type Flags = ESocketReceiveFlags::None) override;
	virtual bool RecvFromWithPktInfo(uint8* Data, int32 BufferSize, int32& BytesRead, FInternetAddr& Source, FInternetAddr& Destination, ESocketReceiveFlags::Type Flags = ESocketReceiveFlags::None) override;
	virtual bool Recv(uint8* Data, int32 BufferSize, int32& BytesRead, ESocketReceiveFlags::Type Flags = ESocketReceiveFlags::None) override;

	// What does not concern a reel.
	virtual bool Shutdown(ESocketShutdownMode Mode) override { return Inner->Shutdown(Mode); }
	virtual bool Bind(const FInternetAddr& Addr) override { return Inner->Bind(Addr); }
	virtual bool Connect(const FInternetAddr& Addr) override { return Inner->Connect(Addr); }
	virtual bool Listen(int32 MaxBacklog) override { return Inner->Listen(MaxBacklog); }
	virtual bool WaitForPendingConnection(bool& bHasPendingConnection, const FTimespan& WaitTime) override { return Inner->WaitForPendingConnection(bHasPendingConnection, WaitTime); }
	virtual bool HasPendingData(uint32& PendingDataSize) override { return Inner->HasPendingData(PendingDataSize); }
	virtual FSocket* Accept(const FString& InSocketDescription) override { return Inner->Accept(InSocketDescription); }
	virtual FSocket* Accept(FInternetAddr& OutAddr, const FString& InSocketDescription) override { return Inner->Accept(OutAddr, InSocketDescription); }
	virtual bool Wait(ESocketWaitConditions::Type Condition, FTimespan WaitTime) override { return Inner->Wait(Condition, WaitTime); }
	virtual ESocketConnectionState GetConnectionState() override { return Inner->GetConnectionState(); }
	virtual void GetAddress(FInternetAddr& OutAddr) override { Inner->GetAddress(OutAddr); }
	virtual bool GetPeerAddress(FInternetAddr& OutAddr) override { return Inner->GetPeerAddress(OutAddr); }
	virtual bool SetNonBlocking(bool bIsNonBlocking = true) override { return Inner->SetNonBlocking(bIsNonBlocking); }
	virtual bool SetBroadcast(bool bAllowBroadcast = true) override { return Inner->SetBroadcast(bAllowBroadcast); }
	virtual bool SetNoDelay(bool bIsNoDelay = true) override { return Inner->SetNoDelay(bIsNoDelay); }
	virtual bool JoinMulticastGroup(const FInternetAddr& GroupAddress) override { return Inner->JoinMulticastGroup(GroupAddress); }
	virtual bool JoinMulticastGroup(const FInternetAddr& GroupAddress, const FInternetAddr& InterfaceAddress) override { return Inner->JoinMulticastGroup(GroupAddress, InterfaceAddress); }
	virtual bool LeaveMulticastGroup(const FInternetAddr& GroupAddress) override { return Inner->LeaveMulticastGroup(GroupAddress); }
	virtual bool LeaveMulticastGroup(const FInternetAddr& GroupAddress, const FInternetAddr& InterfaceAddress) override { return Inner->LeaveMulticastGroup(GroupAddress, InterfaceAddress); }
	virtual bool SetMulticastLoopback(bool bLoopback) override { return Inner->SetMulticastLoopback(bLoopback); }
	virtual bool SetMulticastTtl(uint8 TimeToLive) override { return Inner->SetMulticastTtl(TimeToLive); }
	virtual bool SetMulticastInterface(const FInternetAddr& InterfaceAddress) override { return Inner->SetMulticastInterface(InterfaceAddress); }
	virtual bool SetReuseAddr(bool bAllowReuse = true) override { return Inner->SetReuseAddr(bAllowReuse); }
	virtual bool SetLinger(bool bShouldLinger = true, int32 Timeout = 0) override { return Inner->SetLinger(bShouldLinger, Timeout); }
	virtual bool SetRecvErr(bool bUseErrorQueue = true) override { return Inner->SetRecvErr(bUseErrorQueue); }
	virtual bool SetSendBufferSize(int32 Size, int32& NewSize) override { return Inner->SetSendBufferSize(Size, NewSize); }
	virtual bool SetReceiveBufferSize(int32 Size, int32& NewSize) override { return Inner->SetReceiveBufferSize(Size, NewSize); }
	virtual bool SetIpPktInfo(bool bEnable) override { return Inner->SetIpPktInfo(bEnable); }
	virtual bool SetRetrieveTimestamp(bool bRetrieveTimestamp = true) override { return Inner->SetRetrieveTimestamp(bRetrieveTimestamp); }
	virtual int32 GetPortNo() override { return Inner->GetPortNo(); }

private:
	/** Its number in the reel that `Thread` writes, from the first call on; NoNumber: it has none. */
	uint32 NumberFor(FNetreelThread& Thread);
	void Received(FNetreelThread& Thread, bool bReceived, const uint8* Data, int32 BytesRead, const FInternetAddr& Source);
	int32 LastErrno() const;
	TSharedRef<FInternetAddr> Peer();

	FSocket* Inner;
	ISocketSubsystem& Platform;
	/** The reel, and in the lower half its number there. */
	std::atomic<uint64> Known{0};
};
